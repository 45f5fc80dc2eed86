"""Decide what a tool loop does next, from its progress alone. Pure.

The caller acts, and reports what came of it with `take_turn` and `take_result`. Every call of a
turn has exactly one result before the next turn begins, and no loop takes more than `max_turns`
turns with calls, one last turn without, and `max_reasks` repeated answers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from coterie.dsl.model.tools.tool_use import TOOL_SEARCH
from coterie.dsl.tool_loop.call_checks import (
    MAX_NAME_LENGTH,
    call_digest,
    checked_calls,
    equal_calls_of,
)
from coterie.dsl.tool_loop.call_refusals import LeftOut, NotExecuted, SentBack
from coterie.dsl.tool_loop.exchange import ToolCallRequest, ToolChoiceWord, ToolResult
from coterie.dsl.tool_loop.result_texts import (
    CallsMissing,
    CallsRepeated,
    LastTurn,
    Reminder,
    handed_off_text,
    refused_result,
)
from coterie.dsl.tool_loop.tool_loop_progress import (
    AnswerFailed,
    CallCount,
    CallsHandedBack,
    ExitedOnSuccess,
    HandoffMade,
    LoopEnd,
    ModelAnswered,
    OpenCall,
    PolicyUnmet,
    ToolLoopProgress,
    UnmetPolicy,
)
from coterie.dsl.tool_loop.tool_loop_terms import REMINDED_AT, LoopTerms


@dataclass(frozen=True, slots=True)
class AskModel:
    """Take a model turn."""

    number: int
    """From 1; re-asks count as well."""
    choice: ToolChoiceWord = "auto"
    tool: str | None = None
    reminders: tuple[Reminder, ...] = ()
    reask: bool = False
    """Whether the latest answer was unusable."""

    @property
    def is_last(self) -> bool:
        """Whether the model must answer without a call."""
        return self.choice == "none"


@dataclass(frozen=True, slots=True)
class RunCalls:
    """Execute these calls of the latest turn, by index; the others have a result already."""

    indexes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EndLoop:
    """The loop is over."""

    end: LoopEnd


Action = AskModel | RunCalls | EndLoop


@dataclass(frozen=True, slots=True)
class TurnTaken:
    """What came of a model turn."""

    calls: Sequence[ToolCallRequest] = field(default_factory=tuple[ToolCallRequest, ...])
    unusable: bool = False
    """Its answer does not match the schema, and may be given again."""
    failed: bool = False
    """It has no answer, for another reason."""
    sent_back: str = ""
    """Why a hook wants it again: it must answer otherwise, or call otherwise."""


def next_action(terms: LoopTerms, progress: ToolLoopProgress) -> Action:
    """Return what to do next."""
    open_calls = tuple(i for i, call in enumerate(progress.calls) if call.result is None)
    if open_calls:
        return RunCalls(open_calls)
    end = progress.end or _exit(terms, progress)
    if end is not None:
        return EndLoop(end)
    number = progress.turns + progress.reasks + 1
    if terms.choice == "none" or progress.turns >= terms.max_turns:
        missing = unmet_policies(terms, progress)
        if missing:
            return EndLoop(PolicyUnmet("policy_unmet", missing))
        last = (LastTurn("last_turn"),) if terms.choice != "none" else ()
        return AskModel(
            number, "none", None, (*_repeated_calls(progress), *last), progress.unusable
        )
    choice, tool = _choice(terms, progress)
    reminders = (*_repeated_calls(progress), *_missing(terms, progress))
    return AskModel(number, choice, tool, reminders, progress.unusable)


def take_turn(
    terms: LoopTerms, progress: ToolLoopProgress, asked: AskModel, turn: TurnTaken
) -> None:
    """Note what came of a model turn, and decide which of its calls are executed."""
    if asked.reask:
        progress.reasks += 1
    else:
        progress.turns += 1
    progress.calls, progress.unusable, progress.unmet = [], False, False
    progress.code_calls = progress.code_refusals = 0
    if turn.failed:
        progress.end = AnswerFailed("answer_failed")
    elif turn.calls and not asked.is_last and turn.sent_back:
        progress.calls = [_sent_back(call, turn.sent_back) for call in turn.calls]
    elif turn.calls and not asked.is_last:
        _take_calls(terms, progress, turn.calls)
    elif turn.sent_back:
        progress.unusable = True
        progress.sent_back += 1
    elif not asked.is_last and unmet_policies(terms, progress):
        progress.unmet = True
    elif not turn.unusable:
        progress.end = ModelAnswered("answered")
    elif progress.reasks - progress.sent_back < terms.max_reasks:
        progress.unusable = True
    else:
        progress.end = AnswerFailed("answer_failed")


def leave_out(progress: ToolLoopProgress, index: int) -> None:
    """Give a call that a hook has stopped its result, without executing it."""
    call = progress.calls[index]
    call.refusal = NotExecuted("stopped_by_hook", call.tool)
    call.result = refused_result(call.refusal)


def take_result(progress: ToolLoopProgress, index: int, result: ToolResult, digest: str) -> int:
    """Note the result of an executed call.

    Args:
        progress: of the loop.
        index: of the call in its turn.
        result: for the model.
        digest: of what came of the call: equal digests, equal results.

    Returns:
        How many times in a row the call has now given this result.
    """
    return count_result(progress, progress.calls[index], result, digest)


def count_result(
    progress: ToolLoopProgress, call: OpenCall, result: ToolResult, digest: str
) -> int:
    """Note the result of an executed call of a turn, or of its code; see `take_result`."""
    call.result = result
    count = progress.counts.setdefault(call.tool, CallCount())
    count.calls += 1
    count.successes += not result.failed
    count.failed_last = result.failed
    return _times_in_a_row(progress, call, digest)


def _times_in_a_row(progress: ToolLoopProgress, call: OpenCall, digest: str) -> int:
    equal = equal_calls_of(progress, call)
    equal.times = equal.times + 1 if equal.result == digest else 1
    equal.result = digest
    return equal.times


def open_searches(terms: LoopTerms, progress: ToolLoopProgress) -> Iterator[tuple[int, str]]:
    """Yield the index and the query of each search of the latest turn that waits for its result."""
    if not terms.deferred:
        return
    for index, call in enumerate(progress.calls):
        if call.tool == TOOL_SEARCH and call.result is None:
            yield index, str(call.arguments["query"])


def take_search(progress: ToolLoopProgress, index: int, result: ToolResult, digest: str) -> None:
    """Note what a search found. Neither policies nor `tool_choice: required` count it.

    Args:
        progress: of the loop.
        index: of the search in its turn.
        result: for the model.
        digest: of what was found.
    """
    call = progress.calls[index]
    call.result = result
    _times_in_a_row(progress, call, digest)


def unmet_policies(terms: LoopTerms, progress: ToolLoopProgress) -> tuple[UnmetPolicy, ...]:
    """Return what the policies still demand."""
    unmet: list[UnmetPolicy] = []
    for policy in terms.policies:
        count = progress.counts.get(policy.tool, CallCount())
        counted = count.successes if policy.require_success else count.calls
        minimum = policy.min_calls
        if policy.require_success and not minimum and count.failed_last:
            minimum, counted = 1, 0  # the latest call must have succeeded
        if counted < minimum:
            unmet.append(UnmetPolicy(policy.tool, minimum, counted, policy.require_success))
    return tuple(unmet)


def _take_calls(
    terms: LoopTerms, progress: ToolLoopProgress, requests: Sequence[ToolCallRequest]
) -> None:
    """Check the calls; end the loop if they are the data, or if one of them hands over."""
    missing = tuple(policy.tool for policy in unmet_policies(terms, progress))
    calls = progress.calls = checked_calls(terms, progress, requests, missing)
    refused = any(call.refusal is not None for call in calls)
    handoff = next(
        (i for i, call in enumerate(calls) if call.refusal is None and call.tool in terms.handoffs),
        None,
    )
    if handoff is not None:
        team = terms.handoffs[calls[handoff].tool]
        progress.end = HandoffMade("handed_off", handoff, team)
        calls[handoff].result = ToolResult(text=handed_off_text(team))
        _leave_out(calls, "handed_off")
    elif terms.returns:
        if not refused:
            progress.end = CallsHandedBack("calls_returned")
        _leave_out(calls, "others_invalid" if refused else "calls_returned")
    for call in calls:
        if call.refusal is not None:
            call.result = refused_result(call.refusal)


def _sent_back(request: ToolCallRequest, reason: str) -> OpenCall:
    refusal = SentBack("sent_back", request.tool[:MAX_NAME_LENGTH], reason)
    return OpenCall(refusal.tool, request.arguments, refusal, refused_result(refusal))


def _leave_out(calls: Sequence[OpenCall], code: LeftOut) -> None:
    """Refuse the calls that the turn does not execute."""
    for call in calls:
        if call.refusal is None and call.result is None:
            call.refusal = NotExecuted(code, call.tool)


def _exit(terms: LoopTerms, progress: ToolLoopProgress) -> LoopEnd | None:
    """Return the end that the first success of such a tool brings, if no policy demands more."""
    for index, call in enumerate(progress.calls):
        succeeded = call.refusal is None and call.result is not None and not call.result.failed
        if succeeded and terms.policy(call.tool).exit_on_success:
            if unmet_policies(terms, progress):
                return None
            return ExitedOnSuccess("exited_on_success", index, call.tool)
    return None


def _choice(terms: LoopTerms, progress: ToolLoopProgress) -> tuple[ToolChoiceWord, str | None]:
    """Return the `tool_choice` of the next turn; a required tool counts until a call has met it."""
    if terms.chosen is not None:
        met = terms.chosen in progress.counts
        return "auto", None if met else terms.chosen
    if terms.choice == "required" and progress.counts:
        return "auto", None
    return terms.choice, None


def _repeated_calls(progress: ToolLoopProgress) -> tuple[CallsRepeated, ...]:
    """Return the reminders of calls that the latest turn has repeated."""
    reminders: dict[str, CallsRepeated] = {}
    for call in progress.calls:
        if call.refusal is None and call.result is not None:
            equal = progress.equal_calls.get(call_digest(call.tool, call.arguments))
            if equal is not None and equal.times >= REMINDED_AT:
                reminders[call.tool] = CallsRepeated("calls_repeated", call.tool, equal.times)
    return tuple(reminders.values())


def _missing(terms: LoopTerms, progress: ToolLoopProgress) -> tuple[CallsMissing, ...]:
    if not progress.unmet:
        return ()
    return (CallsMissing("calls_missing", unmet_policies(terms, progress)),)
