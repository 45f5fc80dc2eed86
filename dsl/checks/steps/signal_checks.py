"""Checks of the names of signals: some of them no step can receive."""

from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.values import NodePath
from coterie.dsl.wording.steps.wait_wording import reserved_signal

RUN_SIGNALS = ("approve", "reject", "pause", "resume", "retry", "skip", "worker_blocked")
"""The signals that every run handles itself: no step can receive them."""

TEMPORALS = "__temporal"
"""The prefix of the names that Temporal reserves for itself."""


def check_signal(tree: Node, problems: Problems, name: str | None, path: NodePath) -> None:
    """Note the name of a signal that no step can receive: the run, or Temporal, handles it."""
    if name is None or not (name in RUN_SIGNALS or name.startswith(TEMPORALS)):
        return
    problems.report(reserved_signal(name, RUN_SIGNALS, TEMPORALS), tree.value_at(path))
