"""The configuration that the factory of agents reads, built from a request."""

from pydantic import JsonValue

from coterie.activities.contracts import AgentRequest
from coterie.dsl.values import Json


def task_config(request: AgentRequest) -> Json:
    """Return the task, with the one name that its request carries: a class or a persona."""
    if request.agent_class is not None:
        return {
            "name": request.task,
            "agent_class": request.agent_class,
            "agent_type": request.agent_type,
        }
    return {
        "name": request.task,
        "agent_type": request.agent_type,
        "persona_key": _persona_key(request),
    }


def _persona_key(request: AgentRequest) -> str:
    """Return the key under which the factory finds the request's only persona."""
    return request.persona_key or request.task


def system_config(request: AgentRequest) -> Json:
    """Build the configuration that the factory reads from what the request carries."""
    personas: dict[str, JsonValue] = {}
    if request.persona is not None:
        config = request.persona.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        personas[_persona_key(request)] = config
    return {"llm_config": {"personas": personas, "agents": request.legacy_config or {}}}
