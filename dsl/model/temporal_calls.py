"""What already runs on Temporal, as a call of a plan reaches it: activities, workflows, Nexus."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue
from typing_extensions import TypeAliasType

from coterie.dsl.values import Frozen, Json, Timeout

TemporalKind = Literal["activity", "workflow", "nexus"]
"""What such a tool is made of."""


class TargetBase(Frozen):
    """What every target has."""

    declaration: str
    """Digest of what the worker's configuration says of it; another digest is another target."""
    input_schema: Json = Field(default_factory=dict[str, JsonValue])
    """JSON Schema of the whole input of a call."""
    output_schema: Json = Field(default_factory=dict[str, JsonValue])
    """JSON Schema that the result must match; empty for any."""
    arguments: tuple[JsonValue, ...] | None = None
    """What is sent, where `"{name}"` stands for an argument; None: one argument, the input."""
    failures_without_effect: tuple[str, ...] = ()
    """The types of failure after which nothing has happened."""


class ActivityTarget(TargetBase):
    """An activity of another worker."""

    kind: Literal["activity"]
    type: str
    task_queue: str
    schedule_to_start: Timeout
    """Time in which a worker must take a call."""
    heartbeat: Timeout | None = None
    """Silence after which its worker counts as lost; None: it sends no heartbeats."""
    may_lack_worker: bool = False
    """Whether a run may start while no worker polls the queue."""


class ChildTarget(TargetBase):
    """A workflow of another worker, which a call starts."""

    kind: Literal["child"]
    type: str
    task_queue: str
    id: str = ""
    """Its id, where `{name}` stands for an argument; empty: that of the run and the call."""
    wait: bool = True
    """Whether the call waits for its result; else it lives on after the run."""
    may_lack_worker: bool = False
    """Whether a run may start while no worker polls the queue."""


class SignalTarget(TargetBase):
    """A signal to a workflow that somebody else has started."""

    kind: Literal["signal"]
    signal: str
    id: str
    """The id of the workflow, where `{name}` stands for an argument."""


class ResultTarget(TargetBase):
    """The result of a workflow that somebody else has started."""

    kind: Literal["result"]
    id: str
    """The id of the workflow, where `{name}` stands for an argument."""


class NexusTarget(TargetBase):
    """An operation of a Nexus service."""

    kind: Literal["nexus"]
    endpoint: str
    service: str
    operation: str


# An alias of its own: pydantic then builds the union once.
TemporalTarget = TypeAliasType(
    "TemporalTarget",
    Annotated[
        ActivityTarget | ChildTarget | SignalTarget | ResultTarget | NexusTarget,
        Field(discriminator="kind"),
    ],
)

CommandTarget = ActivityTarget | ChildTarget | NexusTarget
"""What the run itself calls, by a command of its workflow; a worker calls the others."""
