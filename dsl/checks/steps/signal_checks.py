"""Checks of the names of signals: some of them no step can receive."""

from collections.abc import Collection

from coterie.dsl.errors import listed
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.values import Json, NodePath

RUN_SIGNALS = ("approve", "reject", "pause", "resume", "retry", "skip", "worker_blocked")
"""The signals that every run handles itself: no step can receive them."""

TEMPORALS = "__temporal"
"""The prefix of the names that Temporal reserves for itself."""

RESERVED_SIGNALS: Json = {
    "properties": {
        "signal": {
            "not": {
                "anyOf": [
                    {"enum": list(RUN_SIGNALS)},
                    {"type": "string", "pattern": f"^{TEMPORALS}"},
                ]
            }
        }
    }
}
"""Refuses a signal that no step can receive, in editors."""


@rule("E105")
def reserved_signal(name: str, reserved: Collection[str], prefix: str) -> ProblemText:
    whose = "the run" if name in reserved else "Temporal"
    return ProblemText(
        f"{whose} takes the signal {name!r} itself",
        f"a name other than {listed(reserved)}, and none that begins with {prefix}",
        "give the signal another name",
    )


def check_signal(tree: Node, problems: Problems, name: str | None, path: NodePath) -> None:
    """Note the name of a signal that no step can receive: the run, or Temporal, handles it."""
    if name is None or not (name in RUN_SIGNALS or name.startswith(TEMPORALS)):
        return
    problems.report(reserved_signal(name, RUN_SIGNALS, TEMPORALS), tree.value_at(path))
