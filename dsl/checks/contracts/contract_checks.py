"""Checks whether a tool function's contract accepts the input of a step or a tool.

As lenient as the tool functions are when they run: a text that reads as a number counts as one, and
the words of an enum match in any case. The run checks whatever is known only there.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from coterie.dsl.checks.contracts.known_answers import MAX_DEPTH, resolved
from coterie.dsl.errors import asked_back, listed, nearest
from coterie.dsl.evaluate.declared_values import KINDS
from coterie.dsl.json_values import json_equal
from coterie.dsl.model.capabilities import FunctionContract
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.redaction import HIDDEN, names_secret
from coterie.dsl.regular_expressions import pattern
from coterie.dsl.schema_keys import ALSO
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.source.synonyms import meant_word
from coterie.dsl.templates.literal_parts import Part, PartText, Unknown, known_parts
from coterie.dsl.values import UNREADABLE, Json, JsonValue, NodePath


class ContractMismatch(NamedTuple):
    """One problem of an input."""

    path: NodePath
    """Path within the input; a missing value has the path where it belongs."""
    message: str
    """Follows "the function takes": `no input 'pth'`; for a missing value, "the function needs"."""
    allowed: str = ""
    fix: str = ""
    missing: bool = False
    unknown: bool = False
    of_type: bool = False
    """Whether it is a completely different kind of value."""


def contract_mismatches(given: Part, schema: Json, *, whole: bool = True) -> list[ContractMismatch]:
    """Return everything that the schema never accepts.

    Args:
        given: the input, as far as it is known.
        schema: of the contract's input.
        whole: whether nothing is added to the input later; else nothing counts as missing.
    """
    mismatches = _Checked(schema).mismatches(given, schema, (), 0)
    return [mismatch for mismatch in mismatches if whole or not mismatch.missing]


def _no_input(name: str) -> str:
    return f"no input {name!r}"


def _missing_input(key: str) -> str:
    return f"the input {key!r}, which is missing"


class _Checked:
    def __init__(self, root: Json) -> None:
        self._root = root

    def mismatches(
        self, value: Part, subschema: JsonValue, path: NodePath, depth: int
    ) -> list[ContractMismatch]:
        schema = resolved(subschema, self._root)
        if value is Unknown.VALUE or not isinstance(schema, dict) or depth > MAX_DEPTH:
            return []
        for word in ("anyOf", "oneOf"):
            options = schema.get(word)
            if isinstance(options, list):
                return self._any(value, options, path, depth)
        mismatches: list[ContractMismatch] = []
        every = schema.get("allOf")
        for part in every if isinstance(every, list) else ():
            mismatches += self.mismatches(value, part, path, depth + 1)
        return mismatches + self._own(value, schema, path, depth)

    def _any(
        self, value: Part, options: list[JsonValue], path: NodePath, depth: int
    ) -> list[ContractMismatch]:
        """Return the mismatches of the option that fits best, among those of the right kind."""
        tried = [self.mismatches(value, option, path, depth + 1) for option in options]
        near = [
            mismatches
            for mismatches in tried
            if not any(f.of_type and f.path == path for f in mismatches)
        ]
        if near:
            return min(near, key=len)
        requirement = " or ".join(dict.fromkeys(mismatches[0].allowed for mismatches in tried))
        return [_wrong(value, path, requirement)._replace(of_type=True)]

    def _own(self, value: Part, schema: Json, path: NodePath, depth: int) -> list[ContractMismatch]:
        wrong = _type_mismatch(value, schema, path) or _value_mismatch(value, schema, path)
        if wrong is not None:
            return [wrong]
        if isinstance(value, dict):
            return self._mapping(value, schema, path, depth)
        if isinstance(value, list):
            return [
                mismatch
                for number, item in enumerate(value)
                for mismatch in self.mismatches(
                    item, schema.get("items"), (*path, number), depth + 1
                )
            ]
        return []

    def _mapping(
        self, inputs: Mapping[str, Part], schema: Json, path: NodePath, depth: int
    ) -> list[ContractMismatch]:
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            return []
        named = {name: key for key, below in properties.items() for name in (key, *_also(below))}
        there = {named[name] for name in inputs if name in named}
        required = schema.get("required")
        lacking = [
            key for key in (required if isinstance(required, list) else ()) if key not in there
        ]
        unknown = [name for name in inputs if name not in named]
        mismatches = [
            mismatch
            for name, item in inputs.items()
            if name in named
            for mismatch in self.mismatches(item, properties[named[name]], (*path, name), depth + 1)
        ]
        if schema.get("additionalProperties") is False:
            for name in unknown:
                likely_name = meant_word(name, properties.keys() - there)
                lacking = [key for key in lacking if key != likely_name]
                message = _no_input(name)
                fix = asked_back(likely_name)
                mismatches.append(
                    ContractMismatch((*path, name), message, listed(properties), fix, unknown=True)
                )
        for key in lacking:
            below = resolved(properties.get(str(key)), self._root)
            message = _missing_input(str(key))
            fix = f"add `{key}:`"
            mismatches.append(
                ContractMismatch((*path, str(key)), message, wanted_by(below), fix, missing=True)
            )
        return mismatches


def _also(schema: JsonValue) -> list[str]:
    also = schema.get(ALSO) if isinstance(schema, dict) else None
    return [str(name) for name in also] if isinstance(also, list) else []


def wanted_by(schema: JsonValue) -> str:
    """Return what a schema accepts, in words; empty if there are no simple words for it."""
    if not isinstance(schema, dict):
        return ""
    words = schema.get("enum")
    if isinstance(words, list):
        return ", ".join(str(word) for word in words)
    kinds = _kinds(schema)
    return " or ".join(KINDS[kind] for kind in kinds)


def _kinds(schema: Json) -> list[str]:
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    return [str(name) for name in kinds if name in KINDS]


def _write_list(item: str) -> str:
    return f"write a list: `[{item}]`"


def _type_mismatch(value: Part, schema: Json, path: NodePath) -> ContractMismatch | None:
    kinds = _kinds(schema)
    if not kinds or any(may_be(value, kind) for kind in kinds):
        return None
    fix = _write_list(repr(value)) if kinds == ["array"] and isinstance(value, str) else ""
    wrong = _wrong(value, path, " or ".join(KINDS[kind] for kind in kinds))
    return wrong._replace(of_type=True, fix=fix)


def _other_input(requirement: str, name: str | None, text: str) -> str:
    return f"{requirement} for {'its input' if name is None else repr(name)}, not {text}"


def _wrong(value: Part, path: NodePath, requirement: str) -> ContractMismatch:
    name = path[-1] if path and isinstance(path[-1], str) else None
    text = HIDDEN if path and names_secret(str(path[-1])) else _shown_value(value)
    return ContractMismatch(path, _other_input(requirement, name, text), requirement)


def _text_around_template() -> str:
    return "a text around a template"


def _shown_value(value: Part) -> str:
    match value:
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case PartText():
            return _text_around_template()
        case None:
            return "null"
        case str() if len(value) > 40:
            return f"{value[:37]!r}..."
        case _:
            return repr(value)


def _value_mismatch(value: Part, schema: Json, path: NodePath) -> ContractMismatch | None:
    words = schema.get("enum")
    if isinstance(words, list) and not any(may_equal(value, word) for word in words):
        allowed = ", ".join(str(word) for word in words)
        fix = nearest(value, [str(word) for word in words]) if isinstance(value, str) else ""
        return _wrong(value, path, "one of " + allowed)._replace(allowed=allowed, fix=fix)
    if isinstance(value, str):
        return _text_mismatch(value, schema, path)
    if isinstance(value, int | float) and not isinstance(value, bool):
        least, largest = schema.get("minimum"), schema.get("maximum")
        if isinstance(least, int | float) and value < least:
            return _wrong(value, path, f"at least {least}")
        if isinstance(largest, int | float) and value > largest:
            return _wrong(value, path, f"at most {largest}")
    return None


def _text_like(pattern: str) -> str:
    return f"a text like {pattern}"


def _text_mismatch(text: str, schema: Json, path: NodePath) -> ContractMismatch | None:
    shortest, form = schema.get("minLength"), schema.get("pattern")
    if isinstance(shortest, int) and len(text) < shortest:
        return _wrong(text, path, f"at least {shortest} character{'' if shortest == 1 else 's'}")
    if isinstance(form, str):
        try:
            fits = pattern(form).search(text) is not None
        except ValueError:
            return None
        return None if fits else _wrong(text, path, _text_like(form))
    return None


_NUMBER = re.compile(r"\s*[+-]?(\d[\d_]*)?\.?\d*([eE][+-]?\d+)?\s*\Z")

_IN_A_NUMBER = re.compile(r"[\d\s+\-._eE]*\Z")

_TRUTH = ("true", "false", "yes", "no", "on", "off", "t", "f", "y", "n", "1", "0")


def may_be(given: Part, kind: str) -> bool:
    """Return whether a value of the input can count as this type of JSON Schema."""
    match kind:
        case "string":
            return isinstance(given, str | PartText)
        case "integer":
            return _may_be_number(given) and not (isinstance(given, float) and given % 1 != 0)
        case "number":
            return _may_be_number(given)
        case "boolean":
            return (
                isinstance(given, bool | PartText)
                or (isinstance(given, int | float) and given in (0, 1))
                or (isinstance(given, str) and given.lower() in _TRUTH)
            )
        case "array":
            return isinstance(given, list)
        case "object":
            return isinstance(given, dict)
        case _:
            return given is None


def _may_be_number(value: Part) -> bool:
    match value:
        case bool() | int() | float():
            return True
        case str():
            return bool(_NUMBER.match(value)) and any(letter.isdigit() for letter in value)
        case PartText(pieces=pieces):
            return all(_IN_A_NUMBER.match(piece) for piece in pieces)
        case _:
            return False


def may_equal(given: Part, word: JsonValue) -> bool:
    """Return whether a value of the input can equal a word of an enum, in any case."""
    match given:
        case str() if isinstance(word, str):
            return given.strip().lower() == word.lower()
        case PartText(pieces=pieces) if isinstance(word, str):
            between = "(?s:.*)".join(re.escape(piece.lower()) for piece in pieces)
            return re.fullmatch(rf"\s*{between}\s*", word.lower()) is not None
        case list():
            return (
                isinstance(word, list)
                and len(word) == len(given)
                and all(map(may_equal, given, word))
            )
        case dict():
            return (
                isinstance(word, dict)
                and word.keys() == given.keys()
                and all(may_equal(given[key], word[key]) for key in given)
            )
        case Unknown():
            return True
        case PartText():
            return False
        case _:
            return json_equal(given, word)


def check_input(
    tree: Node,
    problems: Problems,
    contract: FunctionContract,
    given: JsonValue,
    path: NodePath,
    *,
    fixed: Json | None = None,
    whole: bool = True,
) -> None:
    """Note every part of an input that the contract never accepts; the run checks the rest.

    Args:
        tree: the document.
        problems: collects the findings.
        contract: of the tool function.
        given: the input, templates not rendered.
        path: where it is written.
        fixed: the tool's values that override it; they are checked at the tool.
        whole: whether nothing is added to it later.
    """
    parts = known_parts(_without_unreadable(given))
    if given is None and _wants_mapping(contract.input_schema):
        parts = {}
    if fixed and isinstance(parts, dict):
        parts = {**parts, **{key: known_parts(value) for key, value in fixed.items()}}
    for mismatch in contract_mismatches(parts, contract.input_schema, whole=whole):
        if fixed is None or not mismatch.path or mismatch.path[0] not in fixed:
            _note(tree, problems, contract.name, mismatch, path)


@rule("E213")
def function_input(
    function: str, problem: str, allowed: str, fix: str, *, is_missing: bool
) -> ProblemText:
    return ProblemText(f"{function} {'needs' if is_missing else 'takes'} {problem}", allowed, fix)


def _note(
    tree: Node, problems: Problems, function: str, mismatch: ContractMismatch, path: NodePath
) -> None:
    key_path = (*path, *mismatch.path)
    node = tree.find(key_path)
    there = tree.has(key_path)
    by_key = mismatch.missing or mismatch.unknown or not there
    problems.report(
        function_input(
            function, mismatch.message, mismatch.allowed, mismatch.fix, is_missing=mismatch.missing
        ),
        Place(node.at if by_key else node.mark, key_path),
    )


def _wants_mapping(schema: Json) -> bool:
    """Return whether the input is always a mapping, so that without one its keys are missing."""
    here = resolved(schema, schema)
    return isinstance(here, dict) and here.get("type") == "object"


def _without_unreadable(value: JsonValue) -> JsonValue:
    """Return the input without the placeholders for unreadable values, already reported."""
    if isinstance(value, dict):
        return {key: _without_unreadable(part) for key, part in value.items() if part != UNREADABLE}
    return value
