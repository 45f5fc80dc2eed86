"""List every effective limit of a document with its origin."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from coterie.dsl.kinds import KINDS
from coterie.dsl.model.steps import STEP_MODELS
from coterie.explaining.origins import DEFAULT, Effective, Origin
from coterie.text.durations import duration

_RUN = "the whole run"
_SECONDS = ("timeout", "cancel_timeout", "deadline", "interval", "remind_every", "after")
_BOUNDS = {
    **{
        f"{model.__name__}.{key}": bounds
        for kind, details in KINDS.items()
        for model in STEP_MODELS[kind]
        for key, bounds in details.limits.items()
    },
    "Orchestration.max_total_teams": "team visits in one run",
    "Orchestration.max_recursion_depth": "visits of any one team in one run",
    "Orchestration.max_messages": "messages of one session",
    "Orchestration.max_concurrent_branches": "branches at the same time in one run",
    "Orchestration.no_progress": "when a team is entered again with nothing new to look at",
    "Orchestration.cancel_timeout": "for what a cancelled run still does",
    "TeamDocument.max_recursion_depth": "visits of this team in one run",
    "MaxVisits.limit": "visits of this team for each visit of another",
    "MaxVisits.then": "the team that runs instead then",
    "Collect.count": "successful branches that are enough",
    "Collect.timeout": "for the branches of a fan-out",
    "StepBase.timeout": "for one attempt of the step",
    "Retry.retries": "more attempts of the step after a failure",
    "Retry.interval": "before the next attempt",
    **{
        f"{model}.{key}": bounds
        for model in ("TemplateBound", "TemplateDuration")
        for key, bounds in (
            ("value", "as the run decides"),
            ("maximum", "the most that its template may allow"),
        )
    },
    **{
        f"{model}.{key}": bounds
        for model in ("CallApproval", "AskTerms")
        for key, bounds in KINDS["approval"].limits.items()
    },
    "Escalation.after": "from when others may decide too",
    "Escalation.to": "who may decide too from then on",
    "Persona.timeout": "for one answer of the model",
    "Persona.retries": "more attempts while the provider cannot answer",
    "Persona.max_reasks": "times that an unusable answer is asked for again",
    "Persona.max_tokens": "tokens in one answer",
    "FunctionContract.timeout": "for one call of the tool function",
    "FunctionContract.retries": "more attempts of the call",
    "CommandSection.timeout": "for one run of the command",
    "RateLimitPolicy.requests_per_second": "model calls in a second, over all workers",
    "RateLimitPolicy.requests_per_minute": "model calls in a minute, over all workers",
    "RateLimitPolicy.requests_per_minute_per_key": "of them for one, as `fair_by` says",
    **{
        f"{model}.{key}": bounds
        for model in ("CountBudget", "MoneyBudget", "TimeBudget")
        for key, bounds in (
            ("limit", ""),
            ("on_exceeded", "when it is used up"),
            ("warn_at", "share from which people are notified"),
            ("next_team", "team that runs next then"),
        )
    },
}
"""The fields of the language that limit something, and what they limit."""
_BUDGETS = {
    "tokens": "tokens of all models, in and out",
    "money": "US dollars",
    "model_calls": "model turns",
    "tool_calls": "calls of tool functions and tools",
    "working_time": "of all calls, added up",
}
_UNBOUNDED = {"max_iterations": "as long as the list", "deadline": "none"}


_OWNERS = (
    "Collect",
    "MaxVisits",
    "CallApproval",
    "AskTerms",
    "Retry",
    "Persona",
    "FunctionContract",
)
"""Show their fields with the key above: `agent.timeout`."""


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit."""

    scope: str
    """The run, a team, or a step as the trail names it."""
    name: str
    value: JsonValue
    bounds: str
    """A description of what it limits."""
    origin: Origin
    path: str

    def as_dict(self) -> dict[str, JsonValue]:
        """Return the flat form for `--json`."""
        origin = self.origin
        return {
            "scope": self.scope,
            "name": self.name,
            "value": self.value,
            "bounds": self.bounds,
            "path": self.path,
            "origin": origin.kind,
            "file": origin.file,
            "line": origin.line,
            "via": origin.via or None,
        }

    @property
    def text(self) -> str:
        """The value as text."""
        last = self.name.removesuffix(".maximum").rpartition(".")[2]
        if self.value is None:
            return _UNBOUNDED.get(last, "none")
        if (last in _SECONDS or self.name == "budgets.working_time") and isinstance(
            self.value, int | float
        ):
            return duration(self.value)
        if isinstance(self.value, float):
            return f"{self.value:g}"
        if isinstance(self.value, list):
            return ", ".join(str(item) for item in self.value)
        return f"{self.value:,}" if isinstance(self.value, int) else str(self.value)


def limits(values: Iterable[Effective]) -> list[Limit]:
    """Select the limits from the values: the run's, then each team's before those of its steps."""
    all_limits = list(_limits_of_values(values))
    owners = list(dict.fromkeys(_owner(limit) for limit in all_limits))
    return sorted(all_limits, key=lambda limit: (owners.index(_owner(limit)), "/" in limit.scope))


def _owner(limit: Limit) -> str:
    return limit.scope.partition("/")[0]


def _limits_of_values(values: Iterable[Effective]) -> Iterator[Limit]:
    for value in values:
        bounds = _BOUNDS.get(value.field)
        budget = "budgets" in value.path[-3:]
        if bounds is not None and not _unset(value) and (budget or _counts(value)):
            name = ".".join(map(str, value.path[_first(value) :])).removesuffix(".limit")
            bounds = bounds or _BUDGETS[str(value.path[-2])]
            yield Limit(_scope(value), name, value.value, bounds, value.origin, value.dotted)


def _unset(value: Effective) -> bool:
    """Return whether the value limits nothing."""
    if value.field.endswith((".quorum", ".on_timeout")):
        return value.origin == DEFAULT
    return value.field.endswith("Budget.next_team") and value.value is None


def _first(value: Effective) -> int:
    """Return the index in the path where the name of a limit starts."""
    path = value.path
    if value.field.startswith(("AskTerms", "Escalation")) and "ask" in path:
        ask = len(path) - 1 - path[::-1].index("ask")
        return ask - (3 if path[ask - 1] == "on_exceeded" else 1)
    if value.field.startswith("Escalation"):
        return len(path) - (4 if path[-4] in ("requires_approval", "egress_approval") else 3)
    if "budgets" in path[-3:]:
        return len(path) - 3
    if value.field.startswith(("TemplateBound", "TemplateDuration")):
        return len(path) - (3 if path[-3] in ("retry", "max_visits", "requires_approval") else 2)
    return len(path) - (2 if value.field.startswith(_OWNERS) else 1)


def _counts(value: Effective) -> bool:
    """Return whether the value counts: in `llm_config` only rate limits do."""
    if value.field.startswith("RateLimitPolicy"):
        return value.value is not None
    is_of_approval = (
        value.field.startswith(("AskTerms", "Escalation")) and "on_exceeded" in value.path
    )
    return value.path[0] != "llm_config" or is_of_approval


def _scope(value: Effective) -> str:
    if value.field.startswith("RateLimitPolicy"):
        return f"provider {value.path[-3]}"
    if value.field.startswith("CommandSection"):
        return f"command {value.path[-2]}"
    if value.path[:2] == ("llm_config", "personas") and not value.step:
        return f"persona {value.path[2]}"
    return value.step or _RUN
