"""Causes that hooks give: what a hook decided, and why."""

from dataclasses import dataclass
from typing import Literal

from coterie.dsl.model.causes import ConditionFound
from coterie.dsl.model.hooks import HookDecision, HookPoint


@dataclass(frozen=True, slots=True)
class HookDecided:
    """A hook decided."""

    code: Literal["hook_decided"]
    hook: str
    point: HookPoint
    decision: HookDecision
    tool: str = ""
    """Of the call that it decided about."""
    condition: ConditionFound | None = None
    """Of its `when`."""
    message: str = ""
