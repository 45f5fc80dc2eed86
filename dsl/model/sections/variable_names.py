"""Names of environment variables, as a configuration gives them."""

from typing import Annotated

from pydantic import AfterValidator, Field

from dsl.values import form_mismatch


def _variable_name(text: str) -> str:
    if not text.isidentifier() or not text.isascii():
        raise form_mismatch(
            "environment_variable", "the name of an environment variable: letters, digits and _"
        )
    return text


VariableName = Annotated[
    str, AfterValidator(_variable_name), Field(json_schema_extra={"pattern": "^[A-Za-z_]\\w*$"})
]
