"""Reads of variables and task outcomes that come before any step can have set them."""

from collections.abc import Iterable, Iterator, Sequence

from coterie.dsl.analysis.step_reads import Guards, Reader, guarded
from coterie.dsl.analysis.template_reads import Read
from coterie.dsl.analysis.variable_scopes import TEAMS, Bodies, Body
from coterie.dsl.model.facts import ROOTS
from coterie.dsl.model.step_kinds.step_list import (
    Choosing,
    Concurrent,
    EachRound,
    Grouped,
    StepList,
    Tried,
    WhenHolds,
    form_of,
)
from coterie.dsl.model.steps import SetStep, Step
from coterie.dsl.model.traversal.step_walk import walk
from coterie.dsl.paths import Path
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.values import NodePath

Names = int
"""A bit for each value of a body: `("tasks", name)` for an outcome, `(name,)` for a variable. Each
step copies the set, so ten thousand values must cost no more than a kilobyte.
"""


def check_variables(bodies: Bodies, reader: Reader, tree: Node, problems: Problems) -> None:
    """Report every read that certainly comes too early, within each body."""
    for body in (*bodies.teams.values(), *bodies.plans.values()):
        check = _Check(body, reader, tree, problems)
        initial_names = check.mask((name,) for name in body.given)
        if body.team is not None:
            before = len(body.team.steps) - len(body.steps)  # the one that aggregates
            initial_names |= check.mask(("tasks", step.name) for step in body.team.steps[:before])
        after = check.steps(body.steps, body.path, initial_names, None)
        if body.team is not None:
            check.order = len(check.positions)
            check.reads(reader.routing(body.team, (*TEAMS, body.key, "routing")), after)


@rule("W509")
def read_too_early(
    path: Sequence[str],
    key: Sequence[str],
    setter: str,
    *,
    is_later: bool,
    is_asked: bool,
) -> ProblemText:
    name = ".".join(path)
    if len(key) == 2:
        what = f"the outcome of the task {key[1]!r}"
        why = "which runs later" if is_later else "which stays within the rounds of its loop"
    else:
        what = f"the variable {'.'.join(key)!r}"
        when = "later" if is_later else "for the steps within it alone"
        why = f"which {setter!r} sets {when}"
    guard = "" if is_asked else f", or write `{{{{ {name} | default(...) }}}}`"
    return ProblemText(
        f"{name} cannot be there yet: it asks for {what}, {why}",
        fix=f"move the step that sets it before this one{guard}",
    )


class _Check:
    """The check of one body, which tracks what the steps so far may have set."""

    def __init__(self, body: Body, reader: Reader, tree: Node, problems: Problems) -> None:
        self.reader = reader
        self.tree = tree
        self.problems = problems
        self.setters = _setters(body)
        self.bits: dict[Path, int] = {}
        self.reported: set[Path] = set()
        self.positions = {path: order for order, (_, path) in enumerate(body.steps_with_paths)}
        self.order = len(self.positions)
        """The current step's depth of nesting."""

    def mask(self, keys: Iterable[Path]) -> Names:
        """Return the set of these values."""
        mask = 0
        for key in keys:
            mask |= self.bits.setdefault(key, 1 << len(self.bits))
        return mask

    def reads(self, reads: Iterable[Read], available: Names) -> None:
        """Report reads of values that no step can have set."""
        for read in reads:
            key = _key(read.path)
            if (
                read.needed
                and key in self.setters
                and not available & self.bits.get(key, 0)
                and key not in self.reported
            ):
                self.reported.add(key)
                self._note(read, key)

    def steps(
        self, steps: Sequence[Step], path: NodePath, available: Names, guards: Guards | None
    ) -> Names:
        """Check steps in order.

        Returns:
            What may be set after them.
        """
        for index, step in enumerate(steps):
            here = (*path, index)
            self.order = self.positions[here]
            if step.retry is not None:  # an attempt can read what the attempt before it has set
                available |= self.mask(_gains([step]))
            own = self.reader.before(step, here)
            earlier = self._set_before(step)
            for read in guarded(own, guards):
                self.reads((read,), available | earlier.get(_key_of_value(read, here), 0))
            within = Guards.of(own, guards)
            inside = self._inside(step, here, available, within)
            available = inside | self.mask((*_sets(step), ("tasks", step.name)))
            self.order = self.positions[here]
            self.reads(guarded(self.reader.after(step, here), within), available)
        return available

    def _inside(self, step: Step, path: NodePath, available: Names, guards: Guards | None) -> Names:
        lists = tuple(step.lists(path))
        match form_of(lists):
            case None:
                return available
            case EachRound() as rounds:
                return self._loop(step, lists[0], rounds, path, available, guards)
            case WhenHolds() | Concurrent():
                after = available
                for inner in lists:
                    after |= self.steps(inner.steps, inner.path, available, guards)
                return after
            case Choosing():
                return self._graph(step, lists, path, available, guards)
            case Grouped():
                return self.steps(lists[0].steps, lists[0].path, available, guards)
            case Tried():
                return self._try(step, lists, available, guards)

    def _loop(
        self,
        step: Step,
        body: StepList,
        rounds: EachRound,
        path: NodePath,
        available: Names,
        guards: Guards | None,
    ) -> Names:
        gains = self.mask(_gains(body.steps))
        item = self.mask(((rounds.item,),) if rounds.item else ())
        again = 0 if rounds.is_concurrent or rounds.is_once else gains
        self.steps(body.steps, body.path, available | item | again, guards)
        self.order = self.positions[path]
        self.reads(guarded(self.reader.between(step, path), guards), available | item | gains)
        if rounds.is_concurrent:
            return available
        stays = available | gains
        return stays if step.timeout is not None or not item & ~available else stays & ~item

    def _graph(
        self,
        step: Step,
        lists: Sequence[StepList],
        path: NodePath,
        available: Names,
        guards: Guards | None,
    ) -> Names:
        """Each task has variables of its own; those of `select` stay."""
        select, body, failed = lists
        graph = self.mask(
            (variable.name,) for variable in step.variables() if variable.exists == "provided"
        )
        inside = graph | self.mask(
            (variable.name,) for variable in step.variables() if variable.exists == "within"
        )
        selected = self.mask(_gains(select.steps))
        chosen = self.steps(select.steps, select.path, available | graph | selected, guards)
        after = self.steps(body.steps, body.path, chosen | inside, guards)
        gains = self.mask(_gains(body.steps))
        self.steps(failed.steps, failed.path, chosen | inside | gains, guards)
        self.order = self.positions[path]
        between = self.reader.between(step, path)
        added = self.reader.added(step, path)
        self.reads(guarded((read for read in between if read not in added), guards), chosen)
        self.reads(guarded(added, guards), after)
        return available | selected

    def _try(
        self, step: Step, lists: Sequence[StepList], available: Names, guards: Guards | None
    ) -> Names:
        tried, *clauses, last = lists
        available = available | self.steps(tried.steps, tried.path, available, guards)
        if clauses:
            available |= self.mask(
                (variable.name,) for variable in step.variables() if variable.exists == "provided"
            )
        for clause in clauses:
            available |= self.steps(clause.steps, clause.path, available, guards)
        return self.steps(last.steps, last.path, available, guards)

    def _set_before(self, step: Step) -> dict[str, Names]:
        """Return `{value of a set: the values that it fills before}`: it fills them in order."""
        masks_before: dict[str, Names] = {}
        before = 0
        for name in step.values if isinstance(step, SetStep) else ():
            masks_before[name] = before
            before |= self.mask(((name,),))
        return masks_before

    def _note(self, read: Read, key: Path) -> None:
        setter, order = self.setters[key]
        self.problems.report(
            read_too_early(read.path, key, setter, is_later=order > self.order, is_asked=read.asks),
            self.tree.value_at(read.document_path),
        )


def _key(path: Path) -> Path:
    """Return what must be set for a path to exist; nothing for what the run itself provides."""
    if path[0] == "tasks":
        return path[:2]
    return () if path[0] in ROOTS else path[:1]


def _sets(step: Step) -> Iterator[Path]:
    """Yield the variables that a step sets."""
    yield from ((variable.name,) for variable in step.variables() if variable.exists == "after")


def _key_of_value(read: Read, path: NodePath) -> str:
    """Return the value of a `set` whose template reads; empty for any other read of the step."""
    match read.document_path[len(path) :]:
        case ("values", str() as name, *_):
            return name
        case _:
            return ""


def _gains(steps: Sequence[Step]) -> Iterator[Path]:
    """Yield everything that steps and nested steps may set."""
    return (key for step, _ in walk(steps, ()) for key in _all_sets(step))


def _all_sets(step: Step) -> Iterator[Path]:
    yield ("tasks", step.name)
    yield from ((variable.name,) for variable in step.variables())


def _setters(body: Body) -> dict[Path, tuple[str, int]]:
    """Map each value to the first step that sets it, and the depth of that step."""
    setters: dict[Path, tuple[str, int]] = {}
    for order, (step, _) in enumerate(body.steps_with_paths):
        for key in _all_sets(step):
            setters.setdefault(key, (step.name, order))
    return setters
