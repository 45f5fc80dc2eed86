"""What every kind of step has: its name, its condition, its retries, its timeout."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, JsonValue

from coterie.dsl.model.capabilities import Effect, FunctionContract, Label
from coterie.dsl.model.conditions import Condition
from coterie.dsl.model.decision_terms import CallApproval, DecisionTerms
from coterie.dsl.model.memory_terms import MemorySection
from coterie.dsl.model.step_kinds.step_list import StepList
from coterie.dsl.model.template_bound import (
    MAX_BOUND,
    MAX_CONCURRENCY,
    RETRIES,
    BoundKey,
    RetriesBound,
    TimeoutBound,
)
from coterie.dsl.values import MAX_DURATION, Frozen, Json, NodePath, Seconds, Timeout

if TYPE_CHECKING:  # `steps` adds it when all kinds are known
    from coterie.dsl.model.steps import Step

COMMON_BOUNDS = (BoundKey(("timeout",), "timeout", MAX_DURATION), RETRIES)
"""Of every step."""
ITERATIONS = BoundKey(("max_iterations",), "count", MAX_BOUND)
CONCURRENCY = BoundKey(("concurrency",), "count", MAX_CONCURRENCY)
CALL_APPROVAL_BOUND = BoundKey(("requires_approval", "deadline"), "timeout", MAX_DURATION)


class SetVariable(NamedTuple):
    """A variable that a step sets."""

    name: str
    path: NodePath
    """Where it is written, from the step."""
    exists: Literal["after", "within", "provided"]
    """After the step; within it only; or within it, with a name that the kind chooses."""
    item_of: JsonValue = None
    """The list, or the template for it, whose current item the variable holds."""


class Retry(Frozen):
    """Additional attempts of a whole step after a failure.

    Providers and tool functions have their own retries below this, for transient failures. A step
    never retries what a person rejected, or what may have happened already.
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

    # What its kind is. A kind that leaves out one of those without a default is found by
    # tests/law/test_kinds.py.
    filled: ClassVar[tuple[str, ...]]
    """The fields whose templates are rendered when the step runs."""
    fails_itself: ClassVar[bool]
    """Whether it can fail by more than its nested steps, or a template with an unknown name."""
    implied_by: ClassVar[tuple[str, ...]] = ()
    """The keys that imply the kind of a step without `type`."""
    bounds: ClassVar[tuple[BoundKey, ...]] = COMMON_BOUNDS
    """The bounds that a template may give."""
    ends_list: ClassVar[bool] = False
    """Whether no step after it in its list runs."""
    asks_about_failure: ClassVar[bool] = True
    """Whether `on_failure: ask` of its team applies to it: it does not decide by itself, and no
    person decides it."""
    shown: ClassVar[tuple[str, ...]] = ()
    """The fields that a person is shown."""
    without_effect: ClassVar[tuple[str, ...]] = ()
    """The common keys that do nothing on it: it takes no time, or ends each time the same."""

    @property
    def can_fail_itself(self) -> bool:
        """Whether this step can; false only when it certainly does not."""
        return self.fails_itself

    @property
    def retry_causes(self) -> tuple[str, ...] | None:
        """The keys of which one must be there for a `retry` to do anything; None if none must."""
        return None

    @property
    def unlimited_without(self) -> str | None:
        """The key of the limit that the step has none of when it is absent."""
        return None

    @property
    def lacks_bound(self) -> str | None:
        """The key that must be there so that the step ends, and is not."""
        return None

    @property
    def lets_time_pass(self) -> bool:
        """Whether a loop polls that has it in its body."""
        return False

    @property
    def data_form(self) -> Json | None:
        """JSON Schema of its data when it succeeds, where the kind alone decides that."""
        return None

    @property
    def approval(self) -> CallApproval | None:
        """The terms of `requires_approval`; None if its call asks nobody."""
        return None

    @property
    def asks(self) -> DecisionTerms | None:
        """The terms with which it asks a person; None if it asks nobody, or by a tool."""
        return self.approval

    @property
    def awaited_signal(self) -> str | None:
        """The signal that it waits for."""
        return None

    @property
    def takes_message(self) -> bool:
        """Whether it waits for the next message of a session."""
        return False

    @property
    def has_own_rounds(self) -> bool:
        """Whether its nested steps run several times, each time with paths of their own."""
        return False

    @property
    def contains_calls(self) -> bool:
        """Whether it contains others, which can give it other data at the next attempt."""
        return any(True for _ in self.lists())

    def lists(self, path: NodePath = ()) -> Iterable[StepList]:
        """Return the lists of steps inside the step, empty ones too, in written order."""
        return ()

    def certain_lists(self, path: NodePath = ()) -> Iterable[StepList]:
        """Return the lists that run to their end whenever the step succeeds."""
        return ()

    def resolved(self) -> Self:
        """Return the step with what the compiler decides by its shape alone."""
        return self

    def with_lists(self, lists: "Iterator[tuple[Step, ...]]") -> Self:
        """Return the step with other lists of steps, one for each of `lists`."""
        return self

    def own_conditions(self) -> Iterable[tuple[Condition, NodePath]]:
        """Return the conditions that only its kind tests, each with its place from the step."""
        return ()

    def own_templates(self) -> Iterable[tuple[object, NodePath]]:
        """Return what is rendered within its fields, each value with its place from the step."""
        return ()

    def variables(self) -> Iterator[SetVariable]:
        """Yield the variables that it sets."""
        if self.output_variable is not None:
            yield SetVariable(self.output_variable, ("output_variable",), "after")

    def sets(self, name: str) -> bool:
        """Return whether the step sets a variable by a name that its author has chosen."""
        return any(
            variable.name == name and variable.exists != "provided" for variable in self.variables()
        )


class FunctionTerms(Frozen):
    """What the compiler takes over from a tool function's contract; `terms_of` derives it."""

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
    memory: MemorySection | None = None
    """Whose memory a call uses. Default: the project's."""


def terms_of(
    contract: FunctionContract, *, timeout: float | None = None, retries: int | None = None
) -> FunctionTerms:
    """Return the terms on which a run calls a tool function with this contract.

    Args:
        contract: of the tool function.
        timeout: Replaces the contract's time limit of one attempt.
        retries: Replaces its additional attempts.
    """
    return FunctionTerms(
        effect=contract.effect,
        timeout=contract.timeout if timeout is None else timeout,
        retries=contract.retries if retries is None else retries,
        labels=contract.labels,
        startup=contract.startup,
    )
