"""Names of packages and of their functions, as a configuration gives them."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from coterie.dsl.values import form_mismatch

RESERVED_PACKAGE = "coterie"
"""Coterie's own package: it never imports another of this name."""


def _package_name(text: str) -> str:
    """Refuse a package that Coterie's own package of that name would hide."""
    if text.partition(".")[0] == RESERVED_PACKAGE:
        raise form_mismatch(
            "package",
            "a package of another name: Coterie has its own package '{package}' and imports only "
            "that one; rename yours",
            package=RESERVED_PACKAGE,
        )
    return text


PackageName = Annotated[
    str,
    AfterValidator(_package_name),
    Field(json_schema_extra={"not": {"pattern": f"^({RESERVED_PACKAGE})(\\.|$)"}}),
]


_TOOL_GLOB = r"[A-Za-z_*?][A-Za-z0-9_.*?]{0,199}:[A-Za-z_*?][A-Za-z0-9_*?]{0,199}"


def _tool_glob(text: str) -> str:
    if re.fullmatch(_TOOL_GLOB, text) is None:
        raise form_mismatch("tool_glob", "a Python tool or a glob of them, such as acme.text:*")
    return text


ToolGlob = Annotated[
    str, AfterValidator(_tool_glob), Field(json_schema_extra={"pattern": f"^{_TOOL_GLOB}$"})
]
