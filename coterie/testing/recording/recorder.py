"""Create a test file from a real run: the model's answers, people's messages, the end.

Everything comes from the run's histories; no worker is needed. The test expects the current team to
do what the run did, so it detects edits that change this.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue
from temporalio.client import Client, WorkflowHistory

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FailureType,
    FunctionRequest,
    FunctionResult,
)
from coterie.activities.providers.scripts.script import ScriptedAnswer, ScriptedError
from coterie.activities.storage.blobs import BlobMissing, Blobs, BlobsUnusable
from coterie.dsl.model.outcomes import Failure
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.tools.tool_contract import FunctionTool
from coterie.dsl.paths import MISSING, get, parse
from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.replay.observed_replay import ReceivedMessage
from coterie.replay.rebuilt_run import NotFollowed, rebuilt
from coterie.runs.ends.end_words import closed_words
from coterie.runs.histories.exchanges import exchanges
from coterie.runs.histories.history_events import closed, read_events, started
from coterie.runs.histories.history_links import links
from coterie.runs.histories.recorded_calls import RecordedCall, recorded_calls
from coterie.runs.histories.recorded_events import CancelRequested
from coterie.runs.run_client import Run
from coterie.testing.files.case_document import (
    CancelDocument,
    CaseDocument,
    ErrorCheck,
    ExpectDocument,
    FunctionError,
    FunctionResultDocument,
    TestDocument,
)
from coterie.testing.recording.recorded_prompts import AskedAnswer, first_prompt, with_own_texts
from coterie.testing.recording.recorded_steering import (
    message_document,
    recorded_amendments,
    recorded_decisions,
    recorded_pauses,
    recorded_redirects,
    recorded_says,
    recorded_signals,
    recorded_skips,
    whole_seconds,
)
from coterie.workflows.core.state_keys import FunctionCallKey
from coterie.workflows.core.views import RunStatus, TrailEntry

_MAX_VALUE_LENGTH = 300
"""Characters of JSON; for a longer value a test only expects that it exists."""


def expected(
    parts: Sequence[WorkflowHistory], plan: Plan, trail: Sequence[TrailEntry], status: RunStatus
) -> ExpectDocument:
    """Collect the end, the path, what routes set in the context, and the number of calls."""
    closing = closed(parts[-1])
    end = None if closing is None else closing.end
    result = None if end is None else end.result
    fields: dict[str, object] = {"end": "failed" if end is None else end.outcome}
    if result is not None and result.error is not None:
        error = result.error
        fields["error"] = ErrorCheck(type=error.type, message=error.message)
    path = [entry.team for entry in trail if entry.kind == "team"]
    if _fans_out(plan):
        fields["visits"] = {team: path.count(team) for team in dict.fromkeys(path)}
    else:
        fields["path"] = tuple(path)
    context = {} if result is None else _context(result.context, trail)
    if context:
        fields["context"] = context
    fields["model_calls"] = status.model_calls
    fields["function_calls"] = status.function_calls
    return ExpectDocument.model_validate(fields)


def _fans_out(plan: Plan) -> bool:
    """Return whether branches may be concurrent, so that the order of visits varies."""
    rules = (rule for team in plan.teams.values() if team.routing for rule in team.routing.rules)
    return any(isinstance(rule.next_team, tuple) for rule in rules)


def _context(context: Json, trail: Sequence[TrailEntry]) -> dict[str, JsonValue]:
    """Return the final values that the routes set."""
    checks: dict[str, JsonValue] = {}
    for path in dict.fromkeys(path for entry in trail for path in entry.updated):
        value = get(context, parse(path))
        if value is MISSING:
            continue
        if len(json.dumps(value)) > _MAX_VALUE_LENGTH:
            checks[path] = {"exists": True}
        else:
            checks[path] = {"equals": value} if isinstance(value, dict) else value
    return checks


_SHORT = 0.1
"""Seconds that are not worth recording."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A finished run, as in its histories."""

    parts: Sequence[WorkflowHistory]
    """Oldest first."""
    plan: Plan
    trail: Sequence[TrailEntry]
    status: RunStatus
    received: Sequence[ReceivedMessage]
    stored: Mapping[str, JsonValue]
    """Results of tool functions that the history only names, by the names of their values."""


async def recorded_run(client: Client, id: str, blobs: Blobs | None = None) -> RecordedRun:
    """Read a run on a server from its histories.

    Args:
        client: of the server.
        id: of the run.
        blobs: The storage of the run's workers.

    Raises:
        CommandError: The run does not exist, is open, or this code cannot follow it; or results of
            its tool functions are not in the storage.
    """
    parts = await _histories(client, id)
    trail: dict[int, TrailEntry] = {}
    received: list[ReceivedMessage] = []
    replay = None
    for part in parts:
        replay = await rebuilt(part)
        if isinstance(replay, NotFollowed):
            raise CommandError(
                f"this code decides differently from run {id!r} ({replay.cause}); record it "
                "with the version that ran it"
            )
        trail |= {entry.number: entry for entry in replay.trail}
        received += replay.received
    assert replay is not None  # a run has a history
    whole = [trail[n] for n in sorted(trail)]
    stored = await stored_results(_finished_calls(parts), blobs, id)
    return RecordedRun(parts, replay.plan, whole, replay.status, received, stored)


async def _histories(client: Client, id: str) -> list[WorkflowHistory]:
    """Fetch the histories of a run, oldest first: one, or one per continue-as-new.

    Raises:
        CommandError: The run does not exist, is open, or was ended by the server.
    """
    parts = [part async for part in links(client, id)]
    end = closed(parts[-1])
    if end is None:
        raise CommandError(f"run {id!r} is still open; record it when it has ended")
    if end.state not in ("completed", "failed", "cancelled"):
        raise CommandError(
            f"run {id!r} {closed_words(end.state)}, so its history breaks off; record a run that "
            "completed, failed or was cancelled"
        )
    if earlier := started(parts[0]).previous:
        await Run(client, id).history(earlier)  # raises: the server has deleted it
    return parts


def _finished_calls(parts: Iterable[WorkflowHistory]) -> list[RecordedCall]:
    calls = (call for part in parts for call in recorded_calls(part))
    return [call for call in calls if call.outcome is not None]


async def stored_results(
    calls: Iterable[RecordedCall], blobs: Blobs | None, run: str
) -> dict[str, JsonValue]:
    """Return the results of calls of agents' tools, by the names of their stored values.

    Raises:
        CommandError: One is not in the storage, or there is no storage.
    """
    stored: dict[str, JsonValue] = {}
    for call in calls:
        kept_result = call.answer.kept if isinstance(call.answer, FunctionResult) else None
        if kept_result is None:
            continue
        if blobs is None:
            raise CommandError(
                f"a result of run {run!r} is a stored value, but no storage is configured here; "
                "set COTERIE_STORAGE to the storage of its workers"
            )
        try:
            stored[kept_result.name] = json.loads(await blobs.get(kept_result.name, run))
        except (BlobMissing, BlobsUnusable) as error:
            raise CommandError(f"a result of run {run!r} cannot be recorded: {error}") from None
    return stored


def recorded(run: RecordedRun, *, team: str, workspace: str | None) -> TestDocument:
    """Build the test file with the run as its only case.

    Args:
        run: The run.
        team: How the file refers to the team.
        workspace: A folder on which tool functions really run, relative to the file; without one,
            their recorded results are used.
    """
    ended = _finished_calls(run.parts)
    title: Json = {"name": f"as in the run {run.parts[0].workflow_id}"}
    case = CaseDocument.model_validate(
        title
        | _messages_from_outside(run)
        | {"expect": expected(run.parts, run.plan, run.trail, run.status)}
    )
    document: dict[str, object] = {"team": team}
    context = started(run.parts[0]).input.context
    if workspace is not None:
        document["workspace"] = workspace
    if context:
        document["context"] = context
    document["answers"] = tuple(with_own_texts([*_answers(ended)]))
    once = _once_functions(run.plan)
    replayed = ended if workspace is None else [call for call in ended if _is_call_of(once, call)]
    if replayed or workspace is None:
        document["functions"] = tuple(_functions(replayed, run.stored))
    return TestDocument.model_validate({**document, "cases": (case,)})


def _answers(ended: Sequence[RecordedCall]) -> Iterator[AskedAnswer]:
    turns: dict[str, int] = {}
    prompts: dict[str, str | None] = {}
    for call in ended:
        request, result = call.request, call.outcome
        if isinstance(request, AgentRequest) and isinstance(result, (AgentResponse, Failure)):
            if _has_no_answer(request, result):
                continue
            turn = _turn(request, result, turns)
            prompt = first_prompt(request, result, prompts)
            yield AskedAnswer(_answer(request, result, call.seconds, turn), prompt)


def _has_no_answer(request: AgentRequest, result: AgentResponse | Failure) -> bool:
    """Return whether a turn waits for its batch, or had nothing to sum up and asked no model."""
    if not isinstance(result, AgentResponse) or not result.success:
        return False
    unneeded = request.compaction is not None and result.conversation is None
    unwanted = request.started is not None and request.started.unwanted
    return unneeded or unwanted or result.in_progress is not None


def _turn(
    request: AgentRequest, result: AgentResponse | Failure, turns: dict[str, int]
) -> int | None:
    """Return the number of a turn in its conversation, if the agent uses tools.

    Args:
        request: of the turn.
        result: of the turn.
        turns: `{name of a turn: its number}` of the turns before; gets this one.
    """
    conversation = request.conversation
    if request.tool_turn is None or conversation is None:
        return None
    number = turns.get(conversation.head or "", 0) + 1
    if isinstance(result, AgentResponse) and result.conversation is not None:
        # a summary adds no turn: the new conversation continues to count
        turns[result.conversation] = number if request.compaction is None else number - 1
    return number


def _answer(
    request: AgentRequest, result: AgentResponse | Failure, seconds: float, turn: int | None
) -> ScriptedAnswer:
    entry: dict[str, object] = {"task": f"{request.team}/{request.task}", "visit": request.visit}
    if turn is not None:
        entry["turn"] = turn
    if request.reask is not None:
        entry["reask"] = request.reask.number
    if request.compaction is not None:
        entry["compaction"] = True
    entry |= _script_entry(request, result)
    if request.started is not None and request.started.waited >= 1:
        entry["batch_seconds"] = round(request.started.waited)
    elif seconds >= _SHORT:
        entry["seconds"] = round(seconds, 1)
    if isinstance(result, AgentResponse) and result.usage is not None:
        entry["usage"] = result.usage
    return ScriptedAnswer.model_validate(entry)


def _script_entry(request: AgentRequest, result: AgentResponse | Failure) -> dict[str, object]:
    """Return the model's answer as an entry of a script."""
    if isinstance(result, Failure):
        return {"error": ScriptedError(type=result.type, message=result.message)}
    if result.tool_calls:
        return _calls(result)
    if result.success:
        schema = request.persona.output_schema if request.persona is not None else None
        data = result.data
        if request.compaction is not None and isinstance(data, dict):
            return {"answer": data.get("summary")}
        plain = schema is None and isinstance(data, dict) and list(data) == ["text"]
        return {"answer": data["text"] if plain and isinstance(data, dict) else data}
    error = result.error
    match None if error is None else error.type:
        case FailureType.ANSWER_UNUSABLE:
            return {"answer": result.answer or ""}
        case FailureType.ANSWER_TRUNCATED:
            return {"answer": "", "stop_reason": "max_tokens"}
        case FailureType.ANSWER_REFUSED:
            return {"answer": "", "stop_reason": "refusal"}
        case kind:
            message = "" if error is None else error.message
            return {"error": ScriptedError(type=kind or FailureType.AGENT_FAILED, message=message)}


def _calls(result: AgentResponse) -> dict[str, object]:
    """Return the calls of a turn, and the text that the model wrote beside them."""
    calls = tuple(
        {"tool": call.tool, "arguments": "{" if call.problem is not None else call.arguments}
        for call in result.tool_calls
    )
    entry: dict[str, object] = {"tool_calls": calls}
    if isinstance(result.data, dict) and "text" in result.data:
        entry["answer"] = result.data["text"]
    return entry


def _once_functions(plan: Plan) -> Collection[str]:
    """Return the Python functions that must not run twice, and so do not run in a test."""
    functions = (tool for tool in plan.tools.values() if isinstance(tool, FunctionTool))
    return {tool.skill for tool in functions if tool.effect == "once" and ":" in tool.skill}


def _is_call_of(functions: Collection[str], call: RecordedCall) -> bool:
    return isinstance(call.request, FunctionRequest) and call.request.skill in functions


def _functions(
    ended: Iterable[RecordedCall], stored: Mapping[str, JsonValue]
) -> Iterator[FunctionResultDocument]:
    executions: Counter[str] = Counter()
    """Of each step that calls what others have on Temporal: no key tells them."""
    for call in ended:
        if isinstance(call.request, AgentRequest) or call.request.code is not None:
            continue  # a program runs in the test itself, on the results of its calls
        key = FunctionCallKey(call.request.key)
        step, visit = str(key.step), key.execution
        if call.is_foreign:
            executions[call.path] += 1
            step, visit = call.path, executions[call.path]
        match call.outcome:
            case FunctionResult(data=data, text=text, kept=kept_result):
                data = data if kept_result is None else stored[kept_result.name]
                entry = FunctionResultDocument(step=step, visit=visit, data=data)
                yield entry.model_copy(update={"text": text}) if text else entry
            case Failure(type=kind, message=message):
                error = FunctionError(type=kind, message=message)
                yield FunctionResultDocument(step=step, visit=visit, error=error)
            case AgentResponse() | None:
                continue


def _messages_from_outside(run: RecordedRun) -> dict[str, object]:
    """Return the messages from outside, each kind under its key of a case."""
    start = started(run.parts[0]).at
    came = [event for part in run.parts for event in read_events(part.events)]
    messages: dict[str, Sequence[object]] = {
        "decisions": [*recorded_decisions(run.received)],
        "messages": [
            message_document(exchange) for part in run.parts for exchange in exchanges(part)
        ],
        "signals": [*recorded_signals(came, start)],
        "pauses": [*recorded_pauses(came, start)],
        "amendments": [*recorded_amendments(came, start)],
        "redirects": [*recorded_redirects(came, start)],
        "skips": [*recorded_skips(run.received, start)],
        "says": [*recorded_says(run.received, start)],
    }
    happened: dict[str, object] = {
        key: tuple(documents) for key, documents in messages.items() if documents
    }
    cancelled = next((event for event in came if isinstance(event, CancelRequested)), None)
    if cancelled is not None:
        happened["cancel"] = CancelDocument(after=whole_seconds(cancelled.at, start))
    return happened
