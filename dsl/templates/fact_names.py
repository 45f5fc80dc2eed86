"""The names that a template may use: the possible segments at each level of the facts."""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from coterie.dsl.model.facts import (
    CAUGHT,
    ERROR,
    GRAPH,
    GRAPH_VARIABLE,
    OUTCOME_NAMES,
    ROOTS,
    ROUTING,
    ROUTING_ERROR,
    RUN,
)
from coterie.dsl.paths import Path


class TemplateScope(Protocol):
    """What is known at the place of a template: `dsl.checks.steps.step_scope.StepScope`."""

    teams: Mapping[str, Collection[str]]
    inputs: Collection[str] | None
    flags: Collection[str] | None
    given: Collection[str]
    settings: Mapping[str, JsonValue]

    @property
    def task_names(self) -> Collection[str]:
        """The names of all steps."""
        ...

    @property
    def variables(self) -> Collection[str]:
        """The variables that some step sets."""
        ...

    @property
    def only_graph(self) -> bool:
        """Whether `graph` is only what a task graph sets."""
        ...

    @property
    def only_caught(self) -> bool:
        """Whether `error` is only the failure that a `catch` caught."""
        ...


class Lacking(NamedTuple):
    """A segment that can never exist."""

    description: str
    segment: str
    known: Collection[str]
    """The possible segments instead."""


class _Level(NamedTuple):
    """The possible names at one segment of a path."""

    known: Collection[str]
    without: str = ""
    """The words that report an unknown segment."""


def lacking(named: Path, scope: TemplateScope) -> Lacking | None:
    """Return the first segment of a path that certainly cannot exist, or None."""
    for number, (segment, level) in enumerate(zip(named, _levels(named, scope), strict=False)):
        if segment not in level.known:
            above = ".".join(named[:number])
            description = f"{level.without or f'{above} has no'} {segment!r}"
            return Lacking(description, segment, level.known)
    return None


def _levels(named: Path, scope: TemplateScope) -> Iterator[_Level]:
    """Yield the possible names at each segment, as far as they are known."""
    more = () if scope.flags is None else ("flags",)
    yield _Level([*ROOTS, *more, *scope.variables, *scope.given], "there is no name")
    match named:
        case ("tasks" | "teams", *_):
            yield from _outcomes(named, scope)
        case ("input", *_) if scope.inputs is not None:
            yield _Level(scope.inputs, "there is no input")
        case ("flags", *_) if scope.flags is not None:
            yield _Level(scope.flags, "there is no flag")
        case ("run", *_):
            yield _Level(RUN)
        case ("routing", *rest):
            yield _Level(ROUTING)
            if rest[:1] == ["error"]:
                yield _Level(ROUTING_ERROR)
        case ("settings", *rest):
            yield from _constants(scope.settings, rest)
        case ("error", *_) if scope.only_caught:
            yield _Level(CAUGHT)
        case (name, *_) if name == GRAPH_VARIABLE and scope.only_graph:
            yield _Level(GRAPH)
        case _:
            return


def _outcomes(named: Path, scope: TemplateScope) -> Iterator[_Level]:
    match named:
        case ("tasks", *rest):
            yield _Level(scope.task_names, "there is no task")
            yield from _outcome(rest[1:])
        case ("teams", team, *rest):
            yield _Level(scope.teams.keys(), "there is no team")
            yield _Level(("tasks",))
            tasks = scope.teams[team]
            if tasks:  # else they could not be read
                yield _Level(tasks, f"the team {team!r} has no task")
                yield from _outcome(rest[2:])
        case _:
            return


def _outcome(rest: list[str]) -> Iterator[_Level]:
    yield _Level(OUTCOME_NAMES)
    if rest[:1] == ["error"]:
        yield _Level(ERROR)


def _constants(value: JsonValue | Mapping[str, JsonValue], rest: list[str]) -> Iterator[_Level]:
    """Yield the names in settings at each segment; items of lists are known only at run time."""
    for segment in (*rest, ""):
        if isinstance(value, list | str):
            return
        mapping = value if isinstance(value, Mapping) else {}
        yield _Level(mapping.keys())
        value = mapping.get(segment)
