"""The kind and the agent type of a step that its keys imply."""

from pydantic import JsonValue

from dsl.model.step_kinds.agent_types import default_agent_type, offered_tools
from dsl.normalise.dialects import Here
from dsl.source.nodes import Node
from dsl.values import Json

KIND_BY_KEY = {
    "skill": "skill",
    "agent_type": "agent",
    "agent_class": "agent",
    "persona_key": "agent",
    "tool": "tool",
    "calls": "tool",
    "catch": "try",
    "finally": "try",
    "join": "parallel",
    "task_variable": "task_graph",
    "on_failed_task": "task_graph",
    "iterate_on": "loop",
    "while": "loop",
    "until": "loop",
    "body": "loop",
    "steps": "block",
    "branches": "branch",
    "values": "set",
    "approvers": "approval",
    "duration": "wait",
    "signal": "wait",
    "team": "team",
}
"""The keys that imply the kind of a step without `type`."""


def with_kind(node: Node) -> Node:
    """Give a step its `kind`: the written `type`, or what its keys imply."""
    entries = node.entries()
    if "type" in entries:
        kind = entries["type"]
        rest = {key: item for key, item in entries.items() if key != "type"}
        return node.with_value({"kind": kind, **rest})
    if set(entries) == {"name"}:  # allowed, but the checker warns of it
        empty = {"kind": Node("set", node.mark), "values": Node({}, node.mark)}
        return node.with_value({**empty, **entries})
    known = next((kind for key, kind in KIND_BY_KEY.items() if key in entries), None)
    if known == "branch" and isinstance(entries["branches"].value, dict):
        known = "parallel"
    if known is None or "kind" in entries:
        return node
    return node.with_value({"kind": node.with_value(known), **entries})


def with_agent_type(node: Node, here: Here) -> Node:
    """Add the default `agent_type`, which depends on the keys of the persona."""
    entries = node.entries()
    written = entries.get("persona_key")
    given = {key for key, item in entries.items() if item.value is not None}
    if written is None or given & {"agent_type", "agent_class"}:
        return node
    config = node.find(("config",)).entries()
    listed = [one.value for one in node.find(("personas",)).items()] or [written.value]

    def said(key: str) -> JsonValue:
        own = config.get(key)
        if own is not None:
            return own.plain()
        return here.value_at("llm_config", "personas", str(listed[0]), key)

    agent_type = _agent_type({key: said(key) for key in _DECIDING})
    return node.with_value({**entries, "agent_type": written.with_value(agent_type)})


_DECIDING = ("execution_plan", "tools", "subagents", "exclude_tools", "handoffs")
"""The keys of a persona that decide the default `agent_type`."""


def _agent_type(said: Json) -> str:
    """Return the agent type of a persona that has these values of the deciding keys."""
    tools, subagents, excluded = (
        one if isinstance(one := said[key], list) else []
        for key in ("tools", "subagents", "exclude_tools")
    )
    offers_tools = bool(offered_tools(tools, subagents, excluded) or said["handoffs"])
    return default_agent_type(has_plan=bool(said["execution_plan"]), offers_tools=offers_tools)
