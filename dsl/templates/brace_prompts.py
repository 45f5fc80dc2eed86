"""Prompts in the older syntax, `{name}`, as templates."""

import json
import re
from collections.abc import Collection

_BRACES = re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*(?:\.\w+)*)\}")


def braces_to_template(text: str, known_inputs: Collection[str]) -> str:
    """Convert a prompt of the older syntax to a template.

    `{name}` becomes the input of that name, or else the context's field; doubled braces become
    single ones; every other brace stays.
    """
    pieces: list[str] = []
    end = 0
    for match in _BRACES.finditer(text):
        pieces.append(_literal(text[end : match.start()]))
        end = match.end()
        name = match[1]
        if name is None:
            pieces.append(_literal("{") if match[0] == "{{" else "}")
        else:
            root = "input" if name.split(".")[0] in known_inputs else "context"
            pieces.append(f"{{{{ {root}.{name} }}}}")
    pieces.append(_literal(text[end:]))
    return "".join(pieces)


def names_in_braces(text: str) -> list[str]:
    """Return the names that the older syntax would render, in order."""
    return [match[1] for match in _BRACES.finditer(text) if match[1] is not None]


def _literal(text: str) -> str:
    return f"{{{{ {json.dumps(text)} }}}}" if "{" in text else text
