"""The declared context of a document: its names, schemas, defaults and bounds."""

import re
from collections.abc import Collection, Mapping
from typing import Final

from pydantic import JsonValue

from coterie.dsl.errors import nearest, replaced_by_nearest
from coterie.dsl.evaluate.declared_values import form_of, reset, value_problems
from coterie.dsl.json_schema.keyword_check import excerpt
from coterie.dsl.json_schema.schema_grammar import KEYWORDS
from coterie.dsl.json_schema.schema_problems import schema_problem
from coterie.dsl.model.context.declarations import (
    Declarations,
    DeclaredPath,
    declared_above,
    declared_below,
)
from coterie.dsl.paths import MISSING, get, parse
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.values import Json, NodePath

PLACE: Final[NodePath] = ("orchestration", "context")
_OWN = ("default", "keep_last")
PATH_PATTERN: Final = r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*"
"""A path that a document may declare."""
_NAME = re.compile(rf"(?:{PATH_PATTERN})\Z")


def declared_context(
    written: Mapping[str, Json] | None, tree: Node, problems: Problems
) -> dict[str, DeclaredPath]:
    """Check the declarations of a document, and return them in written order."""
    check = _Check(tree, problems)
    return check.declared(written or {})


@rule("E105")
def declared_path_name(path: str) -> ProblemText:
    return ProblemText(
        f"no context path can be called {path!r}",
        "names with letters, digits, _ and -, joined by dots",
    )


@rule("E107")
def declared_below_value(path: str, above: str, form: str) -> ProblemText:
    return ProblemText(
        f"the path {path!r} lies below {above!r}, which is {form}",
        fix=f"declare {above!r} with `type: object`, or rename one of them",
    )


@rule("E101")
def unknown_keyword(path: str, keyword: str, known: Collection[str]) -> ProblemText:
    return ProblemText(
        f"{keyword!r} is not a keyword of a declared path ({path!r})",
        "default, keep_last, and the keywords of JSON Schema",
        nearest(keyword, known),
        edit=replaced_by_nearest(keyword, known),
    )


@rule("E505")
def unsound_path_schema(path: str, reason: str) -> ProblemText:
    return ProblemText(
        f"the schema of the context path {path!r} cannot be used: {reason}",
        fix="correct the schema",
    )


@rule("E405")
def default_refused(path: str, reason: str, *, is_filled: bool) -> ProblemText:
    what = "the default, filled with the defaults below it," if is_filled else "the default"
    return ProblemText(
        f"{what} of {path!r} does not match its own schema: {reason}",
        fix="correct the default or the schema",
    )


@rule("E405")
def default_longer(path: str, length: int, kept: int) -> ProblemText:
    return ProblemText(
        f"the default of {path!r} has {length} items, and `keep_last: {kept}` keeps fewer",
        fix="shorten the default, or raise `keep_last`",
    )


@rule("E106")
def keep_last_form(path: str, shown: str) -> ProblemText:
    return ProblemText(f"'keep_last' of {path!r} is {shown}", "a whole number of at least 1")


@rule("E107")
def keep_last_without_list(path: str, form: str) -> ProblemText:
    return ProblemText(
        f"`keep_last` bounds a list, and {path!r} is {form}",
        fix="write `type: array`, or remove `keep_last`",
    )


@rule("E107")
def keep_last_below_minimum(path: str, kept: int, minimum: int) -> ProblemText:
    return ProblemText(
        f"`keep_last: {kept}` of {path!r} leaves fewer items than `minItems: {minimum}`",
        fix="raise `keep_last`, or lower `minItems`",
    )


class _Check:
    def __init__(self, tree: Node, problems: Problems) -> None:
        self.tree = tree
        self.problems = problems

    def declared(self, declarations: Mapping[str, Json]) -> dict[str, DeclaredPath]:
        declared_paths: dict[str, DeclaredPath] = {}
        sound: dict[str, DeclaredPath] = {}
        for path, entry in declarations.items():
            key_path = (*PLACE, path)
            if not _NAME.match(path):
                self.problems.report(declared_path_name(path), self.tree.key_at(key_path))
            schema: Json = {key: value for key, value in entry.items() if key not in _OWN}
            declared_paths[path] = DeclaredPath(
                schema=schema,
                required="default" not in entry,
                default=entry.get("default"),
                keep_last=self._keep_last(path, entry),
            )
            if self._schema(path, schema) and _NAME.match(path):
                sound[path] = declared_paths[path]
        self._together(sound)
        return declared_paths

    def _schema(self, path: str, schema: Json) -> bool:
        key_path = (*PLACE, path)
        unknown = [key for key in schema if key not in KEYWORDS and not key.startswith("x-")]
        for key in unknown:
            here = (*key_path, key)
            details = unknown_keyword(path, key, sorted((*KEYWORDS, *_OWN)))
            self.problems.report(details, self.tree.key_at(here))
        problem = schema_problem(schema)
        if problem is not None:
            details = unsound_path_schema(path, problem)
            self.problems.report(details, self.tree.value_at(key_path))
        return problem is None and not unknown

    def _keep_last(self, path: str, entry: Json) -> int | None:
        value = entry.get("keep_last")
        key_path = (*PLACE, path, "keep_last")
        if "keep_last" not in entry:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            self.problems.report(keep_last_form(path, excerpt(value)), self.tree.value_at(key_path))
            return None
        return value

    def _together(self, declarations: Declarations) -> None:
        """Check what needs the other declarations: nesting, bounds of lists, defaults."""
        nested = dict(declarations)
        for path, declaration in declarations.items():
            above = declared_above(parse(path)[:-1], declarations)
            if above is not None and not may_be(declarations[above], "object"):
                details = declared_below_value(path, above, form_of(declarations[above]))
                key_path = (*PLACE, path)
                self.problems.report(details, self.tree.key_at(key_path))
                del nested[path]
            self._bounds(path, declaration)
        for path, declaration in nested.items():
            self._default(path, declaration, nested)

    def _bounds(self, path: str, declaration: DeclaredPath) -> None:
        if declaration.keep_last is None:
            return
        key_path = (*PLACE, path, "keep_last")
        least = declaration.schema_.get("minItems")
        if not may_be(declaration, "array") or "type" not in declaration.schema_:
            self.problems.report(
                keep_last_without_list(path, form_of(declaration)), self.tree.key_at(key_path)
            )
        elif isinstance(least, int) and least > declaration.keep_last:
            details = keep_last_below_minimum(path, declaration.keep_last, least)
            self.problems.report(details, self.tree.key_at(key_path))

    def _default(self, path: str, declaration: DeclaredPath, declarations: Declarations) -> None:
        if declaration.required:
            return
        key_path = (*PLACE, path, "default")
        refusals = value_problems(path, declaration.default, declaration)
        details = default_refused(path, "; ".join(refusals), is_filled=False)
        limit = declaration.keep_last
        length = len(declaration.default) if isinstance(declaration.default, list) else 0
        if not refusals and limit is not None and length > limit:
            refusals = ["too long"]
            details = default_longer(path, length, limit)
        if not refusals and declared_below(parse(path), declarations):
            filled = get(reset({}, (path,), declarations), parse(path))
            refusals = [] if filled is MISSING else value_problems(path, filled, declaration)
            details = default_refused(path, "; ".join(refusals), is_filled=True)
        if refusals:
            self.problems.report(details, self.tree.value_at(key_path))


def may_be(one: DeclaredPath, kind: str) -> bool:
    """Return whether the path may hold a value of a JSON Schema type."""
    types: JsonValue = one.schema_.get("type")
    if types is None:
        return "enum" not in one.schema_ and "const" not in one.schema_
    return kind in (types if isinstance(types, list) else [types])
