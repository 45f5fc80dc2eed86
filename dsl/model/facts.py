"""Facts: everything that a template, a condition or a rule may read."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from pydantic import JsonValue

from coterie.dsl.model.evaluation_budget import (
    DEFAULT_BUDGET,
    EvaluationBudget,
    EvaluationMeter,
    EvaluationWork,
    Names,
)
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.values import Json

ROOTS = ("context", "tasks", "teams", "input", "run", "routing", "settings", "tools")
"""The names that every template knows; no variable may have one of them."""

RESERVED = (
    "self",
    "super",
    "caller",
    "varargs",
    "kwargs",
    "loop",
    "range",
    "true",
    "false",
    "none",
    "True",
    "False",
    "None",
    "and",
    "or",
    "not",
    "in",
    "is",
    "if",
    "else",
    "elif",
    "for",
    "recursive",
)
"""Keywords of the template language; a variable of that name could never be read."""

RUN = ("id", "plan", "digest", "team", "visit", "teams_run")
"""The fields of `run`."""

ROUTING = ("reason", "from", "error")
"""The fields of `routing`: why the run entered this team."""

ROUTING_ERROR = ("task", "type", "message")
"""The fields of `routing.error`, if a failure led here."""

OWN_RESULT = ("data", "seconds")
"""The names that only a step's own `fail_when` and `context_updates` read: its result."""

OWN_DATA = ("data",)
"""What an approval after a step reads of that result."""

OUTCOME = ("status", "success", "data", "error")
"""The fields of `tasks.<name>` as one mapping."""

OUTCOME_NAMES = (*OUTCOME, "data_or_error", "text", "seconds")
"""The fields of `tasks.<name>` that a template may read."""

ERROR = ("type", "message")
"""The fields of a task's `error`."""

CAUGHT = ("type", "message", "step")
"""The fields of `error` in a `catch`."""

CALL_VARIABLE = "tool_call"
"""The variable by which a round of `calls` reads its call."""

GRAPH_VARIABLE = "graph"
"""The variable that the steps of a task graph read it by."""

GRAPH = ("available", "tasks", "iteration", "error", "dependencies")
"""What `graph` has in the steps of a task graph."""

Outcomes = Mapping[str, Outcome]


_NO_VALUES: Final[Mapping[str, JsonValue]] = {}
_NO_TASKS: Final[Outcomes] = {}
_NO_TEAMS: Final[Mapping[str, Outcomes]] = {}


class Facts(NamedTuple):
    """An immutable view of the run: a later fact makes new Facts.

    A tuple, since every step makes some, and a frozen dataclass takes four times as long.
    """

    context: Json
    tasks: Outcomes = _NO_TASKS
    """`{task name: Outcome}` of this team visit or this plan."""
    teams: Mapping[str, Outcomes] = _NO_TEAMS
    """`{team id: {task name: Outcome}}` of each team's latest visit."""
    run: Mapping[str, JsonValue] = _NO_VALUES
    """See `RUN`."""
    routing: Mapping[str, JsonValue] = _NO_VALUES
    """See `ROUTING`."""
    variables: Mapping[str, JsonValue] = _NO_VALUES
    input: JsonValue = None
    counted: Outcomes | None = None
    """The outcomes that `all_success` and its like count. Default: every task."""
    budget: EvaluationBudget = DEFAULT_BUDGET
    """What one evaluation over these facts may cost."""
    work: EvaluationWork | None = None
    """Adds up the work of evaluations over these facts, if set."""
    settings: Mapping[str, JsonValue] = _NO_VALUES
    """The plan's constants."""
    tools: Sequence[JsonValue] | None = None
    """The plan's tools as templates read them; None if no template does."""

    def meter(self) -> EvaluationMeter:
        """Return a meter for a new evaluation."""
        return EvaluationMeter(self.budget) if self.work is None else self.work.meter(self.budget)

    def names(self, meter: EvaluationMeter | None = None) -> Names:
        """Return the names that templates read; all renderings with them share one budget."""
        return Names(self.roots(), self.meter() if meter is None else meter)

    def roots(self) -> dict[str, object]:
        """Return the same names for those who only follow paths, which takes no budget."""
        named: dict[str, object] = {
            **self.variables,
            "context": self.context,
            "tasks": self.tasks,
            "teams": {team: {"tasks": tasks} for team, tasks in self.teams.items()},
            "input": self.input,
            "run": self.run,
            "routing": self.routing,
        }
        if self.settings:  # in older plans, a variable may have this name
            named["settings"] = self.settings
        if self.tools is not None:  # the same
            named["tools"] = self.tools
        return named

    def with_result(self, name: str, outcome: Outcome) -> "Facts":
        """Return these facts as a step reads them after it acted: `data` and `seconds` are its."""
        return self.of_result(outcome)._replace(tasks={**self.tasks, name: outcome})

    def of_result(self, outcome: Outcome) -> "Facts":
        """Return these facts with a result as `data` and `seconds`."""
        own: Mapping[str, JsonValue] = {"data": outcome.data, "seconds": outcome.seconds}
        return self._replace(variables={**self.variables, **own})

    def counting(self, own: Outcomes) -> "Facts":
        """Return these facts, with `all_success` and its like counting only `own`."""
        return self._replace(counted=own)
