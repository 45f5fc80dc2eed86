"""Pydantic's errors as problems of the document, and what to remove from its tree."""

from collections.abc import Mapping, Sequence
from typing import cast, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from coterie.dsl.compile.model_locations import keys, model_at, path_at, words_at
from coterie.dsl.errors import closest
from coterie.dsl.evaluate.operator_table import SHORT_NAMES
from coterie.dsl.kinds.agent import wrong_agent_key
from coterie.dsl.kinds.wait import wrong_wait_key
from coterie.dsl.model.conditions import CONDITION_KEYS, UNKNOWN_CONDITION
from coterie.dsl.model.document import SystemDocument
from coterie.dsl.model.sections.variable_names import written_variable
from coterie.dsl.model.step_kinds.wait_step import WAIT_KEYS
from coterie.dsl.model.steps import (
    STEP_KINDS,
    STEP_MODELS,
    STEP_OF_TAG,
    UNKNOWN_STEP,
    LegacyAgentStep,
)
from coterie.dsl.model.tools.tool_section import (
    TOOL_KINDS,
    TOOL_SECTION_OF_TAG,
    UNKNOWN_TOOL,
    ApiToolSection,
    McpToolSection,
    written_kinds,
)
from coterie.dsl.normalise.replacements import (
    REPLACED_OPERATORS,
    explained,
    of_other_kinds,
    replacement,
    rest_of_text,
)
from coterie.dsl.problem_details import Details, ProblemText, Remove, Replace, rule
from coterie.dsl.problem_texts import (
    Advice,
    Bound,
    DidYouMean,
    EmptyCollection,
    FormByKeys,
    Found,
    MissingKey,
    OutOfBounds,
    RefusedKey,
    UnknownConditionKind,
    UnknownKey,
    UnknownOperator,
    UnknownStepKind,
    UnlistedValue,
    WriteKey,
    WrongForm,
    WrongValue,
)
from coterie.dsl.redaction import HIDDEN, names_secret
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.source.synonyms import meant_word
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import UNREADABLE, Form, NodePath


def is_rest_of_text(key: str, node: Node) -> bool:
    """Return whether a key is probably the end of a text that has a comma: it has no value."""
    return node.value is None and len(key.split()) > 1


def wanted_form(kind: str, key: str, message: str) -> str:
    """Return the required form, by pydantic's code of the error; else pydantic's own message."""
    if key == "requires_approval":
        return "true, false, before, after, or a mapping with terms"
    return _WANTED.get(kind, message)


def _write_boolean(value: str) -> str:
    return f"write {value}"


def _write_each_key(key: str) -> str:
    return f'write each key with its own template: `{key}: {{key: "{{{{ ... }}}}"}}`'


def write_variable(name: str, *, wants_name: bool) -> str:
    """Return the fix for `${NAME}`, which nothing expands."""
    if wants_name:
        return f"`${{...}}` is not expanded here: write the name alone, `{name}`"
    return "`${...}` is not expanded here: write the value itself"


def _write_value() -> str:
    return "templates are not expanded here: write the value itself"


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

_ARTICLES = {
    "skill": "a tool function",
    "agent": "an agent",
    "team": "a team",
    "mcp": "an MCP tool",
    "api": "an operation of an API",
    "activity": "an activity",
    "workflow": "a workflow",
    "nexus": "a Nexus operation",
}

_KINDS = ", ".join(_ARTICLES)


def key_of_other_tools(key: str, kinds: Sequence[str]) -> str:
    """Return the fix for a key that only other kinds of tool have."""
    owners = " or ".join(_ARTICLES[kind] for kind in kinds)
    return f"remove `{key}`, which belongs to a tool made of {owners}"


@rule("E102")
def tool_of_nothing(name: str) -> ProblemText:
    return ProblemText(
        f"nothing says what the tool {name!r} is made of", _KINDS, "add one of these keys"
    )


@rule("E107")
def tool_of_several(name: str, kinds: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"the tool {name!r} is made of several things: {', '.join(kinds)}",
        _KINDS,
        "keep one of these keys, and write another tool for each of the others",
    )


class ShapeProblem:
    """One error of pydantic's, in the terms of the document."""

    def __init__(self, details: ErrorDetails, root: type[BaseModel]) -> None:
        self.kind = details["type"]
        self.details = details
        self.context: Mapping[str, object] = details.get("ctx", {})
        location = details["loc"]
        self.path = path_at(location, root)
        self.words = words_at(location, root) if self.kind == "literal_error" else ()
        at_key = self.kind in ("extra_forbidden", "missing")
        self.model = model_at(location[:-1] if at_key else location, root)
        of_kind = (models for models in STEP_MODELS.values() if self.model in models)
        self.models = next(of_kind, (self.model,) if self.model else ())
        self.of_system = root is SystemDocument

    def follows(self, tree: Node) -> bool:
        """Return whether another problem causes this one: pydantic counts only the valid items."""
        node = tree.find(self.path)
        if self.of_other_form:
            return self._misplaced_key(tree) is None
        return self.kind == "too_short" and bool(node.items() or node.entries())

    def repair_path(self, tree: Node) -> NodePath:
        """Return what to remove from the tree, or to replace, so that the rest is valid."""
        path = self.path
        if self._fills():
            return path
        if self.kind == "missing":
            path = path[:-1]
        while path and not tree.has(path):
            path = path[:-1]
        return path

    def stand_in(self, tree: Node) -> Node | None:
        """Return a replacement, so that the checks of everything around it continue."""
        node = tree.find(self.path)
        if self._fills():
            return Node(UNREADABLE, node.mark)
        if self.kind == UNKNOWN_CONDITION:
            return node.with_value({"outcome": Node("all_success", node.mark)})
        if self.kind == UNKNOWN_TOOL:
            keys = {key: item for key, item in node.entries().items() if key not in TOOL_KINDS}
            return node.with_value({**keys, "skill": Node(UNREADABLE, node.mark)})
        if self.kind != UNKNOWN_STEP:
            return None
        name = node.entries().get("name")
        if name is None or not isinstance(name.value, str):
            return None
        empty = Node({}, node.mark)
        return node.with_value({"kind": Node("set", node.mark), "name": name, "values": empty})

    def _fills(self) -> bool:
        """Return whether a placeholder can replace a missing value: no check reads it as a name."""
        if self.kind != "missing" or self.model is None:
            return False
        for name, info in self.model.model_fields.items():
            if (info.alias or name) == self.path[-1]:
                return info.annotation is str or info.annotation == str | None
        return False

    def report(self, tree: Node, problems: Problems) -> None:
        """Note the problem at its position."""
        node = tree.find(self.path)
        details = self.facts(tree, node)
        path = self.path
        if isinstance(details, UnknownStepKind) and "kind" in node.entries():
            path, node = (*path, "type"), node.entries()["kind"]
        elif self.of_other_form and self._key in WAIT_KEYS:
            path, node = path[:-1], tree.find(path[:-1])
        elif self.of_other_form and self.model is LegacyAgentStep and self._key != "config":
            path, node = path[:-1], tree.find((*path[:-1], "agent_class"))
        on_value = details.code in ("E103", "E104", "E105", "E106", "E109", "E401")
        mark = node.mark if on_value and node.key_mark else node.at
        problems.report(details, Place(mark, path))

    def facts(self, tree: Node, node: Node) -> Details:
        """Return the details of the problem."""
        if self.of_other_form and (misplaced := self._misplaced_key(tree)) is not None:
            return misplaced
        match self.kind:
            case "extra_forbidden":
                return self._unknown_key(tree)
            case "missing":
                return MissingKey(self._key)
            case _ if self.kind == UNKNOWN_STEP:
                return self._unknown_kind(node)
            case _ if self.kind == UNKNOWN_CONDITION:
                return UnknownConditionKind(_shape(node), _CONDITION_KEYS)
            case _ if self.kind == UNKNOWN_TOOL:
                return self._unknown_tool(node)
            case "literal_error":
                return self._not_among(node)
            case "too_short":
                return EmptyCollection(self._subject)
            case _ if self.kind in _BOUNDS:
                bound, name = _BOUNDS[self.kind]
                limit = cast("float", self.context[name])
                return OutOfBounds(self._subject, self._describe_value(node), bound, limit)
            case _:
                return self._wrong_form(node)

    @property
    def of_other_form(self) -> bool:
        """Whether a step has a key of another class of its kind, or has none that tells a class."""
        if len(self.models) < 2 or self.kind not in ("extra_forbidden", "missing"):
            return False
        return self._key in (WAIT_KEYS if self.kind == "missing" else self._possible_keys)

    def _misplaced_key(self, tree: Node) -> Details | None:
        wrong = wrong_agent_key if self.model is LegacyAgentStep else wrong_wait_key
        return wrong(tree.find(self.path[:-1]), self._key)

    @property
    def _possible_keys(self) -> set[str]:
        """The keys of the model, or of all classes of its kind of step."""
        return {key for model in self.models for key in keys(model)}

    @property
    def _key(self) -> str:
        return str(self.path[-1]) if self.path else "the document"

    @property
    def _subject(self) -> WrongValue:
        return WrongValue(self.path[-1] if self.path else None)

    def _describe_value(self, node: Node) -> Found:
        return Found("scalar", HIDDEN) if names_secret(self._key) else _describe_found(node)

    def _unknown_key(self, tree: Node) -> Details:
        name = self._key
        if name == "include" and self.model in (McpToolSection, ApiToolSection):
            return included_by_tool(str(self.path[-2]), self.model.kind)
        possible_keys = self._possible_keys
        there = tree.find(self.path[:-1]).entries()
        part = self.models[0].__name__ if self.models else None
        others = self._advice_of_others(name)
        instead = replacement(part, name, anywhere=self.of_system and others is None)
        if instead is not None:
            return RefusedKey(name, tuple(sorted(possible_keys)), instead)
        unused = {key for key in possible_keys if key not in there}
        likely_key = meant_word(name, unused, part) or closest(name, possible_keys)
        otherwise = others or explained(part, name)
        if is_rest_of_text(name, tree.find(self.path)):
            otherwise = rest_of_text(name)
        suggestion = Advice(otherwise) if likely_key is None else DidYouMean(likely_key)
        if name == "type" and "kind" in possible_keys:
            suggestion = WriteKey("kind")
        return UnknownKey(name, tuple(sorted(possible_keys)), suggestion)

    def _unknown_tool(self, node: Node) -> Details:
        kinds = written_kinds(node.entries())
        return tool_of_several(self._key, kinds) if kinds else tool_of_nothing(self._key)

    def _advice_of_others(self, key: str) -> str | None:
        """Return the advice for a key that only other kinds of this step or tool have."""
        if self.model in STEP_OF_TAG.values():
            kinds = (tag.split(":")[1] for tag, model in STEP_OF_TAG.items() if key in keys(model))
            step_kinds = tuple(dict.fromkeys(kinds))
            return of_other_kinds(key, step_kinds) if step_kinds else None
        if self.model in (models := TOOL_SECTION_OF_TAG.values()):
            kinds = list(dict.fromkeys(model.kind for model in models if key in keys(model)))
            return key_of_other_tools(key, kinds) if kinds else None
        return None

    def _unknown_kind(self, node: Node) -> UnknownStepKind:
        kind_node = node.entries().get("kind")
        if kind_node is None:
            return UnknownStepKind(False, None, _shape(node), STEP_KINDS, None)
        kind = kind_node.plain()
        likely_kind = meant_word(str(kind), STEP_KINDS)
        suggestion = None if likely_kind is None else DidYouMean(likely_kind)
        return UnknownStepKind(True, kind, _shape(node), STEP_KINDS, suggestion)

    def _not_among(self, node: Node) -> Details:
        value = HIDDEN if names_secret(self._key) else node.plain()
        choices = (*self.words, *SHORT_NAMES) if self._key == "operator" else self.words
        likely_word = closest(str(value), choices)
        suggestion = None if likely_word is None else DidYouMean(likely_word)
        if self._key == "operator":
            opposite = REPLACED_OPERATORS.get(str(value))
            advice = suggestion if opposite is None else Advice(opposite)
            return UnknownOperator(value, self.words, advice)
        return UnlistedValue(self._subject, value, self.words, suggestion)

    def _wrong_form(self, node: Node) -> WrongForm:
        required_form = wanted_form(self.kind, self._key, str(self.details["msg"]))
        description = self._describe_value(node)
        return WrongForm(self._subject, description, self.kind, required_form, self._mending(node))

    def _mending(self, node: Node) -> Advice | None:
        """Return the fix for a value of another type, if the value shows the intent."""
        truth = _BOOLS.get(str(node.plain()).lower())
        if self.kind in ("bool_type", "bool_parsing") and truth is not None:
            edit = Replace(str(node.plain()), truth, verbatim=True)
            return Advice(_write_boolean(truth), edit=edit)
        variable = written_variable(node.value) if isinstance(node.value, str) else None
        if variable is not None:
            wants_name = self.kind == "environment_variable"
            edit = Replace(str(node.value), variable) if wants_name else None
            return Advice(write_variable(variable, wants_name=wants_name), edit=edit)
        if self.kind in _OWN_FORMS or not (isinstance(node.value, str) and is_template(node.value)):
            return None
        if self.kind in _MAPPINGS and self._key != "requires_approval":
            return Advice(_write_each_key(self._key))
        return Advice(_write_value())


_CONDITION_KEYS = tuple(key for key in CONDITION_KEYS if key not in ("outcome", "expression"))
"""The forms that a condition accepts; the other two replace texts."""

_BOUNDS: dict[str, tuple[Bound, str]] = {
    "greater_than_equal": ("at least", "ge"),
    "less_than_equal": ("at most", "le"),
    "greater_than": ("more than", "gt"),
    "less_than": ("less than", "lt"),
}
"""`{pydantic's code: the bound, and its key in pydantic's context}`."""

_BOOLS = {"yes": "true", "on": "true", "no": "false", "off": "false"}
_OWN_FORMS = get_args(Form)
_MAPPINGS = ("dict_type", "model_type", "model_attributes_type")


@rule("E107")
def included_by_tool(name: str, kind: str) -> ProblemText:
    server = {"mcp": "MCP server"}.get(kind, "API")
    return ProblemText(
        f"`include` chooses tools of a whole {server}, and {name!r} is one tool",
        fix=f"remove `include`, or write only the server's name in `{kind}`",
        edit=Remove("include"),
    )


def _describe_found(node: Node) -> Found:
    match node.value:
        case dict():
            return Found("mapping")
        case list():
            return Found("list")
        case None:
            return Found("empty")
        case scalar:
            return Found("scalar", scalar)


def _shape(node: Node) -> FormByKeys:
    entries = node.entries()
    return FormByKeys(tuple(sorted(entries))) if entries else FormByKeys((), node.plain())
