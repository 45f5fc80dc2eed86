"""The tags by which a written step, or a branch, finds its model."""

from collections.abc import Mapping
from typing import cast

from coterie.dsl.model.step_kinds.step_base import STEP_KINDS


def step_tag(value: object) -> str | None:
    """Return the union tag of a step: unlike any field, so that error paths stay readable."""
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        usual = "agent" if "agent_type" in fields or "agent_class" in fields else None
        kind = fields.get("kind", usual)
    else:
        kind = getattr(value, "kind", None)
    return f"step:{kind}" if kind in STEP_KINDS else None


UNKNOWN_STEP = "unknown_step_kind"
"""The type of pydantic's error for it."""


def branch_tag(value: object) -> str:
    """Return the union tag of a parallel step's branch: a list of steps, or a mapping."""
    is_list = isinstance(value, list | tuple)
    return "branch:steps" if is_list else "branch:ranked"
