"""The form of a declared context in the JSON Schema for editors."""

from coterie.dsl.checks.context_declarations import PATH_PATTERN
from coterie.dsl.json_schema.schema_grammar import KEYWORDS
from coterie.dsl.values import Json

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
