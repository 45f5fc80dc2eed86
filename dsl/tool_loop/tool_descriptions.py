"""What the description of a tool says beside the words of its author. Models read it."""

from collections.abc import Sequence


def with_sources(description: str, sources: Sequence[str]) -> str:
    """Say whose work a tool sees, so that an orchestrator calls tools in a useful order."""
    if not sources:
        return description
    names = ", ".join(sources)
    return f"{description}\nIt sees the work of {names}; call {names} before it."
