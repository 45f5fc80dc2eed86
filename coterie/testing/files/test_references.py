"""Report names in a test file that the team does not have."""

import re
from collections.abc import Callable, Collection, Iterator
from pathlib import PurePosixPath

from coterie.testing.files.expectations import problems_of
from dsl.errors import Code
from dsl.model.plan import Plan
from dsl.model.step_paths import (
    agent_tasks,
    asking_places,
    parted,
    step_paths,
    without_numbers,
    without_rounds,
)
from dsl.model.step_walk import waited_for
from dsl.source.unknown_names import unknown
from dsl.source.yaml_reader import Node, Problems
from dsl.values import NodePath
from workflows.core.state_keys import FAILED, StepKey

_MAPPINGS = ("visits", "context", "output", "files")
_COUNTS = ("model_calls", "skill_calls", "tokens", "cost", "teams_run", "duration")
_TIMES = ("duration", "seconds")
_PATTERN = re.compile(r"[*?]")

Placed = Iterator[tuple[Node, NodePath]]


def check_operators(tree: Node, problems: Problems) -> None:
    """Report every invalid check in the file."""
    for node, path in _checks(tree):
        problems_of(node, path, problems, time=path[-1] in _TIMES)


def check_names(tree: Node, problems: Problems) -> None:
    """Report cases with the same name."""
    seen: dict[str, int] = {}
    for case, path in _items(tree, "cases", ()):
        name = case.child("name")
        if name is None or not isinstance(name.value, str):
            continue
        if name.value in seen:
            problems.add(
                "E208",
                name.mark,
                (*path, "name"),
                f"line {seen[name.value]} already has a case {name.value!r}",
                fix="give each case a unique name",
            )
        seen.setdefault(name.value, name.mark.line)


def check_paths(tree: Node, problems: Problems) -> None:
    """Report every file outside the workspace."""
    cases = [*_items(tree, "cases", ())]
    expects = [(node, (*path, "expect")) for case, path in cases if (node := case.child("expect"))]
    for node, path in [(tree, ()), *cases, *expects]:
        files = node.child("files")
        for name, file in (files.entries() if files is not None else {}).items():
            parts = PurePosixPath(name).parts
            if not parts or name.startswith("/") or ".." in parts or "\\" in name:
                problems.add(
                    "E105",
                    file.at,
                    (*path, "files", name),
                    f"{name!r} is not a path within the workspace",
                    fix="name a file relative to the workspace",
                )


def check_references(tree: Node, plan: Plan, problems: Problems) -> None:
    """Report every name that the plan does not have."""
    known = _Known(plan, problems)
    known.played(tree, ())
    for case, path in _items(tree, "cases", ()):
        known.played(case, path)
        known.scheduled_events(case, path)
        expect = case.child("expect")
        if expect is not None:
            known.expected(expect, (*path, "expect"))


class _Known:
    """The names of a plan; reports others."""

    def __init__(self, plan: Plan, problems: Problems) -> None:
        self.problems = problems
        self.teams = frozenset(plan.teams)
        self.steps = step_paths(plan)
        self._ends = self.steps | {StepKey(step).path for step in self.steps}
        self.asking = asking_places(plan)
        self.tasks = agent_tasks(plan)
        self.signals = waited_for(plan)

    def played(self, node: Node, path: NodePath) -> None:
        """Check the names of simulated model and skill results."""
        for entry, place in _items(node, "answers", path):
            self._key(entry, "task", place, "E206", "task of an agent", self.tasks)
        for entry, place in _items(node, "skills", path):
            self._step(entry, "step", place)

    def scheduled_events(self, case: Node, path: NodePath) -> None:
        """Check the names of scheduled events."""
        for entry, place in _items(case, "decisions", path):
            self._key(entry, "approval", place, "E206", "step", self.asking, _asked_of)
        for entry, place in _items(case, "signals", path):
            self._key(entry, "signal", place, "E206", "signal", self.signals)
        for entry, place in _items(case, "redirects", path):
            self._key(entry, "team", place, "E201", "team", self.teams)
        for entry, place in _items(case, "skips", path):
            self._key(entry, "task", place, "E206", "step", self._ends, _step_name)
        for key in ("signals", "messages", "pauses", "amendments", "redirects", "skips"):
            for entry, place in _items(case, key, path):
                self._step(entry, "during", place)
        cancel = case.child("cancel")
        if cancel is not None:
            self._step(cancel, "during", (*path, "cancel"))
        for key in ("crash_after", "crash_during"):
            self._step(case, key, path)
            for node, place in _items(case, key, path):
                self._is(node, place, "E206", "step", self.steps, _step_name)

    def expected(self, expect: Node, path: NodePath) -> None:
        """Check the names of expectations."""
        for node, place in _items(expect, "path", path):
            for number, inner in enumerate(node.items()):
                self._is(inner, (*place, number), "E201", "team", self.teams)
            self._is(node, place, "E201", "team", self.teams)
        visits = expect.child("visits")
        for team, node in (visits.entries() if visits is not None else {}).items():
            if team not in self.teams:
                place = (*path, "visits", team)
                unknown(self.problems, node.at, place, "E201", "team", team, self.teams)
        within = {StepKey(step).path for step in self.steps} | self.teams
        for entry, place in _items(expect, "trail", path):
            self._key(entry, "team", place, "E201", "team", self.teams)
            self._key(entry, "step", place, "E206", "step", within, without_numbers)

    def _step(self, node: Node, key: str, path: NodePath) -> None:
        self._key(node, key, path, "E206", "step", self.steps, _step_name)

    def _key(
        self,
        node: Node,
        key: str,
        path: NodePath,
        code: Code,
        what: str,
        known: Collection[str],
        reduced: Callable[[str], str] = str,
    ) -> None:
        below = node.child(key)
        if below is not None:
            self._is(below, (*path, key), code, what, known, reduced)

    def _is(
        self,
        node: Node,
        path: NodePath,
        code: Code,
        what: str,
        known: Collection[str],
        reduced: Callable[[str], str] = str,
    ) -> None:
        name = node.value
        if isinstance(name, str) and not _PATTERN.search(name) and reduced(name) not in known:
            unknown(self.problems, node.mark, path, code, what, name, known)


def _asked_of(request: str) -> str:
    """Return the step of a request; a failed step waits below itself."""
    return _step_name(request).removesuffix(f"/{FAILED}")


def _step_name(reference: str) -> str:
    return without_rounds(parted(reference)[0])


def _items(node: Node, key: str, path: NodePath) -> Placed:
    """Yield the items of the list under a key, with paths from the root of the file."""
    below = node.child(key)
    for number, item in enumerate(below.items() if below is not None else ()):
        yield item, (*path, key, number)


def _checks(tree: Node) -> Placed:
    for case, path in _items(tree, "cases", ()):
        for entry, place in _items(case, "messages", path):
            reply = entry.child("reply")
            if reply is not None:
                yield reply, (*place, "reply")
        expect = case.child("expect")
        if expect is not None:
            yield from _checks_of(expect, (*path, "expect"))


def _checks_of(expect: Node, path: NodePath) -> Placed:
    for key in (*_MAPPINGS, "error"):
        below = expect.child(key)
        for name, node in (below.entries() if below is not None else {}).items():
            yield node, (*path, key, name)
    for key in _COUNTS:
        node = expect.child(key)
        if node is not None:
            yield node, (*path, key)
    for entry, place in _items(expect, "trail", path):
        for key, node in entry.entries().items():
            if key != "event":
                yield node, (*place, key)
    for entry, place in _items(expect, "notices", path):
        for key, node in entry.entries().items():
            yield node, (*place, key)
