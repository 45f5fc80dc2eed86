"""Holds the tree against the document models, and tells every misfit at its place.

A misfit is reported once and then cut out of the tree, so that what is left becomes a typed
document and its references can be checked in the same pass.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from dsl.compile.model_locations import is_tag, keys, model_at
from dsl.errors import Code, asked_back, closest, listed, nearest
from dsl.evaluate.operators import SHORT_NAMES
from dsl.model.conditions import CONDITION_KEYS
from dsl.model.document import SystemDocument
from dsl.model.steps import STEP_KINDS
from dsl.normalise.replacements import AT_PLACES, OPERATORS, REPLACEMENTS, explained
from dsl.redaction import HIDDEN, names_secret
from dsl.source.author_paths import naming_steps
from dsl.source.nodes import UNREADABLE
from dsl.source.synonyms import meant_word
from dsl.source.yaml_reader import Node, Problems
from dsl.templates.template import is_template
from dsl.values import NodePath

_MOST_PASSES = 50
Document = TypeVar("Document", bound=BaseModel)


def shaped(tree: Node, problems: Problems) -> tuple[SystemDocument | None, Node]:
    """The typed document and the tree that it was made of, without what did not fit."""
    return fitted(tree, SystemDocument, problems)


def fitted(tree: Node, model: type[Document], problems: Problems) -> tuple[Document | None, Node]:
    """The tree as a document of any model, every misfit told at its place; see `shaped`."""
    reported = False
    problems.step_of = naming_steps(tree)
    for _ in range(_MOST_PASSES):
        try:
            text = json.dumps(tree.plain())
            # by alias alone: `while_` is Python's word for a key, not a person's
            return model.model_validate_json(text, strict=True, by_alias=True, by_name=False), tree
        except ValidationError as error:
            found = [Misfit(details, model) for details in error.errors(include_url=False)]
            misfits = [misfit for misfit in found if not misfit.follows(tree)]
            if not reported:
                for misfit in _worth_telling(misfits, tree):
                    misfit.report(tree, problems)
            before = tree
            mends = {misfit.place(tree): misfit.stand_in(tree) for misfit in misfits}
            problems.took_out([path for path, put in mends.items() if put is None])
            for path in sorted(mends, key=_written_order, reverse=True):
                tree = _mended(tree, path, mends[path])
            reported = True
            problems.step_of = naming_steps(tree)
            if tree == before:
                break
    return None, tree


class Misfit:
    """One error of pydantic's, told in the reader's words."""

    def __init__(self, details: ErrorDetails, root: type[BaseModel]) -> None:
        self.kind = details["type"]
        self.details = details
        self.context: Mapping[str, object] = details.get("ctx", {})
        location = details["loc"]
        self.tags = [part for part in location if is_tag(part)]
        self.path: NodePath = tuple(part for part in location if not is_tag(part))
        at_key = self.kind in ("extra_forbidden", "missing")
        self.model = model_at(location[:-1] if at_key else location, root)
        self.replacements = REPLACEMENTS if root is SystemDocument else {}

    def follows(self, tree: Node) -> bool:
        """Whether this only follows from another misfit: pydantic counts the good items alone."""
        node = tree.find(self.path)
        return self.kind == "too_short" and bool(node.items() or node.entries())

    @property
    def of_condition(self) -> bool:
        """Whether no kind of condition was recognised (and not: no kind of step)."""
        return "condition" in str(self.context.get("discriminator"))

    def place(self, tree: Node) -> NodePath:
        """What to take out of the tree, or to replace, so that the rest may fit."""
        path = self.path
        if self._fills():
            return path
        if self.kind == "missing":
            path = path[:-1]
        while path and tree.find(path) is tree.find(path[:-1]):
            path = path[:-1]
        return path

    def stand_in(self, tree: Node) -> Node | None:
        """What stands there instead, so that the checks of everything around it go on."""
        node = tree.find(self.path)
        if self._fills():
            return Node(UNREADABLE, node.mark)
        if not self.kind.startswith("union_tag"):
            return None
        if self.of_condition:
            return node.with_value({"outcome": Node("all_success", node.mark)})
        name = node.entries().get("name")
        if name is None or not isinstance(name.value, str):
            return None
        empty = Node({}, node.mark)
        return node.with_value({"kind": Node("set", node.mark), "name": name, "values": empty})

    def _fills(self) -> bool:
        """Whether a missing value can be filled by a text that no check takes for a name."""
        if self.kind != "missing" or self.model is None:
            return False
        for name, info in self.model.model_fields.items():
            if (info.alias or name) == self.path[-1]:
                return info.annotation is str or info.annotation == str | None
        return False

    def report(self, tree: Node, problems: Problems) -> None:
        """Note the problem where the reader will look for it."""
        node = tree.find(self.path)
        code, message, allowed, fix = self.told(tree, node)
        path = self.path
        if code == "E104" and "kind" in node.entries():
            path, node = (*path, "type"), node.entries()["kind"]
        on_value = code in ("E103", "E104", "E105", "E106", "E109", "E401")
        mark = node.mark if on_value and node.key_mark else node.at
        problems.add(code, mark, path, message, allowed=allowed, fix=fix)

    def told(self, tree: Node, node: Node) -> tuple[Code, str, str, str]:
        """Code, message, allowed, fix."""
        name = str(self.path[-1]) if self.path else "the document"
        match self.kind:
            case "extra_forbidden":
                return self._unknown_key(tree, name)
            case "missing":
                return "E102", f"the key {name!r} is missing", "", f"add `{name}:`"
            case "union_tag_invalid" | "union_tag_not_found":
                return self._unknown_kind(node)
            case "literal_error":
                return self._not_among(name, node)
            case _:
                return self._wrong_value(name, node)

    def _unknown_key(self, tree: Node, name: str) -> tuple[Code, str, str, str]:
        known = set(keys(self.model)) if self.model else set[str]()
        there = tree.find(self.path[:-1]).entries()
        part = self.model.__name__ if self.model else None
        instead = AT_PLACES.get(part or "", {}).get(name) or self.replacements.get(name)
        if instead is not None:
            return "E108", f"{name!r} is not a form of this language", listed(known), instead
        meant = meant_word(name, known - set(there)) or closest(name, known)
        fix = asked_back(meant) or explained(part, name)
        if name == "type" and "kind" in known:
            fix = "write `kind:`"
        return "E101", f"unknown key {name!r}", listed(known), fix

    def _unknown_kind(self, node: Node) -> tuple[Code, str, str, str]:
        if self.of_condition:
            return self._unknown_condition(node)
        written = node.entries().get("kind")
        kinds = ", ".join(STEP_KINDS)
        if written is None:
            keys = listed(node.entries()) if node.entries() else repr(node.plain())
            return ("E104", f"a step of no known kind: it has {keys}", f"type: {kinds}",
                    "say `type:`, or one of the keys that tell it")  # fmt: skip
        return ("E104", f"unknown step kind {written.plain()!r}", kinds,
                asked_back(meant_word(str(written.plain()), STEP_KINDS)))  # fmt: skip

    def _unknown_condition(self, node: Node) -> tuple[Code, str, str, str]:
        keys = listed(node.entries()) if node.entries() else repr(node.plain())
        return ("E109", f"a condition of no known kind: it has {keys}",
                ", ".join(key for key in CONDITION_KEYS if key not in ("outcome", "expression")),
                "ask for a task (`task`, `output_field` or `status`) or for the context "
                "(`context_field`)")  # fmt: skip

    @property
    def _told_name(self) -> str:
        """What the misfit is called: its key in quotes, or which entry of a list it is."""
        last = self.path[-1] if self.path else "the document"
        return f"entry {last + 1}" if isinstance(last, int) else repr(last)

    def _not_among(self, name: str, node: Node) -> tuple[Code, str, str, str]:
        allowed = [str(item) for item in _literals(self.details)]
        shown = HIDDEN if names_secret(name) else node.plain()
        if name == "operator":
            known = [*allowed, *SHORT_NAMES]
            fix = OPERATORS.get(str(shown)) or nearest(str(shown), known)
            return "E401", f"unknown operator {shown!r}", ", ".join(allowed), fix
        return (
            "E105",
            f"{self._told_name} is {shown!r}",
            ", ".join(allowed),
            nearest(str(shown), allowed),
        )

    def _wrong_value(self, name: str, node: Node) -> tuple[Code, str, str, str]:
        shown = repr(HIDDEN) if names_secret(name) else _named(node)
        bounds = {
            "greater_than_equal": "ge", "less_than_equal": "le", "greater_than": "gt",
            "less_than": "lt",
        }  # fmt: skip
        if self.kind in bounds:
            words = {"ge": "at least", "le": "at most", "gt": "more than", "lt": "less than"}
            word = bounds[self.kind]
            limit = self.context[word]
            if isinstance(limit, float) and limit.is_integer():
                limit = int(limit)
            return "E106", f"{self._told_name} is {shown}", f"{words[word]} {limit}", ""
        if self.kind == "too_short":
            return (
                "E106",
                f"{self._told_name} is empty",
                "at least one entry",
                f"add one under `{name}:`",
            )
        if self.kind == "value_error":
            return "E103", f"{self._told_name} is {shown}", str(self.context.get("error", "")), ""
        wanted = _WANTED.get(self.kind, str(self.details["msg"]))
        if name == "requires_approval":
            wanted = "true, false, before, after, or a mapping with terms"
        fix = ""
        if isinstance(node.value, str) and is_template(node.value):
            fix = "a template is not filled here: write the value itself"
            if wanted == "a mapping":
                fix = (
                    f'write each key with a template of its own: `{name}: {{key: "{{{{ ... }}}}"}}`'
                )
        if self.kind in ("bool_type", "bool_parsing"):
            word = str(node.plain()).lower()
            if word in ("yes", "on", "no", "off"):
                fix = f"write {'true' if word in ('yes', 'on') else 'false'}"
        return "E103", f"{self._told_name} is {shown}", wanted, fix


_WANTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


def _named(node: Node) -> str:
    match node.value:
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case None:
            return "empty"
        case scalar:
            return repr(scalar)


def _literals(details: ErrorDetails) -> Sequence[object]:
    expected = str(details.get("ctx", {}).get("expected", ""))
    return [part.strip().strip("'") for part in expected.replace(" or ", ", ").split(",")]


def _written_order(path: NodePath) -> list[tuple[bool, int, str]]:
    return [(isinstance(p, str), p if isinstance(p, int) else 0, str(p)) for p in path]


_MEANT = re.compile(r"(?:did you mean '|write (?:one )?`)(\w+)")
"""The key that a fix offers for one that is not known."""


def _worth_telling(misfits: list["Misfit"], tree: Node) -> Iterator["Misfit"]:
    """Each mistake once: a misspelt key is not also a missing one."""
    misspelt: set[NodePath] = set()
    told: set[NodePath] = set()
    for misfit in misfits:
        if misfit.kind == "extra_forbidden":
            fix = misfit.told(tree, tree.find(misfit.path))[3]
            meant = _MEANT.match(fix)
            if meant:
                misspelt.add((*misfit.path[:-1], meant[1]))
    for misfit in misfits:
        if misfit.path in told or (misfit.kind == "missing" and misfit.path in misspelt):
            continue
        told.add(misfit.path)
        yield misfit


def _mended(tree: Node, path: NodePath, stand_in: Node | None) -> Node:
    """The tree with the node at the path replaced, or taken out."""
    if not path:
        return tree
    first, rest = path[0], path[1:]
    below = tree.child(first)
    match tree.value, first:
        case dict() as entries, str() if rest and below is not None:
            return tree.with_value({**entries, first: _mended(below, rest, stand_in)})
        case dict() as entries, str() if stand_in is not None:
            return tree.with_value({**entries, first: stand_in})
        case dict() as entries, str():
            return tree.with_value({k: node for k, node in entries.items() if k != first})
        case list() as items, int() if below is not None:
            if rest:
                put = [_mended(below, rest, stand_in)]
            else:
                put = [stand_in] if stand_in is not None else []
            return tree.with_value([*items[:first], *put, *items[first + 1 :]])
        case _:
            return tree
