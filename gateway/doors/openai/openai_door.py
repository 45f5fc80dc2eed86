"""The routes of OpenAI's API: `chat/completions`, `responses` and `models`.

Each request becomes the operations `start` and `message`; the gateway remembers nothing of it.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from coterie.dsl.values import Json
from coterie.dsl.visible import shortened_text
from coterie.gateway.app import streams_of
from coterie.gateway.doors.openai.asked_parameters import (
    AskedBase,
    AskedBy,
    ChatAsked,
    ResponseAsked,
    asked_by,
    chat_texts,
    read_asked,
)
from coterie.gateway.doors.openai.chat_completions import ChatCompletion
from coterie.gateway.doors.openai.conversation import ChatText, conversation_of
from coterie.gateway.doors.openai.conversation_runs import ConversationRuns
from coterie.gateway.doors.openai.exposed_teams import (
    ROLES,
    ExposedTeam,
    ReadyTeam,
    exposed_teams,
    ready_team,
    unknown_model,
)
from coterie.gateway.doors.openai.openai_errors import ParameterRejection, openai_response
from coterie.gateway.doors.openai.reply_source import ReplySource
from coterie.gateway.doors.openai.response_objects import (
    ResponseObject,
    read_response_id,
)
from coterie.gateway.doors.openai.server_events import StreamedForm, awaited_events
from coterie.gateway.doors.openai.team_answers import AskedTeam, asked_team, value_to
from coterie.gateway.endpoints import identity_of
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.error_reports import SIGNED_OUT, Rejection
from coterie.gateway.operations.expected_errors import EXPECTED_ERRORS, failed_work
from coterie.gateway.operations.performance import permitted_team
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.request_gate import OPENAI_PATHS
from coterie.gateway.streams.event_source import EventSourceResponse

SESSION_HEADER: Final = "x-coterie-session"
_RUN_HEADER: Final = "x-coterie-run"
_KEY_HEADER: Final = "idempotency-key"
_MAX_KEY: Final = 300
_PRIVATE: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class PreparedAnswer(NamedTuple):
    """A question that a run has taken, or will take, and what else its answer needs."""

    team: ReadyTeam
    question: AskedTeam
    headers: dict[str, str]


class OpenAiDoor:
    """Answers the clients of OpenAI's API."""

    def __init__(self, access: RunAccess, origin: str) -> None:
        """Take the runs, and where people open the console."""
        self._access = access
        self._origin = origin

    def routes(self) -> Sequence[BaseRoute]:
        """Return its routes."""
        chat, responses, models = OPENAI_PATHS
        return (
            Route(chat, self._endpoint(self._chat), methods=["POST"]),
            Route(responses, self._endpoint(self._respond), methods=["POST"]),
            Route(models, self._endpoint(self._models), methods=["GET"]),
            Route(f"{models}/{{model:path}}", self._endpoint(self._model), methods=["GET"]),
        )

    def _endpoint(
        self, work: Callable[[Request, Identity], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return an endpoint that answers errors in OpenAI's form."""

        async def endpoint(request: Request) -> Response:
            identity = identity_of(request)
            if identity is None:
                return openai_response(SIGNED_OUT)
            try:
                return await work(request, identity)
            except EXPECTED_ERRORS as error:
                parameter = error.parameter if isinstance(error, ParameterRejection) else None
                return openai_response(failed_work(error), parameter or None)

        return endpoint

    async def _models(self, _: Request, identity: Identity) -> Response:
        teams = await exposed_teams(self._access, identity)
        return _json({"object": "list", "data": [_model_object(team) for team in teams]})

    async def _model(self, request: Request, identity: Identity) -> Response:
        name = unquote(request.path_params["model"])
        teams = await exposed_teams(self._access, identity)
        for team in teams:
            if team.name == name:
                return _json(_model_object(team))
        raise await unknown_model(self._access, name, identity)

    async def _chat(self, request: Request, identity: Identity) -> Response:
        asked, texts = await asyncio.to_thread(_read_chat, await request.body())
        who = asked_by(asked, request.headers.get(SESSION_HEADER))
        prepared = await self._prepare(request, identity, asked, texts, who)
        question = prepared.question
        options = asked.stream_options
        with_usage = options is not None and bool(options.include_usage)
        made = ChatCompletion(question.message, asked.model, int(time.time()), with_usage)
        if not asked.stream:
            return _json(made.whole(await question.answer()), prepared.headers)
        return await _stream_response(request, made, prepared)

    async def _respond(self, request: Request, identity: Identity) -> Response:
        asked, texts = await asyncio.to_thread(_read_response, await request.body())
        who = asked_by(asked, request.headers.get(SESSION_HEADER))
        if asked.previous_response_id is None:
            prepared = await self._prepare(request, identity, asked, texts, who)
        else:
            prepared = await self._continue(identity, asked, texts, who)
        question = prepared.question
        made = ResponseObject(
            question.run,
            question.message,
            asked.model,
            int(time.time()),
            asked.metadata or {},
            asked.previous_response_id,
        )
        if not asked.stream:
            return _json(made.whole(await question.answer()), prepared.headers)
        return await _stream_response(request, made, prepared)

    async def _team(self, name: str, identity: Identity) -> ReadyTeam:
        permitted_team(self._access, name, ROLES, identity, "openai")
        return await ready_team(self._access, name, identity)

    async def _prepare(
        self,
        request: Request,
        identity: Identity,
        asked: AskedBase,
        texts: Sequence[ChatText],
        who: AskedBy,
    ) -> PreparedAnswer:
        """Find or start the run of a conversation that comes whole."""
        team = await self._team(asked.model, identity)
        runs = ConversationRuns(self._access, identity, team.name, who.person)
        metadata = asked.metadata or {}
        scope = runs.scope
        key = request.headers.get(_KEY_HEADER, "")[:_MAX_KEY]
        if not team.is_session:  # other fields of the context make another run
            scope = (*scope, who.session, key, json.dumps(metadata, sort_keys=True))
        elif who.session:
            scope = (*scope, key)
        conversation = await asyncio.to_thread(conversation_of, texts, scope)
        question = await asked_team(runs, team, conversation, who.session, metadata, self._origin)
        headers = {_RUN_HEADER: question.run} if question.run.isascii() else {}
        if who.session.isascii() and who.session:
            headers[SESSION_HEADER] = who.session
        return PreparedAnswer(team, question, headers)

    async def _continue(
        self, identity: Identity, asked: ResponseAsked, texts: Sequence[ChatText], who: AskedBy
    ) -> PreparedAnswer:
        """Continue after an earlier response, whose id names run and message."""
        given = asked.previous_response_id or ""
        team = await self._team(asked.model, identity)
        runs = ConversationRuns(self._access, identity, team.name, who.person)
        previous = read_response_id(given)
        if previous is None or not await runs.is_ours(previous.run):
            raise _unknown_response(team, given)
        headers = {_RUN_HEADER: previous.run} if previous.run.isascii() else {}
        if previous.waits:
            sent = await runs.sent_message(*previous[:2]) if team.is_session else ""
            if sent is None:
                raise _unknown_response(team, given)
            question = AskedTeam(
                runs, self._origin, previous.run, previous.message, sent, team.is_session
            )
            return PreparedAnswer(team, question, headers)
        _check_session(team)
        scope = (*runs.scope, given)
        conversation = await asyncio.to_thread(conversation_of, texts, scope)
        text, message = conversation.text_after(None), conversation.turn.id
        value = await value_to(runs, previous.run, text)
        last = (await runs.log(previous.run)).last
        after = None if last == message else previous.message
        question = AskedTeam(
            runs, self._origin, previous.run, message, value, is_session=True, after=after
        )
        if last not in (previous.message, message) or not (after is None or await question.take()):
            raise _moved_on(previous.run)
        return PreparedAnswer(team, question, headers)


def _unknown_response(team: ReadyTeam, given: str) -> Rejection:
    return Rejection(
        404,
        "unknown_run",
        f"the team {team.name!r} has no response {shortened_text(given, 100)!r} for you",
        "Send the `id` of one of its responses to you, or the whole conversation in `input`.",
    )


def _read_chat(body: bytes) -> tuple[ChatAsked, list[ChatText]]:
    """Read a request of `chat/completions`; raises ParameterRejection."""
    asked = read_asked(body, ChatAsked)
    return asked, chat_texts(asked.messages, "messages")


def _read_response(body: bytes) -> tuple[ResponseAsked, list[ChatText]]:
    """Read a request of `responses`; raises ParameterRejection."""
    asked = read_asked(body, ResponseAsked)
    given = asked.input
    texts = [ChatText("user", given)] if isinstance(given, str) else chat_texts(given, "input")
    if asked.instructions:
        texts.insert(0, ChatText("system", asked.instructions))
    return asked, texts


def _check_session(team: ReadyTeam) -> None:
    """Refuse to continue where nothing continues; raises Rejection."""
    if not team.is_session:
        raise ParameterRejection(
            "previous_response_id",
            f"each request to the team {team.name!r} is a run of its own: it has no next message",
            "Send the whole conversation in `input`.",
        )


def _moved_on(run: str) -> Rejection:
    return Rejection(
        409,
        "moved_on",
        f"the session {run!r} has had another message since that response",
        "Continue from its latest response, or send the whole conversation in `input`.",
    )


def _model_object(team: ExposedTeam) -> Json:
    return {"id": team.name, "object": "model", "created": team.created, "owned_by": "coterie"}


def _json(value: Json, headers: dict[str, str] | None = None) -> Response:
    body = json.dumps(value)
    return Response(body, headers={**_PRIVATE, **(headers or {})}, media_type="application/json")


async def _stream_response(
    request: Request, form: StreamedForm, prepared: PreparedAnswer
) -> Response:
    hub = streams_of(request.app)
    live = ReplySource(hub, prepared.team, prepared.question)
    events = awaited_events(form, prepared.question.answer(), live, hub.closing)
    response = EventSourceResponse(events, await anext(events))
    response.headers.update(prepared.headers)
    return response
