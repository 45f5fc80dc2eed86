"""Checks of what a step waits for: one thing, and no signal that the run handles itself."""

from coterie.dsl.model.step_kinds.wait_step import WAIT_KEYS
from coterie.dsl.problem_details import Details
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.values import UNREADABLE, NodePath
from coterie.dsl.wording.steps.wait_wording import (
    key_of_other_wait,
    reserved_signal,
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


def check_signal(tree: Node, problems: Problems, name: str | None, path: NodePath) -> None:
    """Note the name of a signal that no step can receive: the run, or Temporal, handles it."""
    if name is None or not (name in RUN_SIGNALS or name.startswith(TEMPORALS)):
        return
    problems.report(reserved_signal(name, RUN_SIGNALS, TEMPORALS), tree.value_at(path))
