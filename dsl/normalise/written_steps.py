"""A written step: its older words in their present form, and the kind that its keys imply."""

from collections.abc import Callable, Mapping

from pydantic import JsonValue

from coterie.dsl.model.step_kinds.agent_types import (
    ORCHESTRATING,
    SINGLE_SHOT,
    default_agent_type,
    offered_tools,
)
from coterie.dsl.model.steps import STEP_KINDS, STEP_MODELS
from coterie.dsl.normalise.form_context import Here
from coterie.dsl.problem_details import ProblemText, Remove, Replace, rule
from coterie.dsl.source.nodes import Node, Place, text_node
from coterie.dsl.values import Json

Entries = dict[str, Node]

_FIRST = ("skill", "agent", "tool", "try", "parallel", "task_graph", "loop", "block")
"""The order of kinds whose keys may meet in one step."""
KIND_BY_KEY = {
    key: kind
    for kind in dict.fromkeys((*_FIRST, *STEP_KINDS))
    for model in STEP_MODELS[kind]
    for key in model.implied_by
}
"""The keys that imply the kind of a step without `type`."""

AGENT_TYPES = {
    "generic_llm": SINGLE_SHOT,
    "generic_fallback": SINGLE_SHOT,
    "generic_orchestrator": ORCHESTRATING,
    "generic_skill": ORCHESTRATING,
    "GenericLLMAgent": SINGLE_SHOT,
    "GenericSingleShotAgent": SINGLE_SHOT,
    "GenericFallbackAgent": SINGLE_SHOT,
    "GenericOrchestratorAgent": ORCHESTRATING,
    "GenericOrchestratingAgent": ORCHESTRATING,
    "GenericSkillAgent": ORCHESTRATING,
}
"""Agent types by their older names and by their class names."""

STEP_TYPES = {
    "skill_call": "skill",
    "agent_call": "agent",
    "llm_call": "agent",
    "team_call": "team",
    "set_value": "set",
    "conditional": "branch",
}
"""Kinds of steps by their older names."""

_FALLBACKS = ("generic_fallback", "GenericFallbackAgent")
_FUNCTION_AGENTS = ("generic_skill", "GenericSkillAgent")


def present_step(node: Node, here: Here) -> Node:
    """Return a step in its present form, with its kind and its agent type."""
    return _with_agent_type(_with_kind(_in_present_words(node, here)), here)


def _in_present_words(node: Node, here: Here) -> Node:
    entries = dict(node.entries())
    _refuse_compiled_keys(entries, here)
    kind = entries.get("type")
    old = str(kind.value) if kind is not None else ""
    if kind is not None and old in STEP_TYPES:
        entries["type"] = kind.with_value(STEP_TYPES[old])
    _rename_key(entries, "output_field", "output_variable")
    if any(key in entries for key in _TAKING_INPUT) or old in _CALLS:
        _rename_key(entries, "params", "input")
    if old in _OLD_STEPS:
        _OLD_STEPS[old](entries, node, here)
    _rename_agent_type(entries)
    return node.with_value(entries) if entries != node.entries() else node


@rule("E108")
def compiled_kind() -> ProblemText:
    return ProblemText(
        "'kind' is not a form of this language", fix="write `type:`", edit=Replace("kind", "type")
    )


@rule("E101")
def compiled_terms() -> ProblemText:
    return ProblemText(
        "unknown key 'terms'",
        fix="remove it: the tool function's contract says it",
        edit=Remove("terms"),
    )


def _refuse_compiled_keys(entries: Entries, here: Here) -> None:
    """Refuse keys of the compiled form, which documents must not contain."""
    for key, problem in (("kind", compiled_kind()), ("terms", compiled_terms())):
        if key in entries:
            entry = entries.pop(key)
            here.problems.report(problem, Place(entry.at, here.path_of(entry)))
            if key == "kind":
                entries.setdefault("type", entry)


_CALLS = ("skill_call", "agent_call", "llm_call", "team_call", "skill", "agent", "team")
_TAKING_INPUT = ("skill", "agent_type", "agent_class", "persona_key", "team")


def _rename_key(entries: Entries, old: str, new: str) -> None:
    if old in entries and new not in entries:
        entries[new] = entries.pop(old)


def _agent_call(entries: Entries, node: Node, here: Here) -> None:
    """Convert an agent given by its persona, or by its name in `llm_config.agents`."""
    for key in ("node", "agent", "persona", "target"):
        _rename_key(entries, key, "persona_key")
    _rename_key(entries, "input_params", "input")
    named = entries.get("persona_key")
    if named is not None and isinstance(named.value, str):
        persona_key = here.value_at("llm_config", "agents", named.value, "persona_key")
        if isinstance(persona_key, str) and not here.value_at(
            "llm_config", "personas", named.value
        ):
            entries["persona_key"] = named = named.with_value(persona_key)
    steps = here.value_at(
        "llm_config", "personas", str(named.value if named else ""), "execution_plan"
    )
    kind = default_agent_type(has_plan=_active(steps), offers_tools=False)
    entries.setdefault("agent_type", text_node(node, kind))


def _active(written_plan: JsonValue) -> bool:
    if isinstance(written_plan, dict):
        return bool(written_plan.get("steps")) and written_plan.get("enabled") is not False
    return bool(written_plan)


_OF_THE_MODEL = ("provider", "model", "temperature", "max_tokens")


def _model_call(entries: Entries, node: Node, here: Here) -> None:
    """Convert a question to the persona whose plan this is, or to the one that it names.

    `prompt` is the question itself, unless the persona has a prompt of that name.
    """
    for key in ("agent", "persona"):
        _rename_key(entries, key, "persona_key")
    entries.setdefault("agent_type", text_node(node, SINGLE_SHOT))
    if "persona_key" not in entries and here.persona is not None:
        entries["persona_key"] = text_node(node, here.persona)
    named = entries.get("persona_key")
    config: Entries = {"execution_plan": Node(None, node.mark)}
    prompts: Entries = {}
    prompt, system = entries.get("prompt"), entries.pop("system_message", None)
    key = str(named.value) if named is not None else ""
    known_prompts = here.value_at("llm_config", "personas", key, "prompts")
    if prompt is not None and not (
        isinstance(known_prompts, dict) and str(prompt.value) in known_prompts
    ):
        prompts["user"] = prompt
        entries["prompt"] = text_node(prompt, "user")
    if system is not None:
        prompts["system"] = system
    if prompts:
        config["prompts"] = Node(dict(prompts), node.mark)
    config |= {name: entries.pop(name) for name in _OF_THE_MODEL if name in entries}
    _merge_config(entries, config, node)


def _merge_config(entries: Entries, config: Mapping[str, Node], node: Node) -> None:
    """Build the step's `config`, in which written keys override the meaning of the older form."""
    step_config = entries.get("config")
    if step_config is None:
        entries["config"] = Node(dict(config), node.mark)
    elif isinstance(step_config.value, dict):
        entries["config"] = step_config.with_value({**config, **step_config.value})


def _team_call(entries: Entries, node: Node, here: Here) -> None:
    for key in ("team_id", "target_team", "target"):
        _rename_key(entries, key, "team")


def _set_value(entries: Entries, node: Node, here: Here) -> None:
    name = entries.pop("field", None) or entries.pop("variable", None)
    if name is not None and isinstance(name.value, str) and "value" in entries:
        entries["values"] = name.with_value({name.value: entries.pop("value")})


def _conditional(entries: Entries, node: Node, here: Here) -> None:
    """Convert `{condition, then, else}`, or `{conditions: [{condition, steps}], default}`."""
    if "conditions" in entries:
        entries["branches"] = entries.pop("conditions")
    elif "condition" in entries:
        branch: Entries = {"condition": entries.pop("condition")}
        for key in ("then", "if_true", "steps"):
            if key in entries:
                branch["steps"] = entries.pop(key)
        entries["branches"] = Node([Node(branch, node.mark)], node.mark)
    for key in ("else", "if_false", "default"):
        _rename_key(entries, key, "otherwise")


_OLD_STEPS: dict[str, Callable[[Entries, Node, Here], None]] = {
    "agent_call": _agent_call,
    "llm_call": _model_call,
    "team_call": _team_call,
    "set_value": _set_value,
    "conditional": _conditional,
}


def _rename_agent_type(entries: Entries) -> None:
    agent_type = entries.get("agent_type")
    name = str(agent_type.value) if agent_type is not None else ""
    if agent_type is None or name not in AGENT_TYPES:
        return
    entries["agent_type"] = agent_type.with_value(AGENT_TYPES[name])
    if name in _FALLBACKS:  # the careful second attempt: temperature 0 by default
        _merge_config(entries, {"temperature": Node(0, agent_type.mark)}, agent_type)
    if name in _FUNCTION_AGENTS and "skill" in entries:
        function = entries.pop("skill")
        _rename_key(entries, "skill_params", "input")
        steps = Node([function_call(function, None)], function.mark)
        _merge_config(entries, {"execution_plan": steps}, function)


def function_call(function: Node, given: Node | None) -> Node:
    """Return the call of a function agent; without parameters its input is the task's, or all."""
    step = {
        "type": text_node(function, "skill"),
        "name": text_node(function, "call"),
        "skill": function,
        "input": given or text_node(function, "{{ input or context }}"),
        "output_variable": text_node(function, "result"),
    }
    return function.with_value(step)


def _with_kind(node: Node) -> Node:
    """Give a step its `kind`: the written `type`, or what its keys imply."""
    entries = node.entries()
    if "type" in entries:
        kind = entries["type"]
        rest = {key: item for key, item in entries.items() if key != "type"}
        return node.with_value({"kind": kind, **rest})
    if set(entries) == {"name"}:  # allowed, but the checker warns of it
        empty = {"kind": Node("set", node.mark), "values": Node({}, node.mark)}
        return node.with_value({**empty, **entries})
    implied_kind = next((kind for key, kind in KIND_BY_KEY.items() if key in entries), None)
    if implied_kind == "branch" and isinstance(entries["branches"].value, dict):
        implied_kind = "parallel"
    if implied_kind is None or "kind" in entries:
        return node
    return node.with_value({"kind": node.with_value(implied_kind), **entries})


_OF_ONE_FORM = ("agent_class", "agent_type", "persona_key", "config")
"""Keys that tell an agent of a persona from one of a legacy class."""


def _with_agent_type(node: Node, here: Here) -> Node:
    """Add the default `agent_type`, which depends on the keys of the persona."""
    entries = node.entries()
    if "kind" not in entries or entries["kind"].value != "agent":
        return node  # the key that its author wrote is reported: the step has no persona
    empty = {key for key in _OF_ONE_FORM if key in entries and entries[key].value is None}
    entries = {key: item for key, item in entries.items() if key not in empty}
    persona_key = entries.get("persona_key")
    if persona_key is None or entries.keys() & {"agent_type", "agent_class"}:
        return node.with_value(entries)
    config = node.find(("config",)).entries()
    listed = [persona.value for persona in node.find(("personas",)).items()] or [persona_key.value]

    def value_of(key: str) -> JsonValue:
        own = config.get(key)
        if own is not None:
            return own.plain()
        return here.value_at("llm_config", "personas", str(listed[0]), key)

    agent_type = _default_type({key: value_of(key) for key in _DECIDING})
    return node.with_value({**entries, "agent_type": persona_key.with_value(agent_type)})


_DECIDING = ("execution_plan", "tools", "subagents", "exclude_tools", "handoffs", "agent_skills")
"""The keys of a persona that decide the default `agent_type`."""


def _default_type(values: Json) -> str:
    """Return the agent type of a persona that has these values of the deciding keys."""
    tools, subagents, excluded = (
        value if isinstance(value := values[key], list) else []
        for key in ("tools", "subagents", "exclude_tools")
    )
    offers_tools = bool(
        offered_tools(tools, subagents, excluded) or values["handoffs"] or values["agent_skills"]
    )
    return default_agent_type(has_plan=bool(values["execution_plan"]), offers_tools=offers_tools)
