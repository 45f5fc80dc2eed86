"""The step that calls a tool."""

from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from coterie.dsl.model.step_kinds.step_base import COMMON_BOUNDS, StepBase
from coterie.dsl.model.template_bound import MAX_RETRIES, BoundKey, RetriesBound
from coterie.dsl.values import Json


class ToolStep(StepBase):
    """Calls a tool of the document; a template may choose it at run time."""

    implied_by: ClassVar = ("tool", "calls")
    filled: ClassVar = ("tool", "arguments")
    bounds: ClassVar = (*COMMON_BOUNDS, BoundKey(("call_retries",), "retries", MAX_RETRIES))
    fails_itself: ClassVar = True

    kind: Literal["tool"]
    tool: str
    """A tool's name, or a template for one."""
    arguments: Json | str = Field(default_factory=dict[str, JsonValue])
    """A mapping, or one template for a mapping."""
    call_retries: RetriesBound | None = None
    """Additional attempts of one call: the fewest of this and of the tool's own count."""
