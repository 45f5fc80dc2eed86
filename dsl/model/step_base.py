"""What every kind of step has: its name, its condition, its retries, its timeout."""

from typing import Literal, get_args

from pydantic import Field

from dsl.model.capabilities import Effect
from dsl.model.conditions import Condition
from dsl.values import Frozen, Seconds, Timeout

StepKind = Literal[
    "agent",
    "skill",
    "tool",
    "loop",
    "branch",
    "parallel",
    "set",
    "approval",
    "wait",
    "team",
    "try",
    "return",
    "fail",
]
STEP_KINDS: tuple[str, ...] = get_args(StepKind)


class Retry(Frozen):
    """Further attempts of a whole step after it failed.

    Providers and skills have retries of their own below this, for what passes by itself. What
    a person rejected, and what may have happened already, is never tried again.
    """

    retries: int = Field(ge=0, le=100)
    """Additional attempts: 0 means one attempt in all."""
    interval: Seconds = 0.0
    """Before the first further attempt."""
    backoff: float = Field(default=2.0, ge=1, le=100)
    """The interval grows by this factor with each attempt."""
    errors: tuple[str, ...] = ()
    """The types of failure that are tried again; all when empty."""


class StepBase(Frozen):
    """What every kind of step may say."""

    name: str
    """Unique among its siblings; logs, routing and other steps know the step by it."""
    description: str | None = None
    """What it is for, for people; nothing reads it."""
    when: Condition | None = None
    """Skip the step unless this holds."""
    output_variable: str | None = None
    """Keep the step's data as a variable of this team visit or plan."""
    on_failure: Literal["stop", "continue", "ask"] | None = None
    """`continue`: later steps run although this one failed; `ask`: a person says whether it is
    tried again, skipped or left failed."""
    timeout: Timeout | None = None
    """Of one attempt; a step that holds others is stopped as a whole."""
    retry: Retry | None = None


class SkillTerms(Frozen):
    """What the compiler takes over from a skill's contract."""

    effect: Effect
    timeout: Timeout
    """For one attempt."""
    retries: int = Field(ge=0, le=100)
    """Additional attempts of the call itself."""
