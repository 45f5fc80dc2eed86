"""What already runs on Temporal: the activities, workflows and Nexus operations of a worker.

Whoever may start a run must not call whatever a namespace has, so the worker's configuration names
what its teams may reach, and by which terms; a document names these entries.
"""

from typing import Annotated, Self

from pydantic import Field, JsonValue, model_validator

from coterie.dsl.json_values import is_whole_schema, texts_within
from coterie.dsl.model.capabilities import Effect, Label
from coterie.dsl.model.sections.api_document import PLACEHOLDER
from coterie.dsl.values import Frozen, Json, Timeout, form_mismatch

OWN_ACTIVITIES = (
    "call_function",
    "check_targets",
    "compile_team",
    "fork_run",
    "notify",
    "run_agent",
)
"""The types of Coterie's own activities, which stand in the history of a run."""

TemporalName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,49}$")]
_WireName = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
_FailureType = Annotated[str, Field(min_length=1, max_length=100)]
_MAX_ARGUMENTS = 20


class TemporalSection(Frozen):
    """What the worker says of every activity, workflow and Nexus operation."""

    description: str = ""
    """What a call does; models choose by it."""
    input_schema: Json = Field(default_factory=dict[str, JsonValue])
    """The arguments of a call: `{argument: JSON Schema}`, all required, or a whole JSON Schema of
    an object. Default: the arguments that `arguments` and `id` name, each a text; else any."""
    output_schema: Json = Field(default_factory=dict[str, JsonValue])
    """JSON Schema that the result must match."""
    arguments: tuple[JsonValue, ...] | None = Field(default=None, max_length=_MAX_ARGUMENTS)
    """What is sent: values in which each text `"{argument}"` stands for that argument. Default: one
    object with all arguments of the call."""
    effect: Effect | None = None
    """What a repeated call does: `read`, `idempotent` or `once`. Default: `once`; `idempotent` of a
    signal, which the server takes once; `read` of the result of a workflow."""
    labels: tuple[Label, ...] = ("untrusted", "egress")
    """What its results carry, and where its input goes."""
    failures_without_effect: tuple[_FailureType, ...] = Field(default=(), max_length=50)
    """The types of failure, such as `CardDeclined`, after which nothing has happened. After any
    other failure of a call that is `once`, its outcome is unknown."""

    @property
    def effect_of_call(self) -> Effect:
        """What a repeated call does."""
        return self.effect or "once"

    @property
    def _templates(self) -> tuple[JsonValue, ...]:
        """Where arguments may stand."""
        return self.arguments or ()

    @property
    def named_arguments(self) -> tuple[str, ...]:
        """The arguments that have a place of their own, in its order."""
        texts = texts_within([*self._templates])
        found = (name for text, _ in texts for name in PLACEHOLDER.findall(text))
        return tuple(dict.fromkeys(found))

    @model_validator(mode="after")
    def _placeholders_stand_alone(self) -> Self:
        for text, _ in texts_within([*(self.arguments or ())]):
            found = PLACEHOLDER.search(text)
            if found is not None and found[0] != text:
                raise form_mismatch(
                    "temporal_call",
                    "`{placeholder}` is the whole value; only an `id` has one beside other text",
                    placeholder=found[0],
                )
        return self

    @property
    def input_of_call(self) -> Json:
        """The JSON Schema of the arguments."""
        written, named = self.input_schema, self.named_arguments
        if is_whole_schema(written):
            return written
        if not written and not named:
            return {"type": "object"}
        names = tuple(dict.fromkeys((*named, *written)))
        properties: Json = {name: written.get(name, {"type": "string"}) for name in names}
        return {
            "type": "object",
            "properties": properties,
            "required": [*names],
            "additionalProperties": False,
        }


class ActivitySection(TemporalSection):
    """An activity of a worker of yours."""

    type: _WireName | None = None
    """Its type. Default: its name here."""
    task_queue: _WireName
    """Where its workers listen."""
    timeout: Timeout = 60.0
    """Time limit of one attempt (start-to-close)."""
    schedule_to_start_timeout: Timeout = 300.0
    """Time in which a worker must take a call."""
    heartbeat_timeout: Timeout | None = None
    """Silence after which its worker counts as lost, and a cancelled call has stopped; only for an
    activity that sends heartbeats."""
    retries: int | None = Field(default=None, ge=0, le=100)
    """Additional attempts of a call whose effect is not `once`. Default: 2."""
    may_lack_worker: bool = False
    """Runs start also while no worker polls the task queue, such as one that scales to zero."""

    @model_validator(mode="after")
    def _check_type(self) -> "ActivitySection":
        if self.type in OWN_ACTIVITIES:
            raise form_mismatch(
                "temporal_call",
                "`type` names an activity of yours, and `{name}` is one of Coterie's own",
                name=self.type,
            )
        _check_retries(self)
        return self


class WorkflowSection(TemporalSection):
    """A workflow: one that a call starts, or a signal to one that runs, or its result."""

    type: _WireName | None = None
    """Of a workflow to start, its type. Default: its name here."""
    task_queue: _WireName | None = None
    """Where the workers of a workflow to start listen."""
    id: str = Field(default="", max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")
    """Its id, such as `order-{order}`, where `{argument}` stands for an argument. Default: the id
    of the run with that of the call."""
    wait: bool = True
    """`false`: a call ends when the workflow has started, and the workflow lives on after the run.
    Default: a call waits for the result, and a run that ends asks the workflow to cancel."""
    signal: _WireName | None = None
    """Instead of a start: the signal that the workflow `id` gets. Without it and `task_queue`, a
    call waits for the result of that workflow."""
    timeout: Timeout = 3600.0
    """Time limit of the whole workflow that a call starts (its execution timeout), or of the
    call."""
    retries: int | None = Field(default=None, ge=0, le=100)
    """Additional runs of a workflow that has failed, if its effect is not `once`. Default: 0;
    of a signal, and of a result: 2 additional attempts of the call."""
    may_lack_worker: bool = False
    """Runs start also while no worker polls the task queue, such as one that scales to zero."""

    @property
    def effect_of_call(self) -> Effect:
        """What a repeated call does."""
        if self.effect is not None or self.task_queue is not None:
            return self.effect or "once"
        return "read" if self.signal is None else "idempotent"

    @property
    def _templates(self) -> tuple[JsonValue, ...]:
        return (self.id, *(self.arguments or ()))

    @model_validator(mode="after")
    def _check_form(self) -> "WorkflowSection":
        if self.signal is not None and self.task_queue is not None:
            raise form_mismatch(
                "temporal_call", "a call starts a workflow (`task_queue`) or sends it a `signal`"
            )
        if self.task_queue is None and not self.id:
            raise form_mismatch(
                "temporal_call",
                "a workflow has the `task_queue` where it starts, or the `id` of one that runs",
            )
        if self.id.startswith("{"):
            raise form_mismatch(
                "temporal_call", "an `id` begins with a text of its own, such as `order-`"
            )
        if self.task_queue is None and (self.type is not None or not self.wait):
            raise form_mismatch("temporal_call", "`type` and `wait` are of a workflow to start")
        if self.task_queue is None and self.signal is None and self.arguments is not None:
            raise form_mismatch("temporal_call", "a call that waits for a result sends nothing")
        _check_retries(self)
        return self


class NexusSection(TemporalSection):
    """An operation of a Nexus service."""

    endpoint: _WireName
    """The endpoint, as `temporal operator nexus endpoint list` names it."""
    service: _WireName
    operation: _WireName | None = None
    """Default: its name here."""
    timeout: Timeout = 60.0
    """Time limit of the whole operation (schedule-to-close), in which Temporal repeats what its
    handler did not answer. One that answers at once must do so within about ten seconds."""

    @model_validator(mode="after")
    def _one_input(self) -> "NexusSection":
        if self.arguments is not None and len(self.arguments) != 1:
            raise form_mismatch("temporal_call", "a Nexus operation takes one of `arguments`")
        return self


def _check_retries(section: ActivitySection | WorkflowSection) -> None:
    if section.retries and section.effect_of_call == "once":
        raise form_mismatch("temporal_call", "`retries` needs `effect: read` or `idempotent`")


TemporalEntry = ActivitySection | WorkflowSection | NexusSection
"""What a worker may allow."""
