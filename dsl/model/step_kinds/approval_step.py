"""The step that waits for a decision."""

from typing import ClassVar, Literal

from pydantic import JsonValue
from typing_extensions import override

from coterie.dsl.model.decision_terms import ApprovalTerms, DecisionTerms
from coterie.dsl.model.step_kinds.step_base import COMMON_BOUNDS, StepBase
from coterie.dsl.model.template_bound import BoundKey
from coterie.dsl.values import MAX_DURATION, Json, closed_mapping


class ApprovalStep(StepBase, ApprovalTerms):
    """Waits for a person's decision, for any length of time."""

    implied_by: ClassVar = ("approvers",)
    filled: ClassVar = ("prompt", "show")
    bounds: ClassVar = (*COMMON_BOUNDS, BoundKey(("deadline",), "timeout", MAX_DURATION))
    fails_itself: ClassVar = True
    asks_about_failure: ClassVar = False
    shown: ClassVar = ("prompt", "show")

    kind: Literal["approval"]
    prompt: str
    """The question, as the person reads it; a template."""
    show: JsonValue = None
    """What the person needs to see to decide."""

    @property
    @override
    def retry_causes(self) -> tuple[str, ...]:
        return ("timeout", "fail_when")

    @property
    @override
    def data_form(self) -> Json:
        verdict: Json = {"enum": ["approved", "rejected"]}
        fields: Json = {"decision": verdict, "by": {}, "comment": {}, "at": {}}
        return closed_mapping(fields | ({"payload": {}} if self.editable else {}))

    @property
    @override
    def asks(self) -> DecisionTerms:
        return self
