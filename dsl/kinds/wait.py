"""A wait for a time, a signal or a message."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from typing_extensions import override

from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.checks.steps.wait_checks import check_wait
from coterie.dsl.kinds.key_rules import RESERVED_SIGNALS
from coterie.dsl.kinds.kind import Kind, StepWords
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.step_kinds.step_base import StepBase
from coterie.dsl.model.step_kinds.wait_step import (
    AnyWait,
    DurationWait,
    MessageWait,
    SignalWait,
    TimeWait,
)
from coterie.dsl.values import Json, NodePath


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
        check_wait(scope, step, path)

    @override
    def details(self, step: AnyWait, plan: Plan, words: StepWords) -> Iterable[str]:
        match step:
            case DurationWait(duration=length):
                shown = words.text(length) if isinstance(length, str) else words.duration(length)
                yield f"for {shown}"
            case TimeWait(time=time):
                yield f"until {words.text(time)}"
            case SignalWait() | MessageWait():
                signal = step.awaited_signal
                yield "for a message" if signal is None else f"for the signal {signal}"
                if step.deadline is not None:
                    yield f"within {words.duration_bound(step.deadline)}"
