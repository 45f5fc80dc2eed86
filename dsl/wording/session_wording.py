"""Problems of sessions: of messages that nothing can answer, and of answers to no message."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from coterie.dsl.problem_details import ProblemText, Remove, rule
from coterie.dsl.wording.step_names import called


@rule("E505")
def unusable_message_schema(step: str, reason: str) -> ProblemText:
    return ProblemText(f"{called(step, 'the wait')}: the schema cannot be used: {reason}")


Aside = Literal["branch", "round", "finally", "fan_out", "plan"]
"""What a step may be in that is not the one path of a run."""

_ASIDE: dict[Aside, str] = {
    "branch": "a branch of a parallel step",
    "round": "a loop with concurrent rounds",
    "finally": "a `finally`",
    "fan_out": "a branch of a fan-out",
    "plan": "the plan of an agent",
}


@rule("E507")
def conversation_of_several(step: str, aside: Aside) -> ProblemText:
    return ProblemText(
        f"{called(step)} is in {_ASIDE[aside]}, and a session has one conversation at a time",
        fix="move the wait for a message and its reply to tasks that run one after the other",
    )


@rule("E507")
def reply_without_session(step: str) -> ProblemText:
    return ProblemText(
        f"{called(step)} replies, and no step waits for a message",
        fix="add `{name: next, type: wait, message: true}` before it",
    )


@rule("E507")
def session_without_reply(step: str) -> ProblemText:
    return ProblemText(
        f"{called(step)} waits for messages, and no step replies: every message would fail",
        fix='add `{name: answer, type: reply, value: "{{ ... }}"}` after it',
    )


@rule("E507")
def messages_without_session() -> ProblemText:
    return ProblemText(
        "`max_messages` bounds a session, and no step waits for a message",
        fix="remove it, or add `{name: next, type: wait, message: true}`",
        edit=Remove("max_messages"),
    )


@rule("E102")
def chat_without_reply() -> ProblemText:
    return ProblemText(
        "the section `chat` has no reply: neither `persona_key` nor `reply`",
        fix='add `persona_key:` with the persona that answers, or `reply: "{{ ... }}"`',
    )


@rule("E107")
def window_without_persona(key: str) -> ProblemText:
    return ProblemText(
        f"`{key}` limits what the persona of the section `chat` remembers, and it names none",
        fix=f"add `persona_key:`, or move `{key}:` to the task whose agent answers",
    )


class Hop(NamedTuple):
    """One team on a path of a session, and how the path leaves it."""

    team: str
    rule: int | None = None
    """The number of the rule that leads on, from 1; None for the default and the end."""
    skipped: tuple[str, ...] = ()
    """The steps that would reply, and do not run on this path."""
    empty: tuple[str, ...] = ()
    """The loops that would reply, and have no round on this path."""
    again: str = ""
    """The loop whose next round takes the next message."""


END = Hop("")
"""Stands for the end of the run, at the end of a path."""


@rule("W522")
def unanswered_message(wait: str, path: Sequence[Hop]) -> ProblemText:
    shown = " -> ".join(map(_hop, path))
    then = "ends the run" if path[-1] == END else "comes to the next message"
    return ProblemText(
        f"a message that {wait!r} takes may get no reply: the path {shown} {then}",
        fix="reply on this path, also when a step is skipped",
    )


def _hop(hop: Hop) -> str:
    if hop == END:
        return "the end"
    left = [f"rule {hop.rule}"] if hop.rule is not None else []
    left += [f"without {name!r}" for name in hop.skipped]
    left += [f"no round of {name!r}" for name in hop.empty]
    left += [f"next round of {hop.again!r}"] if hop.again else []
    return f"{hop.team} ({', '.join(left)})" if left else hop.team


@rule("W523")
def reply_to_nobody(step: str) -> ProblemText:
    return ProblemText(
        f"{called(step)} replies, and no message is open there on any path: it fails with "
        "`NoMessage`",
        fix="move it after a step with `type: wait, message: true`, or remove it",
    )
