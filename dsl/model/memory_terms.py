"""Whose memory a call of `Memory.store` or `Memory.search` uses. The document alone says it."""

from typing import Annotated, Final, Literal

from pydantic import Field

from coterie.dsl.values import Frozen, Seconds

MEMORY_STORE: Final = "Memory.store"
MEMORY_SEARCH: Final = "Memory.search"
MEMORY_FUNCTIONS: Final = (MEMORY_SEARCH, MEMORY_STORE)
"""The tool functions that have a memory."""

MemoryScope = Literal["project", "team", "user"]
"""`project`: one memory for all runs; `team`: one for each document; `user`: one for each user."""

STARTER: Final = "starter"
"""The value of `orchestration.user` for who started the run, as the gateway verified it."""

MAX_USER_LENGTH: Final = 200

Expiry = Annotated[Seconds, Field(ge=1)]


class MemorySection(Frozen):
    """Which memory a tool or a step uses; neither a model nor an input can choose another one."""

    scope: MemoryScope = "project"
    """`project`: all runs of the project share it; `team`: the runs of documents with this name;
    `user`: the runs of the same `orchestration.user`."""
    expires: Expiry | None = None
    """Of `Memory.store`: forgets an entry so long after it was stored last. Default: never."""


class MemoryOwner(Frozen):
    """One memory, as a call names it."""

    scope: MemoryScope = "project"
    name: str = Field(default="", max_length=MAX_USER_LENGTH)
    """Of the team or the user; empty for the project."""
    expires: float | None = None
    """Seconds until an entry that the call stores is forgotten."""
