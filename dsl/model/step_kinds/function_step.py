"""The step that calls a tool function."""

from typing import ClassVar, Literal

from pydantic import JsonValue
from typing_extensions import override

from coterie.dsl.model.decision_terms import Approval, CallApproval, call_approval
from coterie.dsl.model.step_kinds.step_base import (
    CALL_APPROVAL_BOUND,
    COMMON_BOUNDS,
    FunctionTerms,
    StepBase,
)


class FunctionStep(StepBase):
    """Calls a tool function: an operation with a typed contract, often with side effects."""

    implied_by: ClassVar = ("skill",)
    filled: ClassVar = ("input",)
    bounds: ClassVar = (*COMMON_BOUNDS, CALL_APPROVAL_BOUND)
    fails_itself: ClassVar = True

    kind: Literal["skill"]
    skill: str
    """`Name.method`."""
    input: JsonValue = None
    requires_approval: Approval = False
    """`true` and `before`: a person allows the call; `after`: a person accepts its result; or a
    mapping with `when` and the terms of an approval."""
    terms: FunctionTerms | None = None
    """Set by the compiler."""

    @property
    @override
    def approval(self) -> CallApproval | None:
        return call_approval(self.requires_approval)
