"""What a model reads instead of a result, or at the end of its message: facts in words."""

from dataclasses import dataclass
from typing import Literal, assert_never

from coterie.dsl.errors import listed, nearest
from coterie.dsl.model.tools.tool_use import TOOL_SEARCH
from coterie.dsl.tool_loop.call_refusals import (
    ArgumentsUnusable,
    CallRefusal,
    CallsUsedUp,
    HandoffTooEarly,
    NotExecuted,
    RepeatedTooOften,
    SentBack,
    TooManyOfTurn,
    UnknownToolCalled,
)
from coterie.dsl.tool_loop.exchange import ToolResult
from coterie.dsl.tool_loop.tool_loop_progress import UnmetPolicy


@dataclass(frozen=True, slots=True)
class CallsRepeated:
    """A reminder: the same call gives the same result again and again."""

    code: Literal["calls_repeated"]
    tool: str
    times: int


@dataclass(frozen=True, slots=True)
class CallsMissing:
    """A reminder: the answer came before calls that the policy demands."""

    code: Literal["calls_missing"]
    unmet: tuple[UnmetPolicy, ...]


@dataclass(frozen=True, slots=True)
class LastTurn:
    """A reminder: no turns are left, so the model must answer now."""

    code: Literal["last_turn"]


Reminder = CallsRepeated | CallsMissing | LastTurn
"""What the model learns at the end of its next message, beside the results."""


LOST = "this call has no result: the agent's work ended before it"
"""What a model reads of a call whose result nobody kept."""

_LEFT_OUT = {
    "handed_off": "not executed: another call of this turn hands over to a team",
    "calls_returned": "not executed here: the caller of this agent receives the call",
    "stopped_by_hook": "not executed: a hook has stopped this agent",
    "others_invalid": "not executed: correct the other calls of this turn, and send all again",
}


def refused_result(refusal: CallRefusal) -> ToolResult:
    """Return the result of a call that is not executed."""
    return ToolResult(text=refusal_text(refusal), failed=True)


def shortened_result(text: str, most: int, kept: str | None) -> str:
    """Return the beginning of a result, with a mark that says what is missing and where it is."""
    if len(text) <= most:
        return text
    where = "the history of the run has it whole" if kept is None else f"stored whole as {kept}"
    return (
        f"{text[:most]}\n[cut off: these are {most:,} of {len(text):,} characters, by `max_result` "
        f"of the tool; {where}. Ask for less at a time.]"
    )


def handed_off_text(team: str) -> str:
    """Return the result of a call that hands over."""
    return f"the run continues with team {team!r}"


def refusal_text(refusal: CallRefusal) -> str:
    """Return why a call is not executed, and what to do instead."""
    match refusal:
        case UnknownToolCalled(tool=tool, offered=offered):
            hint = nearest(tool, offered)
            text = f"there is no tool {tool!r}; tools: {listed(offered) or 'none'}. {hint}"
            return text.rstrip(". ")
        case ArgumentsUnusable(tool=tool, problems=problems):
            return f"the arguments of {tool!r} are invalid: {'; '.join(problems)}"
        case CallsUsedUp(tool=tool, allowed=allowed):
            return f"{tool!r} may be called {_times(allowed)}, and that is used up"
        case TooManyOfTurn(tool=tool, allowed=allowed) if tool == TOOL_SEARCH:
            return f"one turn may search {allowed} times; search again in the next turn"
        case TooManyOfTurn(allowed=allowed):
            return f"one turn may call {allowed} tools; call this one again in the next turn"
        case RepeatedTooOften(tool=tool, times=times):
            return (
                f"{tool!r} was called {times} times with the same arguments and gave the same "
                "result each time, so it is not called again; do something else"
            )
        case HandoffTooEarly(unmet=unmet):
            return f"before you hand over, call {listed(unmet)}"
        case NotExecuted(code=code):
            return _LEFT_OUT[code]
        case SentBack(reason=reason):
            return f"not executed: {reason}"
        case _:
            assert_never(refusal)


def reminder_text(reminder: Reminder) -> str:
    """Return a reminder as a note to the model."""
    match reminder:
        case CallsRepeated(tool=tool, times=times):
            return (
                f"[Note: {tool} was called {times} times with the same arguments and gave the "
                "same result each time. Do something else.]"
            )
        case CallsMissing(unmet=unmet):
            return f"[Note: before you answer, call {'; '.join(map(unmet_text, unmet))}.]"
        case LastTurn():
            return "[Note: no turns are left, and no tool runs any more. Answer now.]"
        case _:
            assert_never(reminder)


def unmet_text(unmet: UnmetPolicy) -> str:
    """Return what a policy still demands of a tool."""
    what = "successfully " if unmet.require_success else ""
    return f"{unmet.tool} {what}{_times(unmet.wanted)} (so far: {unmet.counted})"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
