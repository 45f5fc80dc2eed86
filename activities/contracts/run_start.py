"""What a run begins with: the plan of a team, or a point of another run."""

from pydantic import Field

from coterie.dsl.model.capabilities import Effect, Label
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.temporal_calls import TemporalTarget
from coterie.dsl.values import Frozen, Json


class OwnQueue(Frozen):
    """The task queue for a provider with a rate limit, as configured on a worker."""

    name: str
    fair_by: str = "run"
    """Who takes turns there: `run` for each run, or a dotted path into the context."""


class CompileRequest(Frozen):
    """A team to compile: deployed, or a document of the worker by its name; or inline YAML.

    With neither, the worker only returns its visibility settings.
    """

    team: str | None = None
    document: str | None = None


class VisibilitySettings(Frozen):
    """Visibility settings for a whole run, from the worker's configuration."""

    search_attributes: bool = False
    """Upsert search attributes; they are registered."""
    event_groups: bool = False


class CompileResult(Frozen):
    """The plan, or the problems that prevented it."""

    plan: Plan | None = None
    refused: str | None = None
    queues: dict[str, OwnQueue] = Field(default_factory=dict[str, OwnQueue])
    """Queues of the providers with a rate limit."""
    visibility: VisibilitySettings | None = None
    """None: only what is free of charge."""
    decisions_root: str | None = None
    """The public key that certifies who may sign decisions; None: they need no signature."""
    version: str | None = None
    """The deployed version whose plan it is, such as `review@3`."""


class ForkRequest(Frozen):
    """The point of another run to continue from."""

    run: str
    run_id: str | None = None
    """One part of it, or an earlier run with the same id. Default: the latest."""
    at: str | None = None
    """The start of a visit, such as `review#2`. Default: where the run failed."""
    message: int | None = None
    """Instead of a visit: the number of a session's message."""


class ForkResult(Frozen):
    """The plan and the state at that point, or the reason why there is none."""

    plan: Plan | None = None
    carried: Json | None = None
    at: str = ""
    refused: str | None = None
    decisions_root: str | None = None
    """As in `CompileResult`."""


class TargetUse(Frozen):
    """How a plan uses an activity, a workflow or a Nexus operation."""

    name: str
    """In the worker's configuration."""
    target: TemporalTarget
    effect: Effect
    labels: tuple[Label, ...] = ()


class TargetsRequest(Frozen):
    """What the calls of a plan may reach on Temporal."""

    uses: tuple[TargetUse, ...]


class TargetsResult(Frozen):
    """Whether the worker allows it, and whether it is there."""

    refused: str | None = None
