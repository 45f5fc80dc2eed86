"""What a step came to: success, failure or skipped, with its data or its error."""

from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from dsl.model.conditions import Status


@dataclass(frozen=True, slots=True)
class Failure:
    """An expected failure: routing decides what it means."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one step. `tasks.<name>` in templates is this: success, data, error, status."""

    status: Status
    data: JsonValue = None
    error: Failure | None = None

    @property
    def success(self) -> bool:
        """AgentResponse.success of the seed."""
        return self.status == "success"

    @classmethod
    def succeeded(cls, data: JsonValue = None) -> "Outcome":
        """The step did what it should."""
        return cls("success", data)

    @classmethod
    def failed(cls, type: str, message: str, data: JsonValue = None) -> "Outcome":
        """The step could not; `data` keeps what there is to see."""
        return cls("failure", data, Failure(type, message))

    @classmethod
    def skipped(cls) -> "Outcome":
        """The step did not run: its `when` did not hold, or an earlier task failed."""
        return cls("skipped")


End = Literal[
    "completed",
    "failed",
    "max_total_teams",
    "max_recursion_depth",
    "no_progress",
    "cancelled",
    "budget_tokens",
    "budget_money",
    "budget_model_calls",
    "budget_tool_calls",
    "budget_working_time",
]
"""How a run came to its end."""
