"""Mark classes of agents: `@subagent` can be a tool of others, `@orchestrator` has such tools.

A decorator adds attributes to its class and changes nothing else: a decorated agent runs by itself
like any other.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from coterie.agents.agent_definition import check_subagent
from dsl.json_schema.argument_schemas import schema_of_properties

Kind = TypeVar("Kind", bound=type[Any])


def subagent(
    name: str, description: str, stateless: bool = True, *, retries: int = 0
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
    """
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
