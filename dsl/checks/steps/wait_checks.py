"""Checks of steps that wait: for one thing, and for a signal that a step can receive."""

from coterie.dsl.checks.format_checks import warn_of_formats
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.evaluate.waits import RefusedWait, length_of_wait, moment_of_wait
from coterie.dsl.json_schema.schema_checker import beyond
from coterie.dsl.json_schema.schema_problems import schema_problem
from coterie.dsl.model.steps import WaitStep
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.templates.jsonable import brief
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import NodePath
from coterie.dsl.wording.session_wording import schema_without_message, unusable_message_schema
from coterie.dsl.wording.steps.wait_wording import (
    deadline_without_signal,
    refused_wait,
    reserved_signal,
    time_has_passed,
    waits_for_nothing,
    waits_for_several,
)

RUN_SIGNALS = ("approve", "reject", "pause", "resume", "retry", "skip", "worker_blocked")
"""The signals that every run handles itself: no step can receive them."""

TEMPORALS = "__temporal"
"""The prefix of the names that Temporal reserves for itself."""


def check_wait(scope: StepScope, step: WaitStep, path: NodePath) -> None:
    """Check that the step waits for one thing, which can come."""
    keys = ("duration", "time", "signal", "message")
    said = [key for key in keys if getattr(step, key) is not None]
    if len(said) != 1 and not any(scope.has_problem((*path, key)) for key in keys):
        scope.report(
            waits_for_several(step.name, said) if said else waits_for_nothing(step.name), path
        )
    elif step.deadline is not None and said[:1] and said[0] in ("duration", "time"):
        scope.report(deadline_without_signal(step.name, said[0]), (*path, "deadline"))
    if step.schema_ is not None and len(said) == 1:
        _message_schema(scope, step, said[0], (*path, "schema"))
    check_signal(scope.tree, scope.problems, step.signal, (*path, "signal"))
    _literals(scope, step, path)


def _literals(scope: StepScope, step: WaitStep, path: NodePath) -> None:
    """Note a written duration or time that a run would refuse, and a time that has passed."""
    now = scope.capabilities.now
    if step.duration is not None and not _is_filled(step.duration):
        length = length_of_wait(step.duration)
        if isinstance(length, RefusedWait):
            details = refused_wait("duration", brief(step.duration), length.wanted)
            scope.report_value(details, (*path, "duration"))
    if step.time is not None and not _is_filled(step.time):
        until = moment_of_wait(step.time, now)
        if isinstance(until, RefusedWait):
            details = refused_wait("time", brief(step.time), until.wanted)
            scope.report_value(details, (*path, "time"))
        elif now is not None and until <= now:
            scope.report_value(time_has_passed(step.name, step.time), (*path, "time"))


def _is_filled(value: float | str) -> bool:
    return isinstance(value, str) and is_template(value)


def _message_schema(scope: StepScope, step: WaitStep, key: str, path: NodePath) -> None:
    if key != "message" or step.schema_ is None:
        scope.report(schema_without_message(step.name, key), path)
        return
    wrong = schema_problem(step.schema_) or beyond(step.schema_)
    if wrong is not None:
        scope.report(unusable_message_schema(step.name, wrong), path)
        return
    warn_of_formats(step.schema_, scope.problems, scope.tree.find(path).at, path)


def check_signal(tree: Node, problems: Problems, name: str | None, path: NodePath) -> None:
    """Note the name of a signal that no step can receive: the run, or Temporal, handles it."""
    if name is None or not (name in RUN_SIGNALS or name.startswith(TEMPORALS)):
        return
    problems.report(reserved_signal(name, RUN_SIGNALS, TEMPORALS), tree.value_at(path))
