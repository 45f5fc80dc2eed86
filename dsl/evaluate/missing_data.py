"""Data that templates name and that a task does not have: it failed, was skipped or did not run."""

from collections.abc import Iterator

from pydantic import JsonValue

from coterie.dsl.json_values import texts_within
from coterie.dsl.model.facts import Facts
from coterie.dsl.paths import Path
from coterie.dsl.templates.template import is_template, parse
from coterie.dsl.templates.template_rules import BadTemplate


def missing_outcomes(value: JsonValue, facts: Facts) -> tuple[str, ...]:
    """Return the tasks without success that a value's templates name, each once, in order."""
    named = (path for text, _ in texts_within(value) if is_template(text) for path in _paths(text))
    return tuple(dict.fromkeys(task for path in named for task in _without_success(path, facts)))


def _paths(text: str) -> tuple[Path, ...]:
    try:
        return tuple(parse(text).paths)
    except BadTemplate:
        return ()


def _without_success(path: Path, facts: Facts) -> Iterator[str]:
    """Yield the task that a path leads into, if it has not succeeded."""
    match path:
        case ("tasks", name, *_):
            outcome = facts.tasks.get(name)
        case ("teams", team, "tasks", name, *_):
            outcome = facts.teams.get(team, {}).get(name)
        case _:
            return
    if outcome is None or not outcome.success:
        yield name
