"""The live board, rendered when somebody looks: a step renders nothing."""

from collections.abc import Callable
from typing import Any, cast

from temporalio import workflow

METADATA = "__temporal_workflow_metadata"
"""The query by which Temporal's UI and CLI read what the SDK knows of a run, its details too."""


def show_when_asked(board: Callable[[], str]) -> None:
    """Give the board as the current details of the run, as it is when somebody asks."""
    known = cast(
        "Callable[[], Any] | None",
        workflow.get_query_handler(METADATA),  # pyright: ignore[reportUnknownMemberType]
    )
    if known is None:
        raise AssertionError(f"the SDK has no query {METADATA!r}")

    def metadata() -> Any:
        answer = known()
        answer.current_details = board()
        return answer

    workflow.set_query_handler(METADATA, metadata)  # pyright: ignore[reportUnknownMemberType]
