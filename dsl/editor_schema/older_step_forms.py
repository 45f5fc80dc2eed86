"""Older kinds of steps in the schema for editors."""

from typing import cast

from coterie.dsl.editor_schema.schema_parts import properties_of, ref
from coterie.dsl.normalise.written_steps import AGENT_TYPES
from coterie.dsl.values import Json


def older_steps(defs: Json) -> Json:
    """Return the older kinds, each as its present kind with its own keys."""
    text: Json = {"type": "string"}
    any_steps: Json = {"type": "array", "items": ref("Step")}
    steps: Json = {**any_steps, "minItems": 1}
    branches: Json = {"type": "array", "items": ref("Branch")}
    agents = ("node", "agent", "persona", "target")
    return {
        "OlderSkillCall": _older(defs, "SkillStep", "skill_call", {}),
        "OlderAgentCall": _older(
            defs, "AgentStep", "agent_call", {**dict.fromkeys(agents, text), "input_params": {}}
        ),
        "OlderModelCall": _older(
            defs,
            "AgentStep",
            "llm_call",
            {
                **dict.fromkeys(("agent", "persona", "system_message"), text),
                "prompt": text,
                **{
                    key: properties_of(defs["PersonaDocument"])[key]
                    for key in ("provider", "model", "temperature", "max_tokens")
                },
            },
        ),
        "OlderTeamCall": _older(
            defs, "TeamStep", "team_call", dict.fromkeys(("team_id", "target_team", "target"), text)
        ),
        "OlderSetValue": _older(
            defs, "SetStep", "set_value", {"field": text, "variable": text, "value": {}}
        ),
        "OlderConditional": _older(
            defs,
            "BranchStep",
            "conditional",
            {
                "then": steps,
                "if_true": steps,
                "steps": steps,
                "else": any_steps,
                "if_false": any_steps,
                "default": any_steps,
                "condition": ref("Condition"),
                "conditions": branches,
            },
        ),
        "OlderSkillAgent": _older_skill_agent(defs),
    }


def _older(defs: Json, base: str, kind: str, more: Json) -> Json:
    schema = cast("Json", defs[base])
    properties: Json = {
        **properties_of(schema),
        **more,
        "type": {"const": kind, "deprecated": True},
    }
    properties.setdefault("params", {})
    return {
        **{key: value for key, value in schema.items() if key not in ("anyOf", "allOf")},
        "deprecated": True,
        "properties": properties,
        "required": ["name", "type"],
    }


def _older_skill_agent(defs: Json) -> Json:
    """Return a task that is an agent made of one skill."""
    older = _older(defs, "AgentStep", "agent", {"skill": {"type": "string"}, "skill_params": {}})
    names: Json = {"enum": [name for name in AGENT_TYPES if "skill" in name.lower()]}
    properties: Json = {**properties_of(older), "agent_type": names}
    return {**older, "required": ["name", "agent_type", "skill"], "properties": properties}
