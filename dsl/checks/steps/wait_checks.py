"""Checks of steps that wait: for one thing, and for a signal that a step can receive."""

from typing import assert_never

from coterie.dsl.checks.format_checks import warn_of_formats
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.evaluate.waits import RefusedWait, length_of_wait, moment_of_wait
from coterie.dsl.json_schema.schema_checker import beyond
from coterie.dsl.json_schema.schema_problems import schema_problem
from coterie.dsl.model.step_kinds.wait_step import (
    WAIT_KEYS,
    AnyWait,
    DurationWait,
    MessageWait,
    SignalWait,
    TimeWait,
)
from coterie.dsl.problem_details import Details
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.templates.jsonable import brief
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import UNREADABLE, NodePath
from coterie.dsl.wording.session_wording import unusable_message_schema
from coterie.dsl.wording.steps.wait_wording import (
    key_of_other_wait,
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


def wrong_wait_key(step: Node, key: str) -> Details | None:
    """Return the problem of a key of another class of waits, or of a wait without any such key.

    Returns:
        None if another problem explains it.
    """
    written = step.find(("name",)).value
    name = written if isinstance(written, str) else UNREADABLE
    said = [one for one in WAIT_KEYS if one in step.entries()]
    if key in WAIT_KEYS:
        return waits_for_several(name, said) if said else waits_for_nothing(name)
    return key_of_other_wait(name, key, said[0]) if len(said) == 1 else None


def check_wait(scope: StepScope, step: AnyWait, path: NodePath) -> None:
    """Check that the step waits for something that can come."""
    match step:
        case DurationWait() | TimeWait():
            _literal(scope, step, path)
        case SignalWait(signal=signal):
            check_signal(scope.tree, scope.problems, signal, (*path, "signal"))
        case MessageWait():
            _message_schema(scope, step, (*path, "schema"))
        case _:
            assert_never(step)


def _literal(scope: StepScope, step: DurationWait | TimeWait, path: NodePath) -> None:
    """Note a written duration or time that a run would refuse, and a time that has passed."""
    key = "duration" if isinstance(step, DurationWait) else "time"
    written = step.duration if isinstance(step, DurationWait) else step.time
    if isinstance(written, str) and is_template(written):
        return
    now = scope.capabilities.now
    end = length_of_wait(written) if key == "duration" else moment_of_wait(written, now)
    if isinstance(end, RefusedWait):
        scope.report_value(refused_wait(key, brief(written), end.wanted), (*path, key))
    elif key == "time" and now is not None and end <= now:
        scope.report_value(time_has_passed(step.name, str(written)), (*path, key))


def _message_schema(scope: StepScope, step: MessageWait, path: NodePath) -> None:
    if step.schema_ is None:
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
