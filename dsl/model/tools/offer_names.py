"""Names of what an MCP server offers: tools, resources and prompts.

A tool has its own name. The others have a prefix, which no tool may have, and a glob reaches them
only with that prefix: `*` relaxes or includes tools and nothing else.
"""

from fnmatch import fnmatchcase
from typing import Literal

OfferKind = Literal["tool", "resource", "prompt"]

RESOURCE = "resource:"
PROMPT = "prompt:"


def kind_of_offer(name: str) -> OfferKind:
    """Return what has this name, or which kind a glob reaches."""
    if name.startswith(RESOURCE):
        return "resource"
    return "prompt" if name.startswith(PROMPT) else "tool"


def matches_offer(name: str, pattern: str) -> bool:
    """Return whether a glob matches a name."""
    return kind_of_offer(name) == kind_of_offer(pattern) and fnmatchcase(name, pattern)
