"""Rules between the keys of one mapping, as JSON Schema.

The compiler reports the same in words (`dsl.checks.steps`, `dsl.compile`).
"""

from typing import cast

from coterie.dsl.checks.steps.wait_checks import RUN_SIGNALS, TEMPORALS
from coterie.dsl.editor_schema.context_form import CONTEXT_FORM
from coterie.dsl.editor_schema.schema_parts import ref
from coterie.dsl.values import Json, JsonValue


def _has(*keys: str) -> Json:
    return {"required": list(keys)}


def _has_key(key: str) -> Json:
    return {**_has(key), "properties": {key: {"not": {"type": "null"}}}}


def _none_of(*keys: str) -> Json:
    return {"not": {"anyOf": [_has(key) for key in keys]}}


def _only_for(kind: str, section: str) -> Json:
    """Restrict a section of a team to teams of that type."""
    of_kind: Json = {"properties": {"type": {"const": kind}}, **_has("type")}
    return {"if": {"properties": {section: {"type": "object"}}, **_has(section)}, "then": of_kind}


def _needs(kind: str, section: str) -> Json:
    of_kind: Json = {"properties": {"type": {"const": kind}}, **_has("type")}
    return {"if": of_kind, "then": _has(section)}


_SIGNAL: Json = {
    "properties": {
        "signal": {
            "not": {
                "anyOf": [
                    {"enum": list(RUN_SIGNALS)},
                    {"type": "string", "pattern": f"^{TEMPORALS}"},
                ]
            }
        }
    }
}

_NOT_EMPTY: Json = {"type": "array", "minItems": 1}

_AMOUNTS: dict[str, tuple[str, Json]] = {
    "tokens": ("CountBudget", {"type": "integer", "minimum": 1}),
    "money": ("MoneyBudget", {"type": "number", "exclusiveMinimum": 0}),
    "model_calls": ("CountBudget", {"type": "integer", "minimum": 1}),
    "tool_calls": ("CountBudget", {"type": "integer", "minimum": 1}),
    "working_time": ("TimeBudget", ref("Timeout")),
}
"""`{kind of budget: its definition, and its amount alone}`."""

_TERMS: list[Json] = [
    {
        "if": {"properties": {"on_exceeded": {"const": "route"}}, **_has("on_exceeded")},
        "then": {**_has("next_team"), "properties": {"next_team": {"type": "string"}}},
        "else": {"properties": {"next_team": {"type": "null"}}},
    }
]

_NO_TIME: Json = {"properties": {"timeout": {"type": "null"}}}
"""Of steps that call nothing and wait for nothing."""

_NO_ATTEMPTS: list[Json] = [_NO_TIME, {"properties": {"retry": {"type": "null"}}}]
"""Of steps that end each time the same, too."""

_NO_RESULT: list[Json] = [
    *_NO_ATTEMPTS,
    _none_of("fail_when"),
    {"properties": {"context_updates": {"maxProperties": 0}, "output_variable": {"type": "null"}}},
]
"""Of steps that end their list of steps, so that nothing applies to their result."""

RULES: dict[str, list[Json]] = {
    **{model: _TERMS for model, _ in _AMOUNTS.values()},
    "AgentStep": [
        {
            "anyOf": [
                {**_has("persona_key"), **_none_of("agent_class")},
                {
                    **_has("agent_class"),
                    **_none_of("agent_type", "persona_key", "personas", "config"),
                },
            ]
        },
        {
            "if": {
                **_has("persona_key"),
                "properties": {"persona_key": {"type": "string", "pattern": r"\{\{"}},
            },
            "then": {**_has("personas"), "properties": {"personas": _NOT_EMPTY}},
            "else": {"properties": {"personas": {"maxItems": 0}}},
        },
    ],
    "LoopStep": [
        {"anyOf": [_has("iterate_on"), _has("while"), _has("until")]},
        {"anyOf": [_has("iterate_on"), _has("max_iterations")]},
        {"dependentRequired": {"iterate_on": ["loop_variable"]}},
        {
            "if": {"not": _has("iterate_on")},
            "then": {"properties": {"concurrency": {"maximum": 1}}},
        },
        {
            "if": {"not": _none_of("while", "until", "break_when")},
            "then": {"properties": {"concurrency": {"maximum": 1}}},
        },
    ],
    "TaskGraphStep": [
        {
            "anyOf": [
                _has("max_iterations"),
                _has("max_tasks"),
                {"properties": {"tasks": {"type": "array"}}, **_none_of("add")},
            ]
        },
        {"dependentRequired": {"select": ["chosen"], "chosen": ["select"]}},
    ],
    "TryStep": [
        {"anyOf": [{**_has(key), "properties": {key: _NOT_EMPTY}} for key in ("catch", "finally")]}
    ],
    "ReturnStep": _NO_RESULT,
    "FailStep": _NO_RESULT,
    "ReplyStep": _NO_ATTEMPTS,
    "SetStep": [_NO_TIME],
    "SignalWait": [_SIGNAL],
    "Collect": [_SIGNAL],
    "Catch": [{"properties": {"error": {"minItems": 1, "minLength": 1}}}],
    "TeamDocument": [
        *(
            _only_for(kind, section)
            for kind, section in (
                ("loop", "loop"),
                ("approval", "approval"),
                ("concentrator", "collect"),
                ("chat", "chat"),
            )
        ),
        _needs("loop", "loop"),
        _needs("approval", "approval"),
        _needs("chat", "chat"),
        {
            "anyOf": [
                {**_has("tasks"), "properties": {"tasks": _NOT_EMPTY}},
                {
                    **_has("type"),
                    "properties": {"type": {"enum": ["approval", "concentrator", "chat"]}},
                },
            ]
        },
    ],
    "ChatSection": [
        {"anyOf": [_has_key("persona_key"), _has("reply")]},
        {
            "if": {"not": _has_key("persona_key")},
            "then": _none_of("conversation_turns", "conversation_characters"),
        },
    ],
    "ToolSection": [{"oneOf": [_has_key(key) for key in ("skill", "agent", "team", "mcp")]}],
    "RuleDocument": [
        {
            "if": {"properties": {"next_team": {"type": ["string", "null"]}}},
            "then": {
                "properties": {"merge": {"maxProperties": 0}, "concentrator": {"type": "null"}}
            },
        }
    ],
}
"""`{definition: rules besides its own shape}`."""

_MORE: dict[str, Json] = {
    "Orchestration": {"context": CONTEXT_FORM},
    "Budgets": {
        kind: {"anyOf": [alone, ref(model), {"type": "null"}]}
        for kind, (model, alone) in _AMOUNTS.items()
    },
    "ProviderSection": {
        "env_var": {
            "type": ["string", "null"],
            "deprecated": True,
            "description": "Older form: write `api_key_env`.",
        }
    },
    "DurationWait": {
        "duration": {
            "description": "How long: seconds, `90s`, `2d`, or a template that gives one of these.",
            "anyOf": [
                {"type": "number"},
                ref("Duration"),
                {"type": "string", "pattern": r"\{\{"},
            ],
        }
    },
    "LoopStep": {
        "iterate_on": {
            "description": "A list, or a template that gives one.",
            "anyOf": [{"type": "array"}, {"type": "string", "pattern": r"\{\{"}, {"type": "null"}],
        }
    },
    "TaskGraphStep": {
        "tasks": {
            "description": "A list of tasks, or a template that gives one.",
            "anyOf": [{"type": "array"}, {"type": "string", "pattern": r"\{\{"}],
        }
    },
    "LoopSection": {
        "iterate_on": {
            "description": "A list, or a template that gives one.",
            "anyOf": [{"type": "array"}, {"type": "string", "pattern": r"\{\{"}, {"type": "null"}],
        }
    },
    "RuleDocument": {
        "next_team": {
            "description": "A team; null ends the run; a list fans out to several at once.",
            "anyOf": [
                {"type": "string"},
                {"type": "null"},
                {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True},
            ],
        }
    },
}
"""`{definition: properties that are written differently from the model}`."""


def with_key_rules(defs: Json) -> Json:
    """Add the rules between keys to the definitions."""
    for name, rules in RULES.items():
        schema = cast("Json", defs[name])
        already = cast("list[JsonValue]", schema.get("allOf", []))
        defs[name] = {**schema, "allOf": [*already, *rules]}
    for name, properties in _MORE.items():
        schema = cast("Json", defs[name])
        before = cast("Json", schema["properties"])
        described = {
            key: _with_description(before.get(key), new) for key, new in properties.items()
        }
        defs[name] = {**schema, "properties": {**before, **described}}
    return defs


def _with_description(before: JsonValue, new: JsonValue) -> JsonValue:
    """Return the new form, with the description of the old one unless it has its own."""
    if not isinstance(before, dict) or not isinstance(new, dict) or "description" not in before:
        return new
    return {"description": before["description"], **new}


def laid_over(defs: Json) -> Json:
    """Return the definitions for a file whose mappings contain only differences."""
    for name in (
        "Orchestration",
        "TeamDocument",
        "ToolSection",
        "CommandSection",
        "Price",
        "CountBudget",
        "MoneyBudget",
        "TimeBudget",
    ):
        schema = cast("Json", defs[name])
        defs[name] = {k: v for k, v in schema.items() if k not in ("required", "allOf")}
    return defs
