"""Mark classes of agents: `@subagent` can be a tool of others, `@orchestrator` has such tools.

A decorator adds attributes to its class and changes nothing else: a decorated agent runs by itself
like any other.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from coterie.agents.agent_arguments import FLAG, RETRIES, TEXT, check_values
from coterie.agents.agent_definition import check_subagent
from coterie.dsl.json_schema.argument_schemas import schema_of_properties

Kind = TypeVar("Kind", bound=type[Any])

_MARKED = ("name", "description", "stateless", "retries", "schema")
"""What `@subagent` sets, as `subagent_name` and so on."""


def subagent(
    name: str, description: str = "", stateless: bool = True, *, retries: int = 0
) -> Callable[[Kind], Kind]:
    """Mark a class whose agents can be tools of orchestrators.

    Args:
        name: The name of the tool.
        description: What an orchestrator's model reads.
        stateless: Each call is alone and may run beside others. Otherwise the agent has one
            conversation in the whole run, and works on one call at a time.
        retries: Additional attempts of a failed call before the orchestrator sees the failure.

    Raises:
        ValueError: The name or the description is empty, or an argument is invalid.
        TypeError: An argument has the wrong type, or the decorator has no arguments.
    """
    if isinstance(name, type):
        raise TypeError("@subagent needs arguments: write @subagent(name=..., description=...)")
    given = {"name": name, "description": description, "stateless": stateless, "retries": retries}
    wanted = {"name": TEXT, "description": TEXT, "stateless": FLAG, "retries": RETRIES}
    check_values("@subagent", given, wanted)
    if not name or not description:
        raise ValueError("@subagent needs a name and a description: a model chooses by them")
    check_subagent("@subagent", name, retries)

    def mark(kind: Kind) -> Kind:
        kind.subagent_name = name
        kind.subagent_description = description
        kind.subagent_stateless = stateless
        kind.subagent_retries = retries
        kind.subagent_schema = schema_of_properties({})
        return kind

    return mark


def orchestrator(kind: Kind) -> Kind:
    """Mark a class whose agents can have subagents: enables `register_agent`."""
    kind._is_orchestrator = True
    return kind


def is_subagent(kind: type[Any]) -> bool:
    """Return whether a class itself is marked with `@subagent`.

    A subclass is another agent: it inherits neither the name nor the description of a tool.
    """
    return "subagent_name" in vars(kind)


def subclass_of(kind: Kind, suffix: str) -> Kind:
    """Return a subclass of the factory's own, marked as the class is."""
    own: dict[str, object] = {"__module__": kind.__module__}
    if is_subagent(kind):
        own |= {f"subagent_{key}": getattr(kind, f"subagent_{key}") for key in _MARKED}
    return cast("Kind", type(f"{kind.__name__}{suffix}", (kind,), own))
