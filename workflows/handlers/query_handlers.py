"""Query handlers: what a run answers, during the run and after its end. They change nothing.

Part of TeamWorkflow. An answer stays below what the `temporal` CLI prints in full; an invalid query
gets a sentence that says how to ask.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

from pydantic import JsonValue
from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from coterie.dsl.errors import RunRefused, listed
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Plan
from coterie.dsl.paths import MISSING, get, parse
from coterie.dsl.values import Json
from coterie.workflows.budgets.costs import report
from coterie.workflows.core.causes.trail_causes import shortened
from coterie.workflows.core.decoding import Model, argument, takes_any_arguments
from coterie.workflows.core.extract import MAX_ANSWER_SIZE, extract, written
from coterie.workflows.core.messages import EventsAsked, RequestAsked, StateAsked
from coterie.workflows.core.requests import Pending, RequestView
from coterie.workflows.core.state import RunState, cause_facts, state_adapter
from coterie.workflows.core.state_keys import MAIN, StateKey
from coterie.workflows.core.state_parts import Frame, Track
from coterie.workflows.core.views import (
    CostReport,
    RunStatus,
    StateView,
    TeamResult,
    TrailEntry,
    TrailPage,
)
from coterie.workflows.handlers.board import status

_MAX_BECAUSE_LENGTH = 2_000
_ENTRY = 250
"""Bytes of an entry without its texts."""
_MIN_ENTRIES_SIZE = 200
_MIN_SHOWN_SIZE = 500
_UNSEEN = frozenset({"tracks", "frames", "progress", "trail", "seen", "executions"})
"""Parts of the state that the view shows elsewhere, or that are internal."""


def events(state: RunState, since: int) -> TrailPage:
    """Return as many entries after number `since` as fit into an answer."""
    entries: list[TrailEntry] = []
    first = state.trail[0].number if state.trail else 0
    later = state.trail[max(since - first + 1, 0) :]
    size = 0
    for record in later:
        entry = _shorten_entry(record.to_entry())
        size += _ENTRY + sum(len(text.encode("utf-8", "replace")) for text in _texts(entry))
        size += len(cause_facts(entry.cause)) + len(cause_facts(entry.when))
        if size > MAX_ANSWER_SIZE and entries:
            break
        entries.append(entry)
    return TrailPage(entries=tuple(entries), more=len(entries) < len(later), first=first)


def _texts(entry: TrailEntry) -> Sequence[str]:
    return (
        entry.team,
        entry.step or "",
        entry.because,
        entry.ran_because,
        entry.next_team or "",
        entry.event or "",
        *entry.updated,
    )


def _shorten_entry(entry: TrailEntry) -> TrailEntry:
    if len(entry.ran_because) > _MAX_BECAUSE_LENGTH:
        short = {"ran_because": _cut_text(entry.ran_because), "when": shortened(entry.when)}
        entry = entry.model_copy(update=short)
    if len(entry.because) > _MAX_BECAUSE_LENGTH:
        short = {"because": _cut_text(entry.because), "cause": shortened(entry.cause)}
        entry = entry.model_copy(update=short)
    return entry


def _cut_text(text: str) -> str:
    more = len(text) - _MAX_BECAUSE_LENGTH
    return f"{text[:_MAX_BECAUSE_LENGTH]}... [{more:,} more characters]"


def pending(state: RunState) -> list[Pending]:
    """Return the open requests, without proofs; each gets an equal share of the answer."""
    maximum = max(MAX_ANSWER_SIZE // max(len(state.pending), 1) - _ENTRY, _MIN_SHOWN_SIZE)
    requests = (with_terms(state, request) for request in state.pending.values())
    return [
        _cut(request.model_copy(update={"proofs": ()}) if request.proofs else request, maximum)
        for request in requests
    ]


def with_terms(state: RunState, request: Pending) -> Pending:
    """Return a request that says whether its run takes only signed decisions."""
    is_signed = state.authority is not None
    return request.model_copy(update={"signed": True}) if is_signed else request


def _cut(request: Pending, maximum: int) -> Pending:
    schema = request.payload_schema
    excerpt = extract(request.show, ("show",), 0, maximum)
    kept_schema = schema if schema is None or extract(schema, (), 0, maximum).whole else None
    prompt = request.prompt[:_MAX_BECAUSE_LENGTH]
    call = request.call
    if call is not None and not extract(call.input, (), 0, maximum).whole:
        call = call.model_copy(update={"input": None})
    if excerpt.whole and (kept_schema, prompt, call) == (schema, request.prompt, request.call):
        return request
    update = {"show": excerpt.value, "payload_schema": kept_schema, "prompt": prompt, "cut": True}
    return request.model_copy(update={**update, "call": call})


def request(state: RunState, id: str) -> RequestView:
    """Return one request in full.

    Raises:
        RunRefused: the run never had one of that id.
    """
    waiting, decided = state.pending.get(id), state.decisions.get(id)
    if waiting is None and decided is None:
        pending_ids = listed(state.pending) or "none"
        raise RunRefused(f"there is no request {id[:_MIN_ENTRIES_SIZE]!r}; waiting: {pending_ids}")
    whole = None if waiting is None else with_terms(state, waiting)
    return RequestView(pending=whole, decision=decided)


def look(state: RunState, asked: StateAsked) -> StateView:
    """Return the value at the path of the query.

    Raises:
        RunRefused: the path leads nowhere; the message lists what exists.
    """
    path = parse(asked.path) if isinstance(asked.path, str) else tuple(asked.path)
    view = _view(state)
    value = get(view, path)
    if value is MISSING:
        raise RunRefused(_nowhere(view, path))
    part = extract(value, path, asked.start)
    return StateView(
        path=written(path), value=part.value, size=part.size, whole=part.whole, next=part.next
    )


def _nowhere(view: Json, path: tuple[str, ...]) -> str:
    """Return how far the path leads, and what exists there."""
    lengths = range(len(path), 0, -1)
    length = next((n for n in lengths if get(view, path[:n]) is not MISSING), 0)
    there = get(view, path[:length])
    where = f"at {'.'.join(path[:length])!r}" if length else "in the state of a run"
    match there:
        case dict():
            has = f"there is {listed(there)}" if there else "there is nothing"
        case list():
            has = f"there is a list of {len(there)} items, from 0"
        case _:
            has = "there is a value with nothing in it"
    return f"nothing lies at {'.'.join(path)!r}: {where} {has}"


def _view(state: RunState) -> Json:
    """Return the state in the names that templates use, followed by the counters."""
    view: Json = _track(MAIN, state.main, state)
    others = {
        name: _track(name, track, state) for name, track in state.tracks.items() if name != MAIN
    }
    if others:
        view["branches"] = cast("JsonValue", others)
    own = {StateKey.visit(name, track.team, track.visit) for name, track in state.tracks.items()}
    inner = {key: _frame(frame) for key, frame in state.frames.items() if key not in own}
    if inner:
        view["frames"] = cast("JsonValue", inner)
    rest = state_adapter().dump_python(state, mode="json", exclude=set(_UNSEEN))
    return {**view, **cast("Json", rest)}


def _track(name: str, track: Track, state: RunState) -> Json:
    """Return one track: where it is, and what steps see there."""
    frame = state.open_frame(name) or Frame()
    return {
        "team": track.team,
        "visit": track.visit or None,
        "context": track.context,
        **_frame(frame),
        "teams": {team: {"tasks": _outcomes(tasks)} for team, tasks in track.latest.items()},
        "routing": {"because": track.routed.because, **track.routed.seen()},
    }


def _frame(frame: Frame) -> Json:
    view: Json = {"tasks": _outcomes(frame.tasks), "variables": dict(frame.variables)}
    return view if frame.input is None else {**view, "input": frame.input}


def _outcomes(tasks: Mapping[str, Outcome]) -> Json:
    return {name: _outcome(outcome) for name, outcome in tasks.items()}


def _outcome(outcome: Outcome) -> Json:
    error = outcome.error
    view: Json = {"status": outcome.status, "data": outcome.data}
    return (
        view if error is None else {**view, "error": {"type": error.type, "message": error.message}}
    )


T = TypeVar("T")


def _answer_query(
    payloads: Sequence[RawValue],
    model: type[Model],
    key: str,
    answer: Callable[[Model], T],
    allowed: str,
) -> T:
    """Answer a query whose argument is an object, or the value of its one key."""
    try:
        query_input = argument(payloads, model, key)
    except RunRefused as error:
        refusal = f"{error}; ask with {allowed}"
    else:
        try:
            return answer(query_input)
        except RunRefused as error:
            refusal = str(error)
    raise ApplicationError(refusal, type="Refused", non_retryable=True)


class QueryHandlers:
    """The queries of a run."""

    plan: Plan | None
    state: RunState
    done: bool
    came_to: TeamResult | None

    @workflow.query(description="Where the run is and what it has used")
    def status(self) -> RunStatus:
        """Return where the run is and what it does."""
        return status(self.plan, self.state, done=self.done)

    @workflow.query(description="What the run came to, also when it was cancelled; null before")
    def result(self) -> TeamResult | None:
        """Return the result of the run; a cancelled run has no other place for it."""
        return self.came_to

    @workflow.query(description="What the run has used, and what is left of its budgets")
    def cost(self) -> CostReport:
        """Return the usage of the run."""
        return report(self.plan, self.state)

    @workflow.query(description="The requests that wait for a person")
    def pending(self) -> list[Pending]:
        """Return the open requests; cut values are in full in the query `request`."""
        return pending(self.state)

    @workflow.query(description="One request, whole, or how it was decided: {id}")
    @takes_any_arguments
    def request(self, *payloads: RawValue) -> RequestView:
        """Return one request in full."""
        return _answer_query(
            payloads,
            RequestAsked,
            "id",
            lambda query_input: request(self.state, query_input.id),
            'an id like "review/sign_off#1", or {"id": "review/sign_off#1"}',
        )

    @workflow.query(description="What happened and because of what, after entry number {since}")
    @takes_any_arguments
    def events(self, *payloads: RawValue) -> TrailPage:
        """Return a page of the trail: of its latest thousand entries; the history has all."""
        return _answer_query(
            payloads,
            EventsAsked,
            "since",
            lambda query_input: events(self.state, query_input.since),
            'nothing, a number like 12, or {"since": 12}',
        )

    @workflow.query(
        name="state", description="What the run remembers, at a {path} like context.topic"
    )
    @takes_any_arguments
    def state_at(self, *payloads: RawValue) -> StateView:
        """Return the part of the state at a path; a large value appears as size and path."""
        return _answer_query(
            payloads,
            StateAsked,
            "path",
            lambda query_input: look(self.state, query_input),
            'nothing, a path like "context.topic", or {"path": "context.topic", "start": 0}',
        )
