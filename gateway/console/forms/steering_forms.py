"""Forms that steer a run with values: changes of its context, and the data of a skipped task.

Pure. A change of the context is what differs between the context that the form showed and what
came back, so a value that the run has written meanwhile stays.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from coterie.dsl.json_values import json_digest
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import PersonaStep, Step
from coterie.dsl.model.traversal.step_walk import walk
from coterie.dsl.paths import MISSING, get, overlap, parse
from coterie.dsl.values import Json
from coterie.gateway.console.fields.filled_forms import FilledForm
from coterie.gateway.console.fields.form_fields import FormField, Typed
from coterie.gateway.console.fields.schema_forms import edit_form, value_form
from coterie.mcp_server.served_teams import arguments_schema

SteeringAction = Literal["amend", "skip", "retry"]
_COUNTER = re.compile(r"(\[\d+\]|#\d+)+$")
_CHANGES: Json = {
    "type": "object",
    "title": "Changes",
    "description": "`{dotted path: value}`: the context of this run is not declared, or too large "
    "for a form.",
}


@dataclass(frozen=True, slots=True)
class SteeringFacts:
    """What a form needs to know of a run."""

    plan: Plan | None
    """None if its history does not tell."""
    context: Json | None
    """As it is; None if it is unknown, or too large for a form."""


@dataclass(frozen=True, slots=True)
class SteeringPage:
    """One way to steer a run, with its values."""

    run: str
    url: str
    action: SteeringAction
    title: str
    sentence: str
    task: str
    """Of `skip`; empty: the person chooses one first."""
    tasks: tuple[str, ...]
    """To choose from."""
    fields: tuple[FormField, ...]
    base: str
    """The context that the form shows, as JSON."""
    why: str


@dataclass(frozen=True, slots=True)
class Changes:
    """What a form asks for, or why it asks for nothing."""

    updates: Json
    problem: str = ""


def context_fields(run: SteeringFacts, typed: Typed) -> tuple[FormField, ...]:
    """Return the fields of the declared context; one for changes as JSON, if it is not known."""
    if run.plan is None or not run.plan.context or run.context is None:
        return value_form(_CHANGES, typed.counts)
    schema = {**arguments_schema(run.plan), "required": []}
    return edit_form(schema, run.context, typed.counts)


def changes_of(run: SteeringFacts, filled: FilledForm) -> Changes:
    """Return the changes of the context that a form holds."""
    if run.plan is None or not run.plan.context or run.context is None:
        return Changes(filled.mapping)
    updates: Json = {}
    for path in sorted(run.plan.context, key=len):
        if any(overlap(parse(path), parse(above)) for above in updates):
            continue
        before, after = get(run.context, parse(path)), get(filled.value, parse(path))
        if after is MISSING and before is not MISSING:
            return Changes({}, f"{path} cannot be removed; give it a value")
        if after is not MISSING and (before is MISSING or _differ(before, after)):
            updates[path] = after
    return Changes(updates)


def _differ(before: JsonValue, after: JsonValue) -> bool:
    return json_digest(before) != json_digest(after)


def skip_fields(run: SteeringFacts, task: str, typed: Typed) -> tuple[FormField, ...]:
    """Return the fields of the data that a skipped task has from then on."""
    schema = {} if run.plan is None else data_schema(run.plan, task)
    about: Json = {"title": "Value", "description": "The data of the task from then on."}
    return value_form({**about, **schema}, typed.counts)


def tasks_of(plan: Plan | None) -> tuple[str, ...]:
    """Return the tasks of every team, as `team/task`."""
    if plan is None:
        return ()
    return tuple(f"{id}/{step.name}" for id, team in plan.teams.items() for step in team.steps)


def data_schema(plan: Plan, task: str) -> Json:
    """Return the JSON Schema of the data of a task, as far as its plan declares it."""
    team, _, path = task.partition("/")
    name = _COUNTER.sub("", path.rpartition("/")[2])
    found = next((step for step in _steps(plan, team) if step.name == name), None)
    match found:
        case None:
            return {}
        case PersonaStep(persona_key=key) if key in plan.personas:
            return plan.personas[key].output_schema or {}
        case _:
            return found.data_form or {}


def _steps(plan: Plan, team: str) -> Iterator[Step]:
    if team in plan.teams:
        yield from (step for step, _ in walk(plan.teams[team].steps, ()))
