"""A wait for a time, a signal or a message."""

from collections.abc import Iterable, Sequence
from typing import ClassVar, assert_never

from typing_extensions import override

from coterie.dsl.checks.format_checks import warn_of_formats
from coterie.dsl.checks.steps.signal_checks import RESERVED_SIGNALS, check_signal
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.evaluate.waits import RefusedWait, length_of_wait, moment_of_wait
from coterie.dsl.json_schema.schema_problems import schema_problem
from coterie.dsl.kinds.kind import Kind, StepWords
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.step_kinds.step_base import StepBase
from coterie.dsl.model.step_kinds.wait_step import (
    WAIT_KEYS,
    AnyWait,
    DurationWait,
    MessageWait,
    SignalWait,
    TimeWait,
)
from coterie.dsl.problem_details import Details, ProblemText, Remove, rule
from coterie.dsl.problem_texts import called
from coterie.dsl.source.nodes import Node
from coterie.dsl.templates.jsonable import brief
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import UNREADABLE, Json, NodePath


class WaitKind(Kind[AnyWait]):
    """A wait for a time, a signal or a message."""

    sign = "M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM8 5v3l2.2 1.4"
    beginning = "wait "
    limits: ClassVar = {
        "deadline": "for the signal or message to come",
    }
    written_keys: ClassVar[Json] = {
        "duration": {
            "description": "How long: seconds, `90s`, `2d`, or a template that gives one of these.",
            "anyOf": [
                {"type": "number"},
                {"$ref": "#/$defs/Duration"},
                {"type": "string", "pattern": r"\{\{"},
            ],
        }
    }

    @override
    def rules_of(self, model: type[StepBase]) -> Sequence[Json]:
        return [RESERVED_SIGNALS] if "signal" in model.model_fields else []

    @override
    def check(self, scope: StepScope, step: AnyWait, path: NodePath) -> None:
        match step:
            case DurationWait() | TimeWait():
                _literal(scope, step, path)
            case SignalWait(signal=signal):
                check_signal(scope.tree, scope.problems, signal, (*path, "signal"))
            case MessageWait():
                _message_schema(scope, step, (*path, "schema"))
            case _:
                assert_never(step)

    @override
    def details(self, step: AnyWait, plan: Plan, words: StepWords) -> Iterable[str]:
        match step:
            case DurationWait(duration=length):
                text = words.text(length) if isinstance(length, str) else words.duration(length)
                yield f"for {text}"
            case TimeWait(time=time):
                yield f"until {words.text(time)}"
            case SignalWait() | MessageWait():
                signal = step.awaited_signal
                yield "for a message" if signal is None else f"for the signal {signal}"
                if step.deadline is not None:
                    yield f"within {words.duration_bound(step.deadline)}"


@rule("E107")
def waits_for_several(step: str, keys: Sequence[str]) -> ProblemText:
    return ProblemText(f"{called(step, 'the wait')} waits for {' and '.join(keys)}", _FORMS)


@rule("E102")
def waits_for_nothing(step: str) -> ProblemText:
    return ProblemText(f"{called(step, 'the wait')} waits for nothing", _FORMS)


_FORMS = "one of duration, time, signal, message"


@rule("E107")
def key_of_other_wait(step: str, key: str, waits_for: str) -> ProblemText:
    """Word that `deadline` or `schema` is written in a wait which has none."""
    others = ("a signal or a message", "`signal:` or `message: true`")
    other, keys = others if key == "deadline" else ("a message", "`message: true`")
    return ProblemText(
        f"`{key}` belongs to a wait for {other}, and {called(step)} waits for {waits_for}",
        fix=f"remove `{key}`, or wait with {keys}",
        edit=Remove(key),
    )


def wrong_wait_key(step: Node, key: str) -> Details | None:
    """Return the problem of a key of another class of waits, or of a wait without any such key.

    Returns:
        None if another problem explains it.
    """
    value = step.find(("name",)).value
    name = value if isinstance(value, str) else UNREADABLE
    keys = [wait_key for wait_key in WAIT_KEYS if wait_key in step.entries()]
    if key in WAIT_KEYS:
        return waits_for_several(name, keys) if keys else waits_for_nothing(name)
    return key_of_other_wait(name, key, keys[0]) if len(keys) == 1 else None


@rule("E103")
def refused_wait(key: str, value: str, wanted: str) -> ProblemText:
    return ProblemText(f"'{key}' is {value}", wanted)


@rule("W530")
def time_has_passed(step: str, time: str) -> ProblemText:
    return ProblemText(
        f"{called(step, 'the wait')} ends at once: {time} has passed",
        fix="write a later time, or a template for it",
    )


def _literal(scope: StepScope, step: DurationWait | TimeWait, path: NodePath) -> None:
    """Note a written duration or time that a run would refuse, and a time that has passed."""
    key = "duration" if isinstance(step, DurationWait) else "time"
    value = step.duration if isinstance(step, DurationWait) else step.time
    if isinstance(value, str) and is_template(value):
        return
    now = scope.capabilities.now
    end = length_of_wait(value) if key == "duration" else moment_of_wait(value, now)
    if isinstance(end, RefusedWait):
        scope.report_value(refused_wait(key, brief(value), end.wanted), (*path, key))
    elif key == "time" and now is not None and end <= now:
        scope.report_value(time_has_passed(step.name, str(value)), (*path, key))


@rule("E505")
def unusable_message_schema(step: str, reason: str) -> ProblemText:
    return ProblemText(f"{called(step, 'the wait')}: the schema cannot be used: {reason}")


def _message_schema(scope: StepScope, step: MessageWait, path: NodePath) -> None:
    if step.schema_ is None:
        return
    wrong = schema_problem(step.schema_)
    if wrong is not None:
        scope.report(unusable_message_schema(step.name, wrong), path)
        return
    warn_of_formats(step.schema_, scope.problems, scope.tree.find(path).at, path)
