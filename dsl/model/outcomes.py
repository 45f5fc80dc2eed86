"""Outcomes of steps: success, failure or skipped, with data or an error."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from coterie.dsl.model.conditions import Status


@dataclass(frozen=True, slots=True)
class Failure:
    """An expected failure, which routing handles."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one step; `tasks.<name>` in templates shows it."""

    status: Status
    data: JsonValue = None
    error: Failure | None = None
    seconds: float = 0.0
    """From its start to its end by the run's clock, all attempts and waits; 0 if it never ran."""
    root: Annotated[str, Field(exclude=True)] = field(default="", compare=False, repr=False)
    """The type of the nested failure that decides whether a retry can end differently; empty for
    the failure's own. No history carries it.
    """
    text: str = ""
    """What a tool said beside its data."""

    @property
    def success(self) -> bool:
        """Whether the step succeeded."""
        return self.status == "success"

    @property
    def root_error(self) -> str:
        """The type of the failure that a retry would have to overcome; empty without one."""
        return self.root or ("" if self.error is None else self.error.type)

    @property
    def data_or_error(self) -> JsonValue:
        """The data; for a failure, the message of its error."""
        return self.data if self.error is None else self.error.message

    def timed(self, seconds: float) -> "Outcome":
        """Return this outcome with the time that the step took, rounded to milliseconds."""
        # by hand: `replace` takes five times as long, and every step does this
        return Outcome(self.status, self.data, self.error, round(seconds, 3), self.root, self.text)

    @classmethod
    def succeeded(cls, data: JsonValue = None, text: str = "") -> "Outcome":
        """Return the outcome of a step that succeeded; `text` is what its tool said besides."""
        return cls("success", data, text=text)

    @classmethod
    def failed(
        cls, type: str, message: str, data: JsonValue = None, *, root: str = ""
    ) -> "Outcome":
        """Return the outcome of a step that failed; `data` is what it has so far."""
        return cls("failure", data, Failure(type, message), root=root)

    @classmethod
    def skipped(cls) -> "Outcome":
        """Return the outcome of a step that did not run: its `when` was false, or a task failed."""
        return cls("skipped")


def with_text(data: str, outcome: Outcome) -> str:
    """Return the words of an outcome: of its data, then what its tool said beside it."""
    return f"{data}\n{outcome.text}" if outcome.text else data


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
"""The ends of a run."""
