"""What a worker and the process of a long call tell each other: the order, and how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import JsonValue, TypeAdapter

from coterie.activities.user_code.child_messages import FoundTool
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.function_failures import Happened
from coterie.dsl.values import Frozen


@dataclass(frozen=True, slots=True)
class FunctionProcess:
    """A user's function, and where its process runs."""

    found: FoundTool
    folder: Path
    import_path: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    secrets: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class JobOrder:
    """One long call. It travels through a pipe and is never stored, since it contains secrets."""

    skill: str
    input: JsonValue
    key: str
    """Identifies the call permanently."""
    run: str
    seconds: float
    """Time limit of the whole call."""
    retries: int
    """How often it may be begun again."""
    workspace: Workspace
    progress: JsonValue = None
    """What the call reported last before it was begun again."""
    function: FunctionProcess | None = None
    """The function that the tool function is; None for a command."""


class JobEnd(Frozen):
    """How a long call ended."""

    data: JsonValue = None
    failure: Literal["refused", "failed", "lost"] | None = None
    """None if it succeeded; `lost` if it ended without an answer."""
    happened: Happened = "unknown"
    """Whether the effect of a failed call has happened."""
    said: str = ""
    """The unusable result as text."""
    type: str = ""
    """The failure type of a refusal."""
    message: str = ""
    may_pass: bool = False
    """Whether the same call may succeed later."""


class JobTerms(Frozen):
    """What stays the same however often a call is begun."""

    seconds: float
    retries: int


ORDER = TypeAdapter(JobOrder)
