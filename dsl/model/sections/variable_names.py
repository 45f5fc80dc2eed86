"""Names of environment variables, as a configuration gives them."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from coterie.dsl.values import form_mismatch


def _variable_name(text: str) -> str:
    if not text.isidentifier() or not text.isascii():
        raise form_mismatch(
            "environment_variable", "the name of an environment variable: letters, digits and _"
        )
    return text


VariableName = Annotated[
    str, AfterValidator(_variable_name), Field(json_schema_extra={"pattern": "^[A-Za-z_]\\w*$"})
]

_WRITTEN = re.compile(r"\$\{(?:env[.:])?([A-Za-z_]\w*)[^{}]*\}", re.ASCII)
"""A variable as shells and other systems write it."""


def written_variable(text: str) -> str | None:
    """Return the name of the first variable that a text has as `${NAME}`, which nothing expands."""
    match = _WRITTEN.search(text)
    return None if match is None else match[1]
