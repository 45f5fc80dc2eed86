"""What the checks and analyses have to know of every kind of step, in one table."""

from typing import NamedTuple

from coterie.dsl.model.step_kinds.step_base import StepKind


class KindFacts(NamedTuple):
    """Facts about one kind of step. None has a default, so that no kind gets one unasked."""

    fails_itself: bool
    """Whether it can fail by more than its nested steps, or a template with an unknown name."""
    ends_list: bool
    """Whether no step after it in its list runs."""
    asks_about_failure: bool
    """Whether `on_failure: ask` of its team applies to it: it does not decide by itself, and no
    person decides it."""
    shown: tuple[str, ...]
    """The fields that a person is shown."""


KIND_FACTS: dict[StepKind, KindFacts] = {
    "agent": KindFacts(True, False, True, ()),
    "skill": KindFacts(True, False, True, ()),
    "tool": KindFacts(True, False, True, ()),
    "loop": KindFacts(False, False, True, ()),
    "branch": KindFacts(False, False, True, ()),
    "parallel": KindFacts(False, False, True, ()),
    "task_graph": KindFacts(True, False, True, ()),
    "set": KindFacts(False, False, True, ()),
    "approval": KindFacts(True, False, False, ("prompt", "show")),
    "wait": KindFacts(True, False, True, ()),
    "reply": KindFacts(True, False, True, ("value",)),
    "team": KindFacts(True, False, True, ()),
    "try": KindFacts(False, False, True, ()),
    "block": KindFacts(False, False, True, ()),
    "return": KindFacts(False, True, False, ()),
    "fail": KindFacts(True, True, False, ("message",)),
}
"""`tests/law/test_kinds.py` keeps it complete."""
