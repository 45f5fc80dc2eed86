"""Paths of the context that a document names: they are declared, and updates fit."""

from collections.abc import Collection, Iterator, Sequence

from pydantic import JsonValue

from coterie.dsl.checks.contracts.known_answers import missing_field
from coterie.dsl.checks.steps.step_scope import StepScope, TextSpot
from coterie.dsl.errors import listed, nearest, replaced_by_nearest
from coterie.dsl.evaluate.context_writes import Operation, written_value
from coterie.dsl.evaluate.declared_values import form_of, kept, value_problems
from coterie.dsl.model.context.declarations import (
    Declarations,
    declared_above,
    declared_at,
    declared_below,
)
from coterie.dsl.model.document import TeamDocument
from coterie.dsl.paths import Path, parse
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.templates.path_templates import fixed_part
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import UNREADABLE, Json, NodePath


def stranger(path: Path, declared: Declarations) -> str | None:
    """Return the shortest part of a path that no declaration covers, or None."""
    for length in range(1, len(path) + 1):
        part = path[:length]
        if declared_at(part, declared) is not None:
            return None
        if not declared_below(part, declared):
            return ".".join(part)
    return None


@rule("E215")
def undeclared_path(path: str, known: Collection[str], *, below: Collection[str]) -> ProblemText:
    if below:
        return ProblemText(
            f"the context path {path!r} is not declared itself",
            listed(below),
            "name one of these paths, or declare it under `orchestration.context`",
        )
    return ProblemText(
        f"the context path {path!r} is not declared",
        listed(known),
        nearest(path, known) or "declare it under `orchestration.context`",
    )


def check_read(scope: StepScope, path: Path, spot: TextSpot) -> None:
    """Note a read of a path that is not declared."""
    declared = scope.outputs.context
    if not declared or UNREADABLE in path:
        return
    strange = stranger(path, declared)
    if strange is not None:
        details = undeclared_path(strange, _described_paths(scope.problems, declared), below=())
        scope.report_spot(details, spot)


def _described_paths(problems: Problems, declared: Declarations) -> tuple[str, ...]:
    """Return the declared paths for the text of the next problem, if it gets one."""
    return tuple(declared) if problems.describes("E215") else ()


@rule("E405")
def operation_mismatch(
    operation: str, path: str, form: str, fitting: tuple[str, ...]
) -> ProblemText:
    choices = f"{', '.join(f'`{name}`' for name in fitting)} or " if fitting else ""
    return ProblemText(
        f"`{operation}` cannot update {path!r}, which is {form}",
        fix=f"write {choices}a value that replaces it, or correct the schema",
    )


def check_declared(scope: StepScope, key: str, value: JsonValue, key_path: NodePath) -> None:
    """Note an update of a path that is not declared, and what its declared path cannot hold.

    Of a key with templates, the part before the first one counts.
    """
    declared = scope.outputs.context
    if not declared:
        return
    path = fixed_part(key)
    operation = written_value(value).operation
    if is_template(key):
        if path and (declared_above(path, declared) or not declared_below(path, declared)):
            _owner(scope, path, key_path)
        return
    if operation is None:
        if not _misspelt(scope, path, value, key_path):
            _check_write(scope, path, value, key_path)
        return
    owner = _owner(scope, path, key_path)
    if owner is None or parse(owner) != path:
        return
    needed_kinds = _HELD[operation]
    types = declared[owner].schema_.get("type")
    possible_kinds = (
        types if isinstance(types, list) else [types] if types is not None else needed_kinds
    )
    if not any(kind in needed_kinds for kind in possible_kinds):
        fitting = tuple(
            name for name, held in _HELD.items() if any(kind in held for kind in possible_kinds)
        )
        details = operation_mismatch(operation, owner, form_of(declared[owner]), fitting)
        scope.report_value(details, key_path)


_HELD: dict[Operation, tuple[str, ...]] = {
    "append": ("array",),
    "extend": ("array",),
    "merge": ("object",),
    "increment": ("integer", "number"),
    "remove": ("array", "object"),
}
"""`{operation: the types of JSON Schema that it updates}`."""


OPERATION_WORDS = ("append", "extend", "merge", "increment", "remove")


@rule("E405")
def unknown_operation(name: str, path: str, form: str) -> ProblemText:
    return ProblemText(
        f"{name!r} is not an operation, and {path!r} is {form}, which a mapping cannot replace",
        listed(OPERATION_WORDS),
        nearest(name, OPERATION_WORDS) or "write an operation, or a value that replaces it",
        edit=replaced_by_nearest(name, OPERATION_WORDS),
    )


def _misspelt(scope: StepScope, path: Path, value: JsonValue, key_path: NodePath) -> bool:
    """Note a mapping of one unknown operation where no mapping can be; return whether it is one."""
    declaration = scope.outputs.context.get(".".join(path))
    types = None if declaration is None else declaration.schema_.get("type")
    if declaration is None or types is None or not isinstance(value, dict) or len(value) != 1:
        return False
    if types == "object" or (isinstance(types, list) and "object" in types):
        return False
    (name,) = value
    details = unknown_operation(name, ".".join(path), form_of(declaration))
    scope.problems.report(details, Place(scope.tree.find((*key_path, name)).at, key_path))
    return True


def check_team_input(scope: StepScope, given: Json, key_path: NodePath) -> None:
    """Note the input of a team, as nested mappings, that the declared context does not have."""
    if scope.outputs.context:
        for path, value, where in _leaves(given, (), key_path, scope.outputs.context):
            _check_write(scope, path, value, where)


@rule("E107")
def reset_without_default(path: str) -> ProblemText:
    return ProblemText(
        f"{path!r} has no default, so nothing can reset it",
        fix=f"add `default:` to {path!r}, or remove it from `resets`",
    )


@rule("E107")
def resets_undeclared() -> ProblemText:
    return ProblemText(
        "`resets` sets declared paths back to their defaults, and the document declares none",
        fix="declare them under `orchestration.context`, or remove `resets`",
    )


def check_resets(
    team: TeamDocument, declared: Declarations, tree: Node, problems: Problems, team_path: NodePath
) -> tuple[str, ...]:
    """Note the paths that a team cannot reset; return those that it can."""
    paths: list[str] = []
    for index, path in enumerate(team.resets):
        here = (*team_path, "resets", index)
        if not declared:
            problems.report(resets_undeclared(), tree.key_at(here[:-1]))
        elif path not in declared:
            below = declared_below(parse(path), declared)
            details = undeclared_path(path, _described_paths(problems, declared), below=below)
            problems.report(details, tree.value_at(here))
        elif declared[path].required:
            problems.report(reset_without_default(path), tree.value_at(here))
        else:
            paths.append(path)
    return tuple(dict.fromkeys(paths))


@rule("E405")
def update_refused(path: str, reason: str) -> ProblemText:
    return ProblemText(
        f"the declared context refuses this value of {path!r}: {reason}",
        fix="write a value that the schema allows, or correct the schema",
    )


def _check_write(scope: StepScope, path: Path, value: JsonValue, key_path: NodePath) -> None:
    owner = _owner(scope, path, key_path)
    if owner is None or parse(owner) != path or any(is_template(text) for text in _texts(value)):
        return
    declaration = scope.outputs.context[owner]
    problems = value_problems(owner, kept(value, declaration), declaration)
    if problems:
        scope.report_value(update_refused(owner, "; ".join(problems)), key_path)


@rule("E210")
def unknown_field(
    owner: Sequence[str], path: Sequence[str], segment: str, known: Collection[str]
) -> ProblemText:
    return ProblemText(
        f"{_data(owner)} never has {'.'.join(path)}: its schema has no {segment!r} there",
        listed(known),
        nearest(segment, known),
    )


def _data(owner: Sequence[str]) -> str:
    """Name what a path of the facts leads to."""
    match owner:
        case ("tasks", task, "data"):
            return f"the data of task {task!r}"
        case ("teams", team, "tasks", task, "data"):
            return f"the data of task '{team}/{task}'"
        case ("context", path):
            return context_path(path)
        case _:
            return f"the variable {owner[0]!r}"


def context_path(path: str) -> str:
    """Return how a problem calls a path of the context."""
    return f"the context path {path!r}"


def _owner(scope: StepScope, path: Path, key_path: NodePath) -> str | None:
    """Return the declared path that a write belongs to; None, and a problem, if there is none."""
    declared = scope.outputs.context
    owner = declared_above(path, declared)
    if owner is None:
        below = declared_below(path, declared)
        strange = ".".join(path) if below else stranger(path, declared)
        names = _described_paths(scope.problems, declared)
        details = undeclared_path(strange or "", names, below=below)
        scope.report(details, key_path)
        return None
    rest = path[len(parse(owner)) :]
    missing = missing_field(declared[owner].schema_, rest)
    if missing is None:
        return owner
    names = missing.known if scope.problems.describes("E210") else ()
    details = unknown_field(("context", owner), rest, missing.segment, names)
    scope.report(details, key_path)
    return None


def _leaves(
    mapping: Json, path: Path, key_path: NodePath, declared: Declarations
) -> Iterator[tuple[Path, JsonValue, NodePath]]:
    for key, value in mapping.items():
        here = (*path, key)
        is_above = declared_at(here, declared) is None and declared_below(here, declared)
        if is_above and isinstance(value, dict):
            yield from _leaves(value, here, (*key_path, key), declared)
        elif not (is_above and isinstance(value, str) and is_template(value)):
            yield here, value, (*key_path, key)


def _texts(value: JsonValue) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _texts(item)
        case dict():
            for key, item in value.items():
                yield key
                yield from _texts(item)
        case _:
            return
