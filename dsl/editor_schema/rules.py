"""Rules between the keys of one mapping, as JSON Schema: each stands beside its words."""

from typing import cast

from coterie.dsl.checks.budget_checks import TERMS_KEYS
from coterie.dsl.checks.context_declarations import PATH_PATTERN
from coterie.dsl.checks.steps.signal_checks import RESERVED_SIGNALS
from coterie.dsl.checks.team_checks import TEAM_KEYS
from coterie.dsl.compile.route_compiler import ROUTE_KEYS
from coterie.dsl.json_schema.schema_grammar import KEYWORDS
from coterie.dsl.json_schema.schema_parts import mapping, none_of, properties_of, ref
from coterie.dsl.kinds import KINDS
from coterie.dsl.kinds.try_steps import CATCH_KEYS
from coterie.dsl.model.step_kinds.step_base import StepBase
from coterie.dsl.model.steps import STEP_MODELS
from coterie.dsl.model.tools.tool_section import TOOL_KINDS, TOOL_SECTION_OF_TAG
from coterie.dsl.normalise.team_sections import CHAT_KEYS
from coterie.dsl.values import Json, JsonValue

_KEEP_LAST: Json = {
    "type": "integer",
    "minimum": 1,
    "description": "How many items a list keeps: each write drops the oldest beyond it.",
}
_DEFAULT: Json = {"description": "The value of a run whose start gives none."}

_PATH: Json = {
    "type": "object",
    "properties": {
        **dict.fromkeys(sorted(KEYWORDS), True),
        "default": _DEFAULT,
        "keep_last": _KEEP_LAST,
    },
    "patternProperties": {"^x-": True},
    "additionalProperties": False,
}

CONTEXT_FORM: Json = {
    "type": ["object", "null"],
    "minProperties": 1,
    "propertyNames": {"pattern": f"^{PATH_PATTERN}$"},
    "additionalProperties": _PATH,
}
"""`orchestration.context`."""


_AMOUNTS: dict[str, tuple[str, Json]] = {
    "tokens": ("CountBudget", {"type": "integer", "minimum": 1}),
    "money": ("MoneyBudget", {"type": "number", "exclusiveMinimum": 0}),
    "model_calls": ("CountBudget", {"type": "integer", "minimum": 1}),
    "tool_calls": ("CountBudget", {"type": "integer", "minimum": 1}),
    "working_time": ("TimeBudget", ref("Timeout")),
}
"""`{kind of budget: its definition, and its amount alone}`."""


def _absent(key: str) -> Json:
    return {"properties": {key: {"type": "null"}}}


def _without_effect(model: type[StepBase]) -> list[Json]:
    """Refuse the common keys that do nothing on a kind of step."""
    rules = [_absent(key) for key in model.without_effect]
    if model.ends_list:  # nothing applies to its result
        updates: JsonValue = {"maxProperties": 0}
        of_result: Json = {
            "properties": {"context_updates": updates, "output_variable": {"type": "null"}}
        }
        rules += [none_of("fail_when"), of_result]
    return rules


RULES: dict[str, list[Json]] = {
    **{
        model.__name__: [*_without_effect(model), *definition.rules_of(model)]
        for kind, definition in KINDS.items()
        for model in STEP_MODELS[kind]
    },
    **{model: [TERMS_KEYS] for model, _ in _AMOUNTS.values()},
    "Collect": [RESERVED_SIGNALS],
    "Catch": [CATCH_KEYS],
    "TeamDocument": TEAM_KEYS,
    "ChatSection": CHAT_KEYS,
    "RuleDocument": [ROUTE_KEYS],
}
"""`{definition: rules besides its own shape}`."""

_MORE: dict[str, Json] = {
    **{
        model.__name__: {
            key: form for key, form in definition.written_keys.items() if key in model.model_fields
        }
        for kind, definition in KINDS.items()
        for model in STEP_MODELS[kind]
    },
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
    "LoopSection": KINDS["loop"].written_keys,
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
        if not rules:
            continue
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
        "CommandSection",
        "Price",
        "CountBudget",
        "MoneyBudget",
        "TimeBudget",
    ):
        schema = cast("Json", defs[name])
        defs[name] = {k: v for k, v in schema.items() if k not in ("required", "allOf")}
    defs["ToolSection"] = _any_tool(defs)
    return defs


def _any_tool(defs: Json) -> Json:
    """Return the schema of changes to a tool: null removes what it was made of."""
    properties: Json = {}
    made_of: dict[str, list[JsonValue]] = {kind: [{"type": "null"}] for kind in TOOL_KINDS}
    for model in TOOL_SECTION_OF_TAG.values():
        properties |= properties_of(defs[model.__name__])
        made_of[model.kind].append(properties[model.kind])
    properties |= {kind: {"anyOf": forms} for kind, forms in made_of.items()}
    return mapping(properties)
