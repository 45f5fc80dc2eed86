"""Describe a step: its limits, and the headings of its step lists; `dsl/kinds` says the rest.

Pictures and texts of plans share these descriptions; they only word conditions differently.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import assert_never

from coterie.dsl.model.conditions import Condition
from coterie.dsl.model.step_kinds.step_list import (
    AtTheEnd,
    Choosing,
    Concurrent,
    EachRound,
    EachTask,
    Grouped,
    ListRole,
    OnError,
    OnFailedTask,
    Otherwise,
    StepList,
    Tried,
    WhenHolds,
)
from coterie.dsl.model.steps import Step
from coterie.dsl.model.template_bound import TemplateBound, TemplateDuration
from coterie.dsl.templates.template import is_template
from coterie.text.bound_words import counted_bound, duration_bound, number_bound
from coterie.text.durations import duration
from coterie.text.problems import counted


@dataclass(frozen=True, slots=True)
class StepWording:
    """How to format the parts of a step."""

    condition: Callable[[Condition], str]
    value: Callable[[object], str]
    agent_class: Callable[[str], str]

    def text(self, written: str) -> str:
        """Format a text that may be a template."""
        return self.value(written) if is_template(written) else written

    def counted(self, count: int, word: str, plural: str | None = None) -> str:
        """Format a count with its noun."""
        return counted(count, word, plural)

    def counted_bound(
        self, bound: int | TemplateBound | str, word: str, plural: str | None = None
    ) -> str:
        """Format a bound with its noun."""
        return counted_bound(bound, word, self.value, plural)

    def number_bound(self, bound: int | TemplateBound | str) -> str:
        """Format a bound without a noun."""
        return number_bound(bound, self.value)

    def duration(self, seconds: float) -> str:
        """Format seconds."""
        return duration(seconds)

    def duration_bound(self, bound: float | TemplateDuration | str) -> str:
        """Format the bound of a duration."""
        return duration_bound(bound, self.value)


def heading(role: ListRole, words: StepWording) -> str:
    """Return the heading of a step list; empty if it needs none."""
    match role:
        case EachRound() | Tried() | Grouped():
            return ""
        case Choosing():
            return "to choose the next task"
        case EachTask():
            return "for each task"
        case OnFailedTask():
            return "for a failed task"
        case WhenHolds(condition):
            return f"if {words.condition(condition)}"
        case Otherwise():
            return "otherwise"
        case Concurrent(name, priority, score):
            priority_text = f", priority {priority}" if priority else ""
            return f"branch {name}{priority_text}{_score_words(score, words)}"
        case OnError(errors):
            return f"after {'any failure' if '*' in errors else ', '.join(errors)}"
        case AtTheEnd():
            return "finally"
        case _:
            assert_never(role)


def is_left_out(part: StepList) -> bool:
    """Return whether to omit a step list: some kinds of lists may be empty."""
    return not part.steps and isinstance(part.role, Otherwise | AtTheEnd | Choosing | OnFailedTask)


def bounds(step: Step, words: StepWording) -> Iterator[str]:
    """Yield the limits of a step, when and whether it may fail, and what it updates."""
    if step.timeout is not None:
        yield f"within {words.duration_bound(step.timeout)}"
    if step.retry is not None and step.retry.retries:
        yield words.counted_bound(step.retry.retries, "more attempt")
    if step.fail_when is not None:
        yield f"fails when {words.condition(step.fail_when)}"
    if step.on_failure == "continue":
        yield "may fail"
    if step.context_updates:
        yield f"updates context.{', context.'.join(step.context_updates)}"


def _score_words(score: object, words: StepWording) -> str:
    return "" if score is None else f", scored {words.value(score)}"
