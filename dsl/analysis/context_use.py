"""Who reads and who writes each declared path of the context."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from coterie.dsl.analysis.dataflow import Input, output_reads
from coterie.dsl.analysis.step_reads import Reader
from coterie.dsl.analysis.variable_scopes import TEAMS, Bodies, bodies
from coterie.dsl.checks.context_declarations import PLACE
from coterie.dsl.evaluate.context_writes import written_value
from coterie.dsl.evaluate.declared_values import form_of
from coterie.dsl.hooks.hook_reads import read_by
from coterie.dsl.json_schema.keyword_check import excerpt
from coterie.dsl.model.context.declarations import Declarations
from coterie.dsl.model.plan import Plan, Team
from coterie.dsl.model.steps import LegacyAgentStep, TeamStep
from coterie.dsl.path_sets import PathIndex
from coterie.dsl.paths import Path, parse
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Mark, Node
from coterie.dsl.templates.path_templates import fixed_part
from coterie.dsl.values import Json

_REPLACE = "replace"
_NO_DOCUMENT = Node({}, Mark("", 1, 1))


@dataclass(slots=True)
class ContextUsers:
    """The teams that use one path, in document order."""

    readers: list[str] = field(default_factory=list[str])
    writers: list[str] = field(default_factory=list[str])
    resetters: list[str] = field(default_factory=list[str])
    operations: list[str] = field(default_factory=list[str])
    """What the writers do: `replace`, `append`, ..."""

    def write(self, writer: str, operations: Iterable[str]) -> None:
        """Add one writer with what it does."""
        self.writers.append(writer)
        self.operations = [*dict.fromkeys((*self.operations, *operations))]


def users_of_plan(plan: Plan) -> dict[str, ContextUsers]:
    """Return who uses each declared path of a plan, whose document is not at hand."""
    if not plan.context:
        return {}
    return context_users(plan, bodies(plan, _NO_DOCUMENT), Reader(plan, _NO_DOCUMENT))


def context_users(plan: Plan, parts: Bodies, reader: Reader) -> dict[str, ContextUsers]:
    """Return `{declared path: the teams that use it, a path above it or below it}`."""
    users = {path: ContextUsers() for path in plan.context}
    declared = _Declared(users)
    outputs: dict[str, list[Path]] = {}
    for owner, read in output_reads(plan):
        outputs.setdefault(owner if owner in plan.teams else "", []).append(read.path)
    for team in plan.teams.values():
        own = _within_context(outputs.get(team.id, ()))
        declared.add_readers(team.id, (*_reads(team, parts, reader), *own))
        declared.add_writers(team.id, _writes(team, parts))
        for path in users.keys() & set(team.resets):
            users[path].resetters.append(team.id)
    declared.add_readers("the output", _within_context(outputs.get("", ())))
    _add_hooks(plan, declared)
    return users


class _Declared:
    """The declared paths, found by what overlaps them."""

    def __init__(self, users: Mapping[str, ContextUsers]) -> None:
        self._users = {parse(path): path_users for path, path_users in users.items()}
        self._index = PathIndex()
        for path in self._users:
            self._index.add(path)

    def add_readers(self, reader: str, reads: Iterable[Path]) -> None:
        """Add one reader to what it reads."""
        paths = {near for path in dict.fromkeys(reads) for near in self._index.overlapping(path)}
        for path in paths:
            self._users[path].readers.append(reader)

    def add_writers(self, writer: str, writes: Iterable[tuple[Path, str]]) -> None:
        """Add one writer to what it writes, with its operations there."""
        operations_by_path: dict[Path, list[str]] = {}
        for path, operation in dict.fromkeys(writes):
            for near in self._index.overlapping(path):
                operations_by_path.setdefault(near, []).append(operation)
        for path, operations in operations_by_path.items():
            self._users[path].write(writer, operations)


def _add_hooks(plan: Plan, declared: _Declared) -> None:
    """Add the hooks of the document and of its personas, which belong to no team."""
    own = [hook for persona in plan.personas.values() for hook in persona.hooks]
    declared.add_readers(
        "the hooks",
        _within_context(path for hook in (*plan.hooks, *own) for path in read_by(hook)),
    )
    writes = [
        path
        for hook in plan.hooks
        if hook.on == "before_run" and isinstance(hook.value, dict)
        for path in _updated_paths(hook.value)
    ]
    declared.add_writers("the hooks", writes)


def _within_context(paths: Iterable[Path]) -> Iterator[Path]:
    yield from (path[1:] for path in paths if path[0] == "context")


def _reads(team: Team, parts: Bodies, reader: Reader) -> Iterator[Path]:
    yield from _within_context(read.path for read in reader.team(parts, team, (*TEAMS, team.id)))
    for body in parts.within(parts.teams[team.id]):
        for step, _ in body.steps_with_paths:
            if isinstance(step, LegacyAgentStep) and step.input is None:
                yield ()  # an older agent class sees the whole context


def _writes(team: Team, parts: Bodies) -> Iterator[tuple[Path, str]]:
    for updates in route_updates(team):
        yield from _updated_paths(updates)
    for body in parts.within(parts.teams[team.id]):
        for step, _ in body.steps_with_paths:
            yield from _updated_paths(step.context_updates)
            if isinstance(step, TeamStep):
                yield from (((key,), _REPLACE) for key in step.input or {})


def _updated_paths(updates: Json) -> Iterator[tuple[Path, str]]:
    for key, value in updates.items():
        yield fixed_part(key), written_value(value).operation or _REPLACE


def route_updates(team: Team) -> Iterator[Json]:
    """Yield the updates of each route of a team."""
    if team.routing is not None:
        yield team.routing.context_updates
        yield from (rule.context_updates for rule in team.routing.rules)


def declared_inputs(
    declared: Declarations, users: Mapping[str, ContextUsers], tree: Node
) -> tuple[Input, ...]:
    """Return the inputs of a document that declares them, in written order."""
    return tuple(
        Input(
            path,
            declaration.required,
            tree.find((*PLACE, path)).at,
            next(iter(users[path].readers), ""),
            form_of(declaration),
            "" if declaration.required else excerpt(declaration.default),
            declaration.keep_last,
            tuple(users[path].operations),
        )
        for path, declaration in declared.items()
    )


@rule("W519")
def declared_unused(path: str, *, is_required: bool) -> ProblemText:
    requirement = ", though every start must give it" if is_required else ""
    return ProblemText(
        f"no team reads or writes the declared path {path!r}{requirement}",
        fix="use it, or remove the declaration",
    )


def check_unused(
    declared: Declarations, users: Mapping[str, ContextUsers], tree: Node, problems: Problems
) -> None:
    """Report each declared path that no team reads or writes."""
    for path, declaration in declared.items():
        path_users = users[path]
        if not path_users.readers and not path_users.writers:
            key_path = (*PLACE, path)
            details = declared_unused(path, is_required=declaration.required)
            problems.report(details, tree.key_at(key_path))
