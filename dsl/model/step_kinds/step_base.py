"""What every kind of step has: its name, its condition, its retries, its timeout."""

from typing import Literal, get_args

from pydantic import Field, JsonValue

from coterie.dsl.model.capabilities import Effect, Label, SkillContract
from coterie.dsl.model.conditions import Condition
from coterie.dsl.model.template_bound import RetriesBound, TimeoutBound
from coterie.dsl.values import Frozen, Json, Seconds, Timeout

StepKind = Literal[
    "agent",
    "skill",
    "tool",
    "loop",
    "branch",
    "parallel",
    "task_graph",
    "set",
    "approval",
    "wait",
    "reply",
    "team",
    "try",
    "block",
    "return",
    "fail",
]
STEP_KINDS: tuple[str, ...] = get_args(StepKind)


class Retry(Frozen):
    """Additional attempts of a whole step after a failure.

    Providers and skills have their own retries below this, for transient failures. A step never
    retries what a person rejected, or what may have happened already.
    """

    retries: RetriesBound
    """Additional attempts: 0 means one attempt in all; a number, `{value: template, maximum}`, or a
    context path with a maximum."""
    interval: Seconds = 0.0
    """The wait before the first additional attempt."""
    backoff: float = Field(default=2.0, ge=1, le=100)
    """The growth factor of the interval."""
    errors: tuple[str, ...] = ()
    """The types of failure to retry; all when empty."""


class StepBase(Frozen):
    """The keys of every kind of step."""

    name: str
    """Unique in its team or plan; logs, routing and other steps refer to the step by it."""
    description: str | None = None
    """For people; nothing reads it."""
    when: Condition | None = None
    """Skips the step unless this holds."""
    fail_when: Condition | None = None
    """Turns a result into the failure `ResultRejected` if this holds; it reads the step's own
    `data` and `seconds`."""
    output_variable: str | None = None
    """Stores the step's data as a variable of this team visit or plan."""
    on_failure: Literal["stop", "continue", "ask"] | None = None
    """`stop`: later steps are skipped; `continue`: later steps run; `ask`: a person retries, skips
    or rejects."""
    timeout: TimeoutBound | None = None
    """For one attempt; a step with nested steps stops as a whole. A duration, `{value: template,
    maximum}`, or a context path with a maximum."""
    retry: Retry | None = None
    context_updates: Json = Field(default_factory=dict[str, JsonValue])
    """Applied when the step has succeeded: `{path of the context: a value that replaces, or an
    operation like {append: x}}`. Templates see the step's own `data`."""


class SkillTerms(Frozen):
    """What the compiler takes over from a skill's contract; `terms_of` derives it."""

    effect: Effect
    timeout: Timeout
    """Time limit of one attempt."""
    retries: int = Field(ge=0, le=100)
    """Additional attempts of the call itself."""
    labels: tuple[Label, ...] = ()
    """What its results carry, and where its input goes."""
    startup: float = Field(default=0.0, ge=0)
    """Seconds that an attempt may take in addition, to start the process of the code."""
    local_activity: bool = False
    """Whether a call is a local activity: one event, recorded with the next workflow task."""


def terms_of(
    contract: SkillContract, *, timeout: float | None = None, retries: int | None = None
) -> SkillTerms:
    """Return the terms on which a run calls a skill with this contract.

    Args:
        contract: of the skill.
        timeout: Replaces the contract's time limit of one attempt.
        retries: Replaces its additional attempts.
    """
    return SkillTerms(
        effect=contract.effect,
        timeout=contract.timeout if timeout is None else timeout,
        retries=contract.retries if retries is None else retries,
        labels=contract.labels,
        startup=contract.startup,
    )
