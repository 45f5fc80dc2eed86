"""Warns of `{name}` in a prompt that is a template: it reaches the model unchanged."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from dsl.source.nodes import Node, Problems
from dsl.templates.template import is_template
from dsl.values import NodePath
from dsl.wording.agent_wording import placeholders_left

_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_PLACEHOLDER = re.compile(r"(?<![\w$\\{}])\{([A-Za-z_]\w*(?:\.\w+)*)\}(?!\})")


class Placeholder(NamedTuple):
    """One `{name}`, and its line in the text, from 1."""

    name: str
    line: int


def placeholders(text: str) -> list[Placeholder]:
    """Return every `{name}` outside of templates, each name once."""
    if "{" not in text:
        return []
    bare = _TEMPLATE.sub(lambda found: "\n" * found[0].count("\n"), text)
    found: dict[str, int] = {}
    for match in _PLACEHOLDER.finditer(bare):
        found.setdefault(match[1], bare.count("\n", 0, match.start()) + 1)
    return [Placeholder(name, line) for name, line in found.items()]


def check_placeholders(
    tree: Node,
    problems: Problems,
    prompts: Mapping[str, str | None],
    place: Callable[[str], NodePath],
) -> None:
    """Warn of each prompt with placeholders, and name the prompt syntax that renders them.

    Args:
        tree: the document.
        problems: collects the warnings.
        prompts: of one persona whose prompts are templates.
        place: returns where a prompt is written.
    """
    texts = {key: text for key, text in prompts.items() if text is not None}
    older = not any(is_template(text) for text in texts.values())
    for key, text in texts.items():
        found = placeholders(text)
        if not found:
            continue
        first = found[0]
        problems.note(
            "W512",
            tree.find(place(key)).line(first.line, f"{{{first.name}}}"),
            place(key),
            placeholders_left([one.name for one in found], is_older=older),
        )
