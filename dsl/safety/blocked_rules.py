"""What a blocked text violates, as a typed fact."""

from typing import Literal, NamedTuple

from coterie.dsl.wording.blocked_wording import BlockedRule

FieldKind = Literal["code", "command", "path", "url"]
"""What a text field holds, if it is not prose. Prose is never blocked."""


class Blocked(NamedTuple):
    """Why a text is blocked."""

    rule: BlockedRule
    found: str
    """The part of the text that violates the rule, at most 80 characters."""


def cut(text: str) -> str:
    """Return the beginning of a text, for a message."""
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{line[:77]}..."
