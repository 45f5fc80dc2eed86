"""Steps that call something other than an agent: a skill, a tool, a team."""

from typing import Literal

from pydantic import Field, JsonValue

from coterie.dsl.model.step_kinds.step_base import SkillTerms, StepBase
from coterie.dsl.model.template_bound import RetriesBound
from coterie.dsl.model.terms import Approval
from coterie.dsl.values import Json


class SkillStep(StepBase):
    """Calls a skill: an operation with a typed contract, often with side effects."""

    kind: Literal["skill"]
    skill: str
    """`Name.method`."""
    input: JsonValue = None
    requires_approval: Approval = False
    """`true` and `before`: a person allows the call; `after`: a person accepts its result; or a
    mapping with `when` and the terms of an approval."""
    terms: SkillTerms | None = None
    """Set by the compiler."""


class ToolStep(StepBase):
    """Calls a tool of the document; a template may choose it at run time."""

    kind: Literal["tool"]
    tool: str
    """A tool's name, or a template for one."""
    arguments: Json | str = Field(default_factory=dict[str, JsonValue])
    """A mapping, or one template for a mapping."""
    call_retries: RetriesBound | None = None
    """Additional attempts of one call: the fewest of this and of the tool's own count."""


class TeamStep(StepBase):
    """Runs another team, which follows its own routing to its end."""

    kind: Literal["team"]
    team: str
    input: Json | None = None
    """Merged over the team's copy of the context."""
