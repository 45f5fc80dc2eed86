"""One call of a tool function, by a function step, a tool step or an aggregation.

A call may ask a person; it is made again with the answer. The state keeps the question while the
run waits, so nothing is asked or called twice.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, assert_never

from pydantic import JsonValue

from coterie.activities.contracts import (
    CallOptions,
    FailureType,
    FunctionRequest,
    FunctionResult,
    KeptResult,
    Spent,
    SuspendedCode,
    function_summary,
)
from coterie.dsl.json_values import json_digest
from coterie.dsl.model.agent_skills import SKILL_FUNCTION
from coterie.dsl.model.capabilities import Label
from coterie.dsl.model.decision_terms import ApprovalTerms, DecisionTerms
from coterie.dsl.model.memory_terms import MemoryOwner, MemorySection
from coterie.dsl.model.outcomes import Failure, Outcome
from coterie.dsl.model.retryability import may_have_happened
from coterie.dsl.model.step_kinds.step_base import FunctionTerms
from coterie.dsl.model.temporal_calls import CommandTarget
from coterie.dsl.model.tools.asked_input import AskedInput, GivenInput
from coterie.dsl.model.tools.local_activities import MAX_LOCAL_SECONDS
from coterie.dsl.tool_loop.input_questions import (
    answers_of,
    input_form,
    input_prompt,
    suggested_input,
)
from coterie.dsl.tool_loop.skill_texts import skill_excerpt
from coterie.workflows.agents.repeatable_attempts import note_answer, note_effect
from coterie.workflows.agents.repeated_calls import record_call, refused
from coterie.workflows.approvals.approval_wait import PLAIN, PersonRequest, ask
from coterie.workflows.approvals.decisions import is_approved, rejected
from coterie.workflows.approvals.egress_approval import LabelledCall, meet_labels
from coterie.workflows.budgets.balances import paid
from coterie.workflows.budgets.call_admission import admit_call, in_flight
from coterie.workflows.core.causes.step_causes import Failed
from coterie.workflows.core.location import Location
from coterie.workflows.core.progress.agent_progress import CallInput
from coterie.workflows.core.scope import Call, CallFailed, Scope, TemporalRequest, on_abort
from coterie.workflows.core.state_keys import INPUT, FunctionCallKey
from coterie.workflows.core.trail import note_step
from coterie.workflows.core.usage import began

MAX_ROUNDS = 10
"""How often one call may ask."""


class InteractiveCall(NamedTuple):
    """A call that may ask a person."""

    skill: str
    given: JsonValue
    """Its whole input."""
    location: Location
    terms: DecisionTerms
    """Who answers, and until when."""

    @property
    def digest(self) -> str:
        """Of what is called with which input."""
        return json_digest(self.skill, self.given)


def earlier_execution(call: InteractiveCall, scope: Scope) -> int | None:
    """Return the execution of a call that has asked before the run continued as new."""
    call_input = _input_asked_before(call, scope)
    return None if call_input is None else call_input.execution


async def given_input(
    call: InteractiveCall, scope: Scope, *, boundary: bool
) -> GivenInput | Outcome | None:
    """Return a person's answers to what a call asks; None if it has asked nothing yet.

    Args:
        call: the call.
        scope: the run.
        boundary: whether the run may continue as new here.

    Returns:
        The failure of the call instead, if a person rejects the question, or nobody answers.
    """
    call_input = _input_asked_before(call, scope)
    if call_input is None:
        return None
    question = call_input.asked
    if question.continues and boundary:
        await scope.checkpoint()
    if call_input.is_answered or question.continues:
        return GivenInput(asked=question, answers=call_input.answers, by=call_input.by)
    request = PersonRequest(
        input_prompt(call.location.step.without_model_calls(), call.skill, question, call.given),
        show=suggested_input(question),
        terms=_terms(call.terms, question),
        is_question=question.is_plain,
        sign_in=question.sign_in,
    )
    decision = await ask(scope, call.location.at(INPUT), request, boundary=boundary)
    if not is_approved(decision):
        forget_question(call, scope)
        return rejected(decision)
    payload = decision.payload
    answers = answers_of(question, payload if isinstance(payload, dict) else {})
    call_input.answers = {**call_input.answers, **answers} if question.within_call else answers
    call_input.is_answered = True
    call_input.by = decision.by
    return GivenInput(asked=question, answers=call_input.answers, by=call_input.by)


def note_question(
    call: InteractiveCall, asked: AskedInput, execution: int, scope: Scope
) -> Outcome | None:
    """Keep what a call asks; return its failure if it has asked too often."""
    inputs, call_input = scope.state.progress.call_inputs, _input_asked_before(call, scope)
    if call_input is None:
        inputs[call.location.key] = CallInput(call.digest, execution, asked)
        return None
    if asked.continues:
        call_input.asked, call_input.answers, call_input.is_answered = asked, {}, False
        return None
    if call_input.rounds == MAX_ROUNDS:
        forget_question(call, scope)
        message = f"{call.skill} has asked {MAX_ROUNDS} times and still does not answer"
        return Outcome.failed(FailureType.INPUT_REQUIRED, message)
    call_input.asked = asked
    call_input.is_answered = False
    call_input.rounds += 1
    return None


def forget_question(call: InteractiveCall, scope: Scope) -> None:
    """Drop what a call has asked."""
    inputs = scope.state.progress.call_inputs
    if inputs:
        inputs.pop(call.location.key, None)


def _input_asked_before(call: InteractiveCall, scope: Scope) -> CallInput | None:
    """Return what this call has asked; a call with another input is another call."""
    inputs = scope.state.progress.call_inputs
    if not inputs:
        return None
    call_input = inputs.get(call.location.key)
    return call_input if call_input is not None and call_input.call == call.digest else None


def _terms(terms: DecisionTerms, question: AskedInput) -> ApprovalTerms:
    """Return the terms of a question: an answer counts for one call, so none is remembered."""
    own = {name: getattr(terms, name) for name in DecisionTerms.model_fields}
    values = {**own, "remember": False, "editable": True, "schema": input_form(question)}
    return ApprovalTerms.model_validate(values)


UNKNOWN_TERMS = FunctionTerms(effect="once", timeout=60.0, retries=0)
"""The most careful terms, for a plan without any."""


_POLL_SECONDS = 300.0
"""Time limit of one activity that asks for a task; it returns before, and the next one asks on."""
_POLL_RETRIES = 10
_KNOWN_OF_TASK = (
    FailureType.INPUT_REQUIRED,
    FailureType.OUTCOME_UNKNOWN,
    FailureType.FUNCTION_FAILED,
    FailureType.FUNCTION_REFUSED,
)
"""Failures after which it is known what became of a task."""


class FunctionCall(NamedTuple):
    """What to call, and by which terms."""

    skill: str
    """`Name.method`, or `server/tool` of an MCP server."""
    given: JsonValue
    """Its input."""
    terms: FunctionTerms | None
    """Of its contract."""
    seconds: float | None = None
    """Time limit of one attempt, instead of that of the terms."""
    keep: bool = False
    """Whether the worker stores a large result."""
    listing: str | None = None
    """Of an MCP tool, the digest of what its server must still offer."""
    answered_by: DecisionTerms | None = None
    """Who answers what it asks. Default: anyone."""
    target: CommandTarget | None = None
    """What the run itself calls; None: a worker of Coterie makes the call."""
    failures_without_effect: tuple[str, ...] = ()
    """The types of failure after which nothing has happened."""


class CalledFunction(NamedTuple):
    """What a call of a tool function came to."""

    outcome: Outcome
    kept: KeptResult | None = None
    """Where its data is, if the worker stored it."""
    asked: AskedInput | None = None
    """What a person must answer before the call is made again."""
    suspended: SuspendedCode | None = None
    """Where its code waits for calls; there is no result yet."""
    has_answers: bool = False
    """Whether its result depends on what a person answered."""


async def call_function(call: FunctionCall, location: Location, scope: Scope) -> Outcome:
    """Call the tool function by the terms of its contract; the call's key never changes."""
    repeats = location.loop is not None
    if repeats and (again := refused(call.skill, call.given, location, scope)) is not None:
        return again
    count = partial(scope.state.executed, location.step)
    outcome = (await make_call(call, location, scope, count)).outcome
    if repeats:
        record_call(call.skill, call.given, outcome, location, scope)
    return outcome


async def make_call(
    call: FunctionCall,
    location: Location,
    scope: Scope,
    count: Callable[[], int],
    *,
    boundary: bool = True,
) -> CalledFunction:
    """Make one call, within the budgets of the plan; if it asks a person, again with the answer.

    Args:
        call: what to call.
        location: of the call.
        scope: the run.
        count: returns the execution of the step that the call belongs to, for its key.
        boundary: whether the run may continue as new here while it asks a person.
    """
    asking = InteractiveCall(call.skill, call.given, location, call.answered_by or PLAIN)
    execution = earlier_execution(asking, scope)
    while True:
        answers = await given_input(asking, scope, boundary=boundary)
        if isinstance(answers, Outcome):
            return CalledFunction(answers)
        polls = answers is not None and answers.asked.task is not None
        if scope.plan.budgets and not polls:
            await admit_call(scope, location, location.personas, "tool_calls", boundary=boundary)
        execution = execution or count()
        key = FunctionCallKey.of(scope.run_id, scope.state.execution, location.step, execution)
        request = _request(call, key, answers, scope)
        perform = _poll_task if polls else partial(make_activity, of=call)
        result = await perform(request, call.terms or UNKNOWN_TERMS, location, scope, call.seconds)
        if result.asked is None:
            forget_question(asking, scope)
            return result._replace(has_answers=answers is not None)
        failed = note_question(asking, result.asked, execution, scope)
        if failed is not None:
            return CalledFunction(failed)


def _request(
    call: FunctionCall, key: FunctionCallKey, answers: GivenInput | None, scope: Scope
) -> FunctionRequest:
    writes = call.terms is None or call.terms.effect != "read"
    return FunctionRequest(
        skill=call.skill,
        input=call.given,
        key=key,
        listing=call.listing,
        keep=call.keep,
        given_input=answers,
        skill_excerpt=skill_excerpt(scope.plan.skills, call.given)
        if call.skill == SKILL_FUNCTION
        else None,
        untrusted=writes and scope.state.met_untrusted,
        memory=None if call.terms is None else _memory(call.terms.memory, scope),
    )


def _memory(memory: MemorySection | None, scope: Scope) -> MemoryOwner | None:
    """Return whose memory a call uses: the document names the scope, and the run its owner."""
    if memory is None:
        return None
    match memory.scope:
        case "project":
            name = ""
        case "team":
            name = scope.plan.name
        case "user":
            name = scope.state.user or ""
        case _:
            assert_never(memory.scope)
    return MemoryOwner(scope=memory.scope, name=name, expires=memory.expires)


async def make_activity(
    request: FunctionRequest,
    terms: FunctionTerms,
    location: Location,
    scope: Scope,
    seconds: float | None,
    whole: FunctionTerms | None = None,
    of: FunctionCall | None = None,
) -> CalledFunction:
    """Make one activity `of` a call; `whole` are its terms, if this activity is not all of it."""
    target = None if of is None else of.target
    harmless = () if of is None else of.failures_without_effect
    state, function = scope.state, request.skill
    budgeted = bool(scope.plan.budgets)
    if terms.effect != "read":
        state.forget_reads()
    state.calls += 1
    state.function_calls += 1
    call = _call(function, terms, location, state.calls, seconds)
    tally = began(
        state, location, location.personas[-1] if location.personas else "", tool=function
    )
    spent: FunctionResult | Spent | None = None
    labels: tuple[Label, ...]
    kept_result: KeptResult | None = None
    question: AskedInput | None = None
    suspended: SuspendedCode | None = None
    try:
        if target is None:
            calling = scope.call_function(request, call)
        else:
            calling = scope.call_on_temporal(TemporalRequest(function, target, request.input), call)
        async with on_abort(
            partial(_note_cut_off, whole or terms, call, location, scope), failures=False
        ):
            result = spent = await (in_flight(scope, calling) if budgeted else calling)
        outcome, kept_result = Outcome.succeeded(result.data, result.text), result.kept
        labels, suspended = result.labels, result.suspended
    except CallFailed as error:
        spent, question = error.spent, error.asked
        met = () if error.spent is None else error.spent.inner_calls
        labels = tuple(label for inner_call in met for label in inner_call.labels)
        outcome = _failure_outcome(error, terms, harmless)
    meet_labels(LabelledCall(function, labels), location, scope)
    error_type = None if outcome.error is None else outcome.error.type
    note_answer(location, state, error_type)
    if error_type not in harmless and may_have_happened((whole or terms).effect, error_type):
        note_effect(location, state)
    if terms.effect != "read":  # again: others may have read in the middle of the effect
        state.forget_reads()
    if spent is not None:
        tally.seconds += spent.seconds
        if budgeted:
            paid(scope, location, location.personas, spent)
    return CalledFunction(outcome, kept_result, question, suspended)


def _failure_outcome(error: CallFailed, terms: FunctionTerms, harmless: Sequence[str]) -> Outcome:
    """Return the failure of a call, or that nobody knows whether it happened."""
    unknown = FailureType.OUTCOME_UNKNOWN
    is_certain = error.type in harmless or not may_have_happened(terms.effect, error.type)
    if error.type == unknown or is_certain:
        return Outcome.failed(error.type, error.message)
    return Outcome.failed(
        unknown, f"whether it happened is not known: {error.type}: {error.message}"
    )


async def _poll_task(
    request: FunctionRequest,
    terms: FunctionTerms,
    location: Location,
    scope: Scope,
    seconds: float | None,
) -> CalledFunction:
    """Ask for the task of a call: that may be repeated, whatever the call may not."""
    update = {"effect": "read", "retries": _POLL_RETRIES, "timeout": _POLL_SECONDS}
    own = terms.model_copy(update=update)  # too long for a local activity
    result = await make_activity(request, own, location, scope, None, terms)
    if result.asked is None and terms.effect != "read":
        scope.state.forget_reads()  # its effect has happened in the meantime
    error = result.outcome.error
    if terms.effect != "once" or error is None or error.type in _KNOWN_OF_TASK:
        return result
    note_effect(location, scope.state)
    message = f"the task of {request.skill} was lost: {error.message}"
    return CalledFunction(Outcome.failed(FailureType.OUTCOME_UNKNOWN, message))


def _call(
    function: str, terms: FunctionTerms, location: Location, number: int, seconds: float | None
) -> Call:
    """Return the call with this number of the run; `seconds` replaces the timeout of the terms."""
    options = CallOptions(
        timeout=(seconds or terms.timeout) + terms.startup,
        retries=terms.retries,
        effect=terms.effect,
        local_timeout=_local_timeout(terms, seconds),
    )
    id = f"{number:04}.{location.team}.{location.name}"
    return Call(
        id=id,
        summary=function_summary(location.step, function),
        options=options,
        step=location.step,
    )


def _local_timeout(terms: FunctionTerms, seconds: float | None) -> float | None:
    """Return the time limit of a local activity; None for a call that must be an activity."""
    limit = min(seconds or terms.timeout, terms.timeout)
    is_fit = terms.effect == "read" and not terms.retries and limit <= MAX_LOCAL_SECONDS
    return limit if terms.local_activity and is_fit else None


def _note_cut_off(terms: FunctionTerms, call: Call, location: Location, scope: Scope) -> None:
    """Keep that a call which must not happen twice was cut off, by other branches or a timeout."""
    if terms.effect != "once" or scope.cancelled() is not None:
        return
    note_effect(location, scope.state)
    message = f"{call.summary} was cut off: whether it happened is not known"
    failure = Failure(FailureType.OUTCOME_UNKNOWN, message)
    if not location.step.is_model_call:  # then there is no task
        location.frame(scope).end(location.name, Outcome("failure", error=failure))
    note_step(scope, location, "failure", Failed("failed", failure))
