"""Suffixes of the names of calls. Only this module formats and parses them.

The summary of a model turn is the path of its step and a TurnSuffix. The id of a call ends the same
way, and then says how it was sent:

    plan/write              0001.plan.write                the call of a step
    plan/write.r1           0002.plan.write.r1             its first re-ask
    plan/act.t2             0003.plan.act.t2               the second turn of an agent with tools
    plan/act.t2.compact     0004.plan.act.t2.compact       the summary before that turn
    plan/act.t2.again       0005.plan.act.t2.again         the turn after that summary
    plan/act.t2.again.f1    0006.plan.act.t2.again.f1      the same, by the first fallback
    plan/write              0007.plan.write.b3             the third look at a batch
    plan/write              0007.plan.write.unwanted       gives the batch up
    plan/write              0008.plan.write.q1             sent again, to another queue
    plan/write              0009.plan.write.again.again    sent again twice, as its workers stopped

The name of a step may look like a suffix, and `.again` has two meanings in an id. A summary, with
the name of the step, is unambiguous.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

_SUFFIX = (
    r"(?:\.t(?P<turn>[1-9]\d*)|\.r(?P<reask>[1-9]\d*))?"
    r"(?P<compacts>\.compact)?(?P<again>\.again)?(?:\.f(?P<fallback>[1-9]\d*))?"
)
_OF_A_CALL = r"(?:@\d+\.\d+)?"
_OF_AN_ID = re.compile(rf"(?:\d+\.)?(?P<step>.+?){_SUFFIX}(?:\.again|\.q\d+|\.b\d+|\.unwanted)*")
_RESENT = re.compile(r"(?:\.again|\.q\d+)+\Z")


@dataclass(frozen=True, slots=True)
class TurnSuffix:
    """What tells the model turns of one step apart."""

    turn: int = 0
    """The turn of an agent that uses tools, from 1; of a summary, the turn after it."""
    reask: int = 0
    """The re-ask of an agent without tools, from 1."""
    compacts: bool = False
    """Sums the conversation up."""
    again: bool = False
    """The turn is repeated after such a summary."""
    fallback: int = 0
    """The fallback model, from 1."""

    def __str__(self) -> str:
        """Return the suffix."""
        number = f".t{self.turn}" if self.turn else f".r{self.reask}" if self.reask else ""
        compacts, again = ".compact" * self.compacts, ".again" * self.again
        return number + compacts + again + (f".f{self.fallback}" if self.fallback else "")

    @classmethod
    def parse(cls, text: str) -> "TurnSuffix":
        """Return a suffix from its text; the empty one if the text is none."""
        match = re.fullmatch(_SUFFIX, text)
        return cls() if match is None else _suffix(match)


class NamedTurn(NamedTuple):
    """What a summary names."""

    step: str
    """The path of the step."""
    suffix: TurnSuffix = TurnSuffix()


def named_turn(summary: str, task: str) -> NamedTurn:
    """Return what the summary of a model turn names.

    Args:
        summary: The path of a step, and the suffix of a turn.
        task: The name of the step.
    """
    above, slash, last = summary.rpartition("/")
    match = re.fullmatch(f"(?P<name>{re.escape(task)}{_OF_A_CALL}){_SUFFIX}", last)
    if match is None:
        return NamedTurn(summary)
    return NamedTurn(f"{above}{slash}{match['name']}", _suffix(match))


def _suffix(match: re.Match[str]) -> TurnSuffix:
    return TurnSuffix(
        turn=int(match["turn"] or 0),
        reask=int(match["reask"] or 0),
        compacts=match["compacts"] is not None,
        again=match["again"] is not None,
        fallback=int(match["fallback"] or 0),
    )


def function_summary(step: str, function: str) -> str:
    """Return the summary of a function call."""
    return f"{step}: {function}"


def function_step(summary: str, function: str) -> str:
    """Return the path of the step from the summary of a function call."""
    return summary.removesuffix(function).removesuffix(": ")


def id_of_look(id: str, number: int) -> str:
    """Return the id of a look at the batch that a call has submitted."""
    return f"{id}.b{number}"


def id_of_unwanted(id: str) -> str:
    """Return the id of the call that gives up what another call has begun."""
    return f"{id}.unwanted"


def id_after_detour(id: str, number: int) -> str:
    """Return the id of a call that is sent to another queue."""
    return f"{id}.q{number}"


def id_after_loss(id: str) -> str:
    """Return the id of a call that is sent again, as its worker gave it back."""
    return f"{id}.again"


def first_id(id: str) -> str:
    """Return what the ids of a call have in common, however often it was sent.

    Ids begin with the number of the call, so no two calls of a run have it in common.
    """
    return _RESENT.sub("", id)


def step_of_id(id: str, steps: Mapping[str, str]) -> str:
    """Return the step of a call as it is addressed everywhere: `research/each/0/find`.

    Args:
        id: Of the call.
        steps: `{id: step}`, as the run reports them; the id alone does not name the steps around.
    """
    if id in steps:
        return steps[id]
    match = _OF_AN_ID.fullmatch(id)
    team, dot, name = (id if match is None else match["step"]).partition(".")
    return f"{team}/{name}" if dot else team
