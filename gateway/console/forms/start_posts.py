"""The form that starts a run of a team: typed, from files, or both."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from coterie.dsl.errors import InvalidDocument
from coterie.dsl.source.yaml_reader import read
from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.gateway.console.fields.filled_forms import (
    FilledForm,
    read_form,
    with_added_item,
    with_focus,
)
from coterie.gateway.console.fields.form_fields import FormField, Typed
from coterie.gateway.console.fields.schema_forms import start_form
from coterie.gateway.console.forms.sent_forms import (
    SentFile,
    files_in,
    text_of,
    typed_in,
    with_added,
)
from coterie.gateway.console.served_pages import page_response, sent_form
from coterie.gateway.console.team_actions import team_view
from coterie.gateway.identity.console_address import chat_url, run_url
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.error_reports import failed_request
from coterie.gateway.operations.operations_table import performed
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_starts import StartedRun
from coterie.gateway.operations.team_catalog import TeamDescription

_NOTHING = "Nothing was started. "


class StartPosts:
    """Starts runs."""

    def __init__(self, access: RunAccess) -> None:
        """Take the runs, and the project."""
        self._access = access

    async def start(self, request: Request, identity: Identity) -> Response:
        """Start a run of a team; a form with problems comes back as it was typed."""
        form = await sent_form(request)
        team, id = text_of(form, "team"), text_of(form, "id").strip()
        described = await performed(self._access, "team", {"team": team}, identity, TeamDescription)
        typed, added = with_added(form, typed_in(form))
        files = await files_in(form)
        problems = {file.name: file.problem for file in files if file.problem}
        schema = described.context_schema or {}
        filled, notice = await asyncio.to_thread(filled_form, schema, typed, files)
        if added is not None:
            fields = with_added_item(filled.fields, added)
            return await self._page(request, identity, team, fields, id, "")
        fields = with_focus(_with_problems(filled.fields, problems))
        if not notice and (filled.has_problems or problems):
            notice = "The form has problems."
        if notice:
            return await self._page(request, identity, team, fields, id, notice)
        asked: Json = {"team": team, "context": filled.mapping}
        if id:
            asked["id"] = id
        try:
            started = await performed(self._access, "start", asked, identity, StartedRun)
        except (CommandError, InvalidDocument) as error:
            report = failed_request(error).report
            return await self._page(request, identity, team, fields, id, report.message)
        page = f"{run_url(started.run)}?done=start"
        return RedirectResponse(chat_url(started.run) if "in_chat" in form else page, 303)

    async def _page(
        self,
        request: Request,
        identity: Identity,
        team: str,
        fields: tuple[FormField, ...],
        id: str,
        notice: str,
    ) -> Response:
        page, actions = await team_view(self._access, team, identity, fields, id)
        return page_response(
            request, identity, "team.html", team, page, actions=actions, tab="teams",
            notice=f"{_NOTHING}{notice}" if notice else "", status=422 if notice else 200,
        )  # fmt: skip


def filled_form(schema: Json, typed: Typed, files: Sequence[SentFile]) -> tuple[FilledForm, str]:
    """Return the form with what was typed and what its files have, and what is wrong with a file.

    In a thread: a file may take long to read.
    """
    context, notice = _file_context(files)
    if context is None and "" in typed.texts:
        schema = {}  # the form came back as one JSON text
    given = typed if context is None else _with_context(schema, typed, context)
    texts = {file.name: file.text for file in files if file.name and not file.problem}
    given = replace(given, texts={**given.texts, **texts})
    fields = start_form(schema, given.counts, files=True, given=context)
    if context is not None and not fields[0].name and _is_changed(schema, typed, texts):
        notice = "The file has too many keys for a form: put all of them into it."
    return read_form(fields, given), notice


def _is_changed(schema: Json, typed: Typed, texts: Mapping[str, str]) -> bool:
    """Return whether a person gave a field something beside the file of the context."""
    before = _texts_in(start_form(schema, {}, files=True))
    given = {**typed.texts, **texts}
    return any(text.strip() and text != before.get(name) for name, text in given.items())


def _file_context(files: Sequence[SentFile]) -> tuple[Json | None, str]:
    """Return the context that a file gives, and what is wrong with it."""
    file = next((file for file in files if not file.name), None)
    if file is None:
        return None, ""
    if file.problem:
        return None, f"{file.file} {file.problem.removeprefix('got a file that ')}."
    try:
        value = read(file.text, file.file).plain()
    except InvalidDocument as error:
        problem = error.problems[0]
        return None, f"{problem.file}:{problem.line}: {problem.message}."
    return (value, "") if isinstance(value, dict) else (None, f"{file.file} is no mapping.")


def _with_context(schema: Json, typed: Typed, context: Json) -> Typed:
    """Return what was typed, and what the file has where a field holds what it held at first."""
    counts = {name: count for name, count in typed.counts.items() if count}
    before = _texts_in(start_form(schema, counts, files=True))
    texts = _texts_in(start_form(schema, counts, files=True, given=context))
    for name, text in typed.texts.items():
        if text.strip() and text != before.get(name):
            texts[name] = text
    return replace(typed, texts=texts, counts=counts)


def _texts_in(fields: Sequence[FormField]) -> dict[str, str]:
    return {part.name: part.value for field in fields for part in field.parts()}


def _with_problems(fields: Sequence[FormField], problems: dict[str, str]) -> tuple[FormField, ...]:
    return tuple(
        replace(
            field,
            problem=problems.get(field.name, field.problem),
            fields=_with_problems(field.fields, problems),
        )
        for field in fields
    )
