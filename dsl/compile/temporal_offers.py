"""What already runs on Temporal: contracts from the worker's configuration."""

from collections.abc import Mapping
from typing import assert_never

from coterie.dsl.json_values import json_digest
from coterie.dsl.model.capabilities import Capabilities, TemporalContract
from coterie.dsl.model.sections.temporal_document import (
    ActivitySection,
    NexusSection,
    TemporalEntry,
    WorkflowSection,
)
from coterie.dsl.model.temporal_calls import (
    ActivityTarget,
    ChildTarget,
    NexusTarget,
    ResultTarget,
    SignalTarget,
    TemporalKind,
    TemporalTarget,
)

_RETRIES = 2
"""Additional attempts of an activity that may be repeated, where nothing says otherwise."""


def with_temporal_calls(
    capabilities: Capabilities, sections: Mapping[str, TemporalEntry]
) -> Capabilities:
    """Return the capabilities with these activities, workflows and Nexus operations."""
    calls = {name: contract_on_temporal(name, section) for name, section in sections.items()}
    known = {**capabilities.temporal_calls, **calls}
    return capabilities.model_copy(update={"temporal_calls": known})


def contract_on_temporal(name: str, section: TemporalEntry) -> TemporalContract:
    """Return the contract of an entry of the worker's configuration."""
    target = _target(name, section)
    return TemporalContract(
        name=name,
        kind=_kind(target),
        description=section.description,
        effect=section.effect_of_call,
        input_schema=section.input_of_call,
        output_schema=section.output_schema,
        timeout=section.timeout,
        retries=_retries(section),
        labels=section.labels,
        target=target,
    )


def _target(name: str, section: TemporalEntry) -> TemporalTarget:
    shared: dict[str, object] = {
        "declaration": json_digest(name, section.model_dump(mode="json")),
        "input_schema": section.input_of_call,
        "output_schema": section.output_schema,
        "arguments": section.arguments,
        "failures_without_effect": section.failures_without_effect,
    }
    match section:
        case ActivitySection():
            own: dict[str, object] = {
                "kind": "activity",
                "type": section.type or name,
                "task_queue": section.task_queue,
                "schedule_to_start": section.schedule_to_start_timeout,
                "heartbeat": section.heartbeat_timeout,
                "may_lack_worker": section.may_lack_worker,
            }
            return ActivityTarget.model_validate({**shared, **own})
        case WorkflowSection(task_queue=None, signal=None):
            return ResultTarget.model_validate({**shared, "kind": "result", "id": section.id})
        case WorkflowSection(signal=None):
            own = {
                "kind": "child",
                "type": section.type or name,
                "task_queue": section.task_queue,
                "id": section.id,
                "wait": section.wait,
                "may_lack_worker": section.may_lack_worker,
            }
            return ChildTarget.model_validate({**shared, **own})
        case WorkflowSection():
            own = {"kind": "signal", "signal": section.signal, "id": section.id}
            return SignalTarget.model_validate({**shared, **own})
        case NexusSection():
            own = {
                "kind": "nexus",
                "endpoint": section.endpoint,
                "service": section.service,
                "operation": section.operation or name,
            }
            return NexusTarget.model_validate({**shared, **own})
        case _:
            assert_never(section)


def _kind(target: TemporalTarget) -> TemporalKind:
    match target:
        case ActivityTarget():
            return "activity"
        case ChildTarget() | SignalTarget() | ResultTarget():
            return "workflow"
        case NexusTarget():
            return "nexus"
        case _:
            assert_never(target)


def _retries(section: TemporalEntry) -> int:
    """Return the additional attempts; Temporal repeats what a Nexus handler did not answer."""
    if section.effect_of_call == "once" or isinstance(section, NexusSection):
        return 0
    if section.retries is not None:
        return section.retries
    starts = isinstance(section, WorkflowSection) and section.task_queue is not None
    return 0 if starts else _RETRIES
