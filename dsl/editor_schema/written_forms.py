"""The parts of the schema that no model has: what has several written forms, and older forms.

Each definition here accepts the same as `dsl.normalise.forms` and the dialects; a test checks every
document of the project, and random ones, against both.
"""

from typing import cast

from coterie.dsl.evaluate.operator_table import OPERATORS, SHORT_NAMES
from coterie.dsl.json_schema.schema_parts import mapping, properties_of, ref
from coterie.dsl.model.conditions import Operator
from coterie.dsl.model.steps import STEP_MODELS
from coterie.dsl.normalise.condition_forms import OUTCOMES
from coterie.dsl.normalise.written_steps import AGENT_TYPES, KIND_BY_KEY
from coterie.dsl.values import MAX_DURATION, Json, JsonValue

_LENGTH = r"^ *(\d[\d ]*(\.[\d ]+)?(m *s|[smhd]) *)+$"
_TEMPLATE = r"\{[{%#]"
_OPERATORS: tuple[Operator | str, ...] = (*OPERATORS, *SHORT_NAMES)


def written(defs: Json) -> Json:
    """Return the definitions with steps, conditions and durations as a person writes them."""
    steps: Json = {
        model.__name__: _step(kind, cast("Json", defs[model.__name__]))
        for kind, models in STEP_MODELS.items()
        for model in models
    }
    older = older_steps({**defs, **steps})
    kinds = [*steps, *older, "NameAlone"]
    return {
        **defs,
        **steps,
        **older,
        **_durations(),
        **_conditions(defs),
        "PersonaDocument": _persona(cast("Json", defs["PersonaDocument"])),
        "ExecutionPlan": _plan(),
        "NameAlone": mapping(
            {"name": {"type": "string"}}, "name", description="A step that does nothing yet."
        ),
        "Step": {
            "description": "A step, whose kind follows from `type` or from one of its keys.",
            "anyOf": [ref(name) for name in kinds],
        },
    }


def _durations() -> Json:
    texts: Json = {"type": "string", "pattern": _LENGTH, "examples": ["90s", "1h30m", "2d"]}
    numbers: Json = {"type": "number", "maximum": MAX_DURATION}
    described = "Seconds, or a text like `90s`, `5m`, `1h30m`, `2d`."
    return {
        "Duration": {"description": described, "anyOf": [{**numbers, "minimum": 0}, texts]},
        "Timeout": {"description": described, "anyOf": [{**numbers, "exclusiveMinimum": 0}, texts]},
    }


def _step(kind: str, schema: Json) -> Json:
    """Return a kind of step: `type`, or a key that only it has."""
    properties: Json = {
        "name": properties_of(schema)["name"],
        "type": {"const": kind, "description": schema["description"]},
        **properties_of(schema),
        "output_field": {
            "type": "string",
            "deprecated": True,
            "description": "Older form: write `output_variable`.",
        },
    }
    for key in ("kind", "terms"):
        properties.pop(key, None)
    if kind in ("agent", "skill", "team"):
        properties["params"] = {"deprecated": True, "description": "Older form: write `input`."}
    if kind == "tool":
        properties["calls"] = _calls(properties)
    kind_keys = [key for key, named in KIND_BY_KEY.items() if named == kind and key in properties]
    if kind == "parallel":
        kind_keys.append("branches")
    required = [key for key in cast("list[JsonValue]", schema["required"]) if key != "kind"]
    alternatives: Json = {"anyOf": [{"required": [key]} for key in ("type", *kind_keys)]}
    if kind == "tool":
        required.remove("tool")
        single: Json = {"required": ["tool"]}
        several: Json = {
            "required": ["calls"],
            "not": {"anyOf": [single, {"required": ["arguments"]}]},
        }
        alternatives = {"anyOf": [single, several]}
    return {**schema, "properties": properties, "required": required, **alternatives}


def _calls(properties: Json) -> Json:
    """Return the calls of a `tool` step that makes several."""
    return {
        "description": "Instead of `tool`: calls that are made concurrently, or one template for "
        "their list. The data has their results in order, with failures as items.",
        "anyOf": [
            {"type": "string", "pattern": _TEMPLATE},
            {
                "type": "array",
                "items": mapping(
                    {"tool": properties["tool"], "arguments": properties["arguments"]}, "tool"
                ),
            },
        ],
    }


def _conditions(defs: Json) -> Json:
    operators: Json = {"enum": list(_OPERATORS), "description": "How the two are compared."}
    fields = ("TaskField", "ContextField")
    named: Json = {
        name: _changed_definition(defs, name, {"operator": operators}) for name in fields
    }
    forms = (*fields, "TaskStatus", "AllOf", "AnyOf", "Not", "TeamOutcome", "Expression")
    return {
        **named,
        "Condition": {
            "description": "When something holds: a question about a task or the context, several "
            "of them joined, how the tasks ended together, or a template expression.",
            "anyOf": [
                *(ref(name) for name in forms),
                {"type": "array", "items": ref("Condition"), "description": "All of them."},
                {"enum": list(OUTCOMES), "description": "How the tasks ended together."},
                {
                    "type": "string",
                    "pattern": _TEMPLATE,
                    "examples": ["{{ context.tries > 2 }}"],
                    "description": "A template expression, true or false.",
                },
                ref("OlderCondition"),
            ],
        },
        "OlderCondition": _older_condition(operators),
    }


def _changed_definition(defs: Json, name: str, properties: Json) -> Json:
    schema = cast("Json", defs[name])
    return {**schema, "properties": {**properties_of(schema), **properties}}


def _older_condition(operators: Json) -> Json:
    parts: Json = {"type": "array", "items": ref("Condition")}
    one_or_more: Json = {"anyOf": [ref("Condition"), parts]}
    test: Json = {"operator": operators, "value": {}}
    joined: Json = {"type": {"enum": ["and", "or"]}, "conditions": parts, "condition": parts}
    return {
        "description": "Older forms of conditions.",
        "deprecated": True,
        "anyOf": [
            mapping(
                joined, "type", anyOf=[{"required": ["conditions"]}, {"required": ["condition"]}]
            ),
            mapping(
                {"type": {"const": "not"}, "condition": one_or_more, "conditions": one_or_more},
                "type",
            ),
            mapping(
                {
                    "type": {"const": "simple"},
                    "field": {"type": "string"},
                    "task": {"type": "string"},
                    **test,
                },
                "type",
            ),
            mapping(
                {"field": {"type": "string"}, **test},
                "field",
                anyOf=[{"required": ["operator"]}, {"required": ["value"]}],
            ),
            mapping({"config_field": {"type": "string"}, **test}, "config_field"),
            {
                "type": "object",
                "minProperties": 1,
                "propertyNames": {"not": {"enum": list(_CONDITION_WORDS)}},
                "description": "`{key: value}` of the context; several mean all of them.",
            },
        ],
    }


_CONDITION_WORDS = (
    "task",
    "output_field",
    "status",
    "context_field",
    "operator",
    "value",
    "and",
    "or",
    "not",
    "outcome",
    "expression",
    "type",
    "conditions",
    "condition",
    "config_field",
)


def _persona(schema: Json) -> Json:
    older: Json = {
        key: {"deprecated": True, "description": f"Older form: an `execution_plan` {what}."}
        for key, what in (
            ("skill", "that calls this tool function"),
            ("params", "with this input"),
            ("skill_params", "with this input"),
            ("input", "with this input"),
        )
    }
    plan: Json = {
        "anyOf": [ref("ExecutionPlan"), {"type": "null"}],
        "description": "What an orchestrating agent does, step by step.",
    }
    properties: Json = {**properties_of(schema), "execution_plan": plan, **older}
    needed: Json = {key: ["skill"] for key in older if key != "skill"}
    return {**schema, "properties": properties, "dependentRequired": needed}


def _plan() -> Json:
    steps: Json = {"type": "array", "items": ref("Step")}
    older = mapping(
        {"enabled": {"type": "boolean"}, "steps": steps, "description": {}},
        "steps",
        deprecated=True,
        description="Older form: write the list of its steps.",
    )
    return {"anyOf": [steps, older]}


def older_steps(defs: Json) -> Json:
    """Return the older kinds, each as its present kind with its own keys."""
    text: Json = {"type": "string"}
    any_steps: Json = {"type": "array", "items": ref("Step")}
    steps: Json = {**any_steps, "minItems": 1}
    branches: Json = {"type": "array", "items": ref("Branch")}
    agents = ("node", "agent", "persona", "target")
    return {
        "OlderFunctionCall": _older(defs, "FunctionStep", "skill_call", {}),
        "OlderAgentCall": _older(
            defs, "PersonaStep", "agent_call", {**dict.fromkeys(agents, text), "input_params": {}}
        ),
        "OlderModelCall": _older(
            defs,
            "PersonaStep",
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
        "OlderFunctionAgent": _older_function_agent(defs),
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


def _older_function_agent(defs: Json) -> Json:
    """Return a task that is an agent made of one tool function."""
    older = _older(defs, "PersonaStep", "agent", {"skill": {"type": "string"}, "skill_params": {}})
    names: Json = {"enum": [name for name in AGENT_TYPES if "skill" in name.lower()]}
    properties: Json = {**properties_of(older), "agent_type": names}
    return {**older, "required": ["name", "agent_type", "skill"], "properties": properties}
