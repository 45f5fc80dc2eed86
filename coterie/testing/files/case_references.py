"""Report names in a test file that the team does not have."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePosixPath

from coterie.dsl.model.plan import Plan
from coterie.dsl.model.traversal.step_paths import (
    agent_tasks,
    asking_steps,
    call_paths,
    called_agents,
    step_paths,
)
from coterie.dsl.model.traversal.step_walk import waited_for
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.values import NodePath
from coterie.testing.files.expectations import problems_of
from coterie.testing.files.full_names import PATTERN, names_within, split_step
from coterie.testing.files.short_names import MAX_SHOWN, StepNames, base_of, nearest_names

_MAPPINGS = ("visits", "context", "output", "files")
_COUNTS = ("model_calls", "function_calls", "tokens", "cost", "teams_run", "duration")
_TIMES = ("duration", "seconds")

Placed = Iterator[tuple[Node, NodePath]]


def check_operators(tree: Node, problems: Problems) -> None:
    """Report every invalid check in the file."""
    for node, path in _checks(tree):
        problems_of(node, path, problems, time=path[-1] in _TIMES)


@rule("E208")
def entry_name_taken(what: str, name: str, line: int, fix: str) -> ProblemText:
    return ProblemText(f"line {line} already has {what} {name!r}", fix=fix)


def check_names(tree: Node, key: str, what: str, fix: str, problems: Problems) -> None:
    """Report entries of a list with the same name."""
    lines: dict[str, int] = {}
    for entry, path in _items(tree, key, ()):
        name = entry.child("name")
        if name is None or not isinstance(name.value, str):
            continue
        if name.value in lines:
            details = entry_name_taken(what, name.value, lines[name.value], fix)
            problems.report(details, Place(name.mark, (*path, "name")))
        lines.setdefault(name.value, name.mark.line)


@rule("E105")
def path_outside_workspace(name: str) -> ProblemText:
    return ProblemText(
        f"{name!r} is not a path within the workspace",
        fix="name a file relative to the workspace",
    )


def check_paths(tree: Node, problems: Problems) -> None:
    """Report every file outside the workspace."""
    cases = [*_items(tree, "cases", ())]
    expects = [(node, (*path, "expect")) for case, path in cases if (node := case.child("expect"))]
    for node, path in [(tree, ()), *cases, *expects]:
        files = node.child("files")
        for name, file in (files.entries() if files is not None else {}).items():
            parts = PurePosixPath(name).parts
            if not parts or name.startswith("/") or ".." in parts or "\\" in name:
                place = Place(file.at, (*path, "files", name))
                problems.report(path_outside_workspace(name), place)


def check_references(tree: Node, plan: Plan, problems: Problems) -> None:
    """Report every name that the plan does not have."""
    checker = _Known(plan, problems)
    checker.simulated_results(tree, ())
    for case, path in _items(tree, "cases", ()):
        checker.simulated_results(case, path)
        checker.scheduled_events(case, path)
        expect = case.child("expect")
        if expect is not None:
            checker.expected(expect, (*path, "expect"))


@rule("E105")
def one_execution_named(during: object, step: str) -> ProblemText:
    return ProblemText(
        f"`during` is {during!r}, and it names a step, not one execution of it",
        fix=f"write {step!r}, and `after:` for a later moment",
    )


@rule("E206")
def ambiguous_step(name: str, steps: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"{name!r} is the end of the names of {len(steps)} steps",
        _shown_names(steps[:MAX_SHOWN], len(steps)),
        f"write more of it, such as {steps[0]!r}",
    )


@rule("E206")
def unknown_step(name: str, near: Sequence[str], known: int) -> ProblemText:
    return ProblemText(
        f"unknown step {name!r}",
        _shown_names(near, known),
        f"did you mean {near[0]!r}?" if near else "",
    )


class _Known:
    """The names of a plan; reports others."""

    def __init__(self, plan: Plan, problems: Problems) -> None:
        self.problems = problems
        self.teams = frozenset(plan.teams)
        self._plan = plan
        calls = call_paths(plan)
        self.steps = StepNames(step_paths(plan) | calls)
        self.asking = StepNames(asking_steps(plan) | calls)
        self.tasks = agent_tasks(plan) | called_agents(plan)
        self.signals = waited_for(plan)

    def simulated_results(self, node: Node, path: NodePath) -> None:
        """Check the names of simulated model and tool function results."""
        for entry, inner_path in _items(node, "answers", path):
            self._key(entry, "task", inner_path, "task of an agent", self.tasks)
        for entry, inner_path in _items(node, "functions", path):
            self._step(entry, "step", inner_path)

    def scheduled_events(self, case: Node, path: NodePath) -> None:
        """Check the names of scheduled events."""
        for entry, inner_path in _items(case, "decisions", path):
            self._step(entry, "approval", inner_path, self.asking)
        for entry, inner_path in _items(case, "signals", path):
            self._key(entry, "signal", inner_path, "signal", self.signals)
        for entry, inner_path in _items(case, "redirects", path):
            self._key(entry, "team", inner_path, "team", self.teams)
        for key, named in (("skips", "task"), ("says", "step")):
            for entry, inner_path in _items(case, key, path):
                self._step(entry, named, inner_path)
        self._moments(case, path)
        for key in ("crash_after", "crash_during"):
            self._step(case, key, path)
            for node, inner_path in _items(case, key, path):
                self._is_step(node, inner_path, self.steps)

    def _moments(self, case: Node, path: NodePath) -> None:
        """Check the steps during which events happen."""
        for key in ("signals", "messages", "pauses", "amendments", "redirects", "skips", "says"):
            for entry, inner_path in _items(case, key, path):
                self._moment(entry, inner_path)
        cancel = case.child("cancel")
        if cancel is not None:
            self._moment(cancel, (*path, "cancel"))

    def expected(self, expect: Node, path: NodePath) -> None:
        """Check the names of expectations."""
        for node, inner_path in _items(expect, "path", path):
            for number, inner in enumerate(node.items()):
                self._is(inner, (*inner_path, number), "team", self.teams)
            self._is(node, inner_path, "team", self.teams)
        visits = expect.child("visits")
        for team, node in (visits.entries() if visits is not None else {}).items():
            if team not in self.teams:
                inner_path = (*path, "visits", team)
                unknown(self.problems, Place(node.at, inner_path), "team", team, self.teams)
        for entry, inner_path in _items(expect, "trail", path):
            self._key(entry, "team", inner_path, "team", self.teams)
            team = entry.child("team")
            self._trail_step(entry, None if team is None else team.value, inner_path)

    def _trail_step(self, entry: Node, team: object, path: NodePath) -> None:
        """Check the step of an expected entry of the trail, with or without its team."""
        node = entry.child("step")
        if node is not None and isinstance(node.value, str):
            team, step = split_step(self._plan, node.value, team)
            self._is_step(node, (*path, "step"), names_within(self._plan, team), step)

    def _moment(self, node: Node, path: NodePath) -> None:
        """Check the step during which something happens: in every execution, never in one."""
        during = node.child("during")
        if during is None:
            return
        step, number, _ = str(during.value).partition("#")
        if number:
            place = Place(during.mark, (*path, "during"))
            self.problems.report(one_execution_named(during.value, step), place)
            return
        self._step(node, "during", path)

    def _step(
        self, node: Node, key: str, path: NodePath, step_names: StepNames | None = None
    ) -> None:
        below = node.child(key)
        if below is not None:
            self._is_step(below, (*path, key), step_names or self.steps)

    def _is_step(
        self, node: Node, path: NodePath, step_names: StepNames, name: object = None
    ) -> None:
        """Report a step that does not exist, with the nearest, or a short name of several."""
        name = node.value if name is None else name
        if not isinstance(name, str) or PATTERN.search(name):
            return
        steps = step_names.candidates(name)
        if len(steps) > 1:
            self.problems.report(ambiguous_step(name, steps), Place(node.mark, path))
        elif not steps:
            near = nearest_names(base_of(name), step_names.known)
            self.problems.report(
                unknown_step(name, near, len(step_names.known)), Place(node.mark, path)
            )

    def _key(self, node: Node, key: str, path: NodePath, what: str, names: Collection[str]) -> None:
        below = node.child(key)
        if below is not None:
            self._is(below, (*path, key), what, names)

    def _is(self, node: Node, path: NodePath, what: str, names: Collection[str]) -> None:
        name = node.value
        if isinstance(name, str) and not PATTERN.search(name) and name not in names:
            near = nearest_names(name, names)
            unknown(self.problems, Place(node.mark, path), what, name, near)


def _shown_names(names: Sequence[str], of: int) -> str:
    """List names, and say how many are left out."""
    others = of - len(names)
    more = f", and {others} {'other' if others == 1 else 'others'}" if others > 0 else ""
    return f"{', '.join(names)}{more}"


def _items(node: Node, key: str, path: NodePath) -> Placed:
    """Yield the items of the list under a key, with paths from the root of the file."""
    below = node.child(key)
    for number, item in enumerate(below.items() if below is not None else ()):
        yield item, (*path, key, number)


def _checks(tree: Node) -> Placed:
    for case, path in _items(tree, "cases", ()):
        for entry, inner_path in _items(case, "messages", path):
            reply = entry.child("reply")
            if reply is not None:
                yield reply, (*inner_path, "reply")
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
    for entry, inner_path in _items(expect, "trail", path):
        for key, node in entry.entries().items():
            if key != "event":
                yield node, (*inner_path, key)
    for entry, inner_path in _items(expect, "notices", path):
        for key, node in entry.entries().items():
            yield node, (*inner_path, key)
