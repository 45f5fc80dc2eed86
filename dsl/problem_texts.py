"""The problems that several checks find: the facts and the words of each."""

import re
from dataclasses import dataclass, field
from typing import Literal, assert_never

from coterie.dsl.errors import asked_back, in_order, listed
from coterie.dsl.problem_details import Code, Details, Edit, ProblemText, Quote, Replace
from coterie.dsl.values import UNREADABLE, JsonValue

Bound = Literal["at least", "at most", "more than", "less than"]


@dataclass(frozen=True, slots=True)
class DidYouMean:
    """The nearest known name."""

    name: str


@dataclass(frozen=True, slots=True)
class WriteKey:
    """The key to write instead."""

    key: str


@dataclass(frozen=True, slots=True)
class Advice:
    """A fix in the words of a table; the words are not a fact."""

    text: str = field(compare=False)
    key: str | None = None
    """The key of the same mapping that it recommends, if any."""
    edit: Edit | None = field(compare=False, repr=False, default=None)
    """The same as data, if it is certain."""


Suggestion = DidYouMean | WriteKey | Advice


def _with_fix(message: str, allowed: str, old: str, suggestion: Suggestion | None) -> ProblemText:
    """Return a text with what is suggested for the key or value that is there."""
    match suggestion:
        case None:
            return ProblemText(message, allowed)
        case DidYouMean(name=name):
            return ProblemText(message, allowed, asked_back(name), Replace(old, name))
        case WriteKey(key=key):
            return ProblemText(message, allowed, f"write `{key}:`", Replace(old, key))
        case Advice(text=text, edit=edit):
            return ProblemText(message, allowed, text, edit)
        case _:
            assert_never(suggestion)


@dataclass(frozen=True, slots=True)
class MissingKey:
    """A required key is missing."""

    code: Code = field(default="E102", init=False, repr=False)
    key: str

    def words(self) -> ProblemText:
        """Put it into words."""
        return ProblemText(f"the key {self.key!r} is missing", fix=f"add `{self.key}:`")


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """A key that has no meaning at this place."""

    code: Code = field(default="E101", init=False, repr=False)
    key: str
    known: tuple[str, ...]
    suggestion: Suggestion | None

    def words(self) -> ProblemText:
        """Put it into words."""
        return _with_fix(f"unknown key {self.key!r}", listed(self.known), self.key, self.suggestion)


@dataclass(frozen=True, slots=True)
class RefusedKey:
    """A key of an older form, or of another system."""

    code: Code = field(default="E108", init=False, repr=False)
    key: str
    known: tuple[str, ...]
    suggestion: Suggestion

    def words(self) -> ProblemText:
        """Put it into words."""
        message = f"{self.key!r} is not a form of this language"
        return _with_fix(message, listed(self.known), self.key, self.suggestion)


@dataclass(frozen=True, slots=True)
class UnknownName:
    """A name that refers to nothing."""

    code: Code = field(repr=False)
    what: str
    """The kind of thing: `team`, `persona`."""
    name: str
    known: tuple[str, ...]
    suggestion: Suggestion | None

    def words(self) -> ProblemText:
        """Put it into words."""
        message = f"unknown {self.what} {self.name!r}"
        return _with_fix(message, listed(self.known), self.name, self.suggestion)


@dataclass(frozen=True, slots=True)
class FormByKeys:
    """What is written where a mapping should have keys that imply its kind."""

    keys: tuple[str, ...]
    value: JsonValue = None
    """What is there instead of such a mapping."""

    @property
    def text(self) -> str:
        """The keys, or the value."""
        return listed(self.keys) if self.keys else repr(self.value)


@dataclass(frozen=True, slots=True)
class UnknownStepKind:
    """A step whose `type` is not known, or that has none and no key that implies one."""

    code: Code = field(default="E104", init=False, repr=False)
    is_written: bool
    """Whether it has a `type`."""
    kind: JsonValue
    """The `type` as written."""
    shape: FormByKeys
    known: tuple[str, ...]
    suggestion: Suggestion | None

    def words(self) -> ProblemText:
        """Put it into words."""
        kinds = ", ".join(self.known)
        if self.is_written:
            message = f"unknown step kind {self.kind!r}"
            return _with_fix(message, kinds, str(self.kind), self.suggestion)
        return ProblemText(
            f"a step of no known kind: it has {self.shape.text}",
            f"type: {kinds}",
            "say `type:`, or one of the keys that imply it",
        )


@dataclass(frozen=True, slots=True)
class UnknownConditionKind:
    """A condition without a key that implies its kind."""

    code: Code = field(default="E109", init=False, repr=False)
    shape: FormByKeys
    known: tuple[str, ...]
    """The keys that imply one."""

    def words(self) -> ProblemText:
        """Put it into words."""
        return ProblemText(
            f"a condition of no known kind: it has {self.shape.text}",
            ", ".join(self.known),
            "ask for a task (`task`, `output_field` or `status`) or for the context "
            "(`context_field`)",
        )


@dataclass(frozen=True, slots=True)
class UnknownOperator:
    """An operator that is not known."""

    code: Code = field(default="E401", init=False, repr=False)
    operator: JsonValue
    known: tuple[str, ...]
    suggestion: Suggestion | None

    def words(self) -> ProblemText:
        """Put it into words."""
        message = f"unknown operator {self.operator!r}"
        return _with_fix(message, ", ".join(self.known), str(self.operator), self.suggestion)


@dataclass(frozen=True, slots=True)
class WrongValue:
    """The wrong value: of a key, an entry of a list, or the whole document."""

    key: str | int | None

    @property
    def name(self) -> str:
        """The key, without quotes."""
        return "the document" if self.key is None else str(self.key)

    @property
    def text(self) -> str:
        """Its key in quotes, or which entry of a list it is."""
        return f"entry {self.key + 1}" if isinstance(self.key, int) else repr(self.name)


@dataclass(frozen=True, slots=True)
class Found:
    """The value that was found; of a mapping, a list or null only the kind."""

    kind: Literal["mapping", "list", "empty", "scalar"]
    value: str | int | float | bool | None = None
    """The scalar, never a secret."""

    @property
    def text(self) -> str:
        """The value in words."""
        match self.kind:
            case "mapping" | "list":
                return f"a {self.kind}"
            case "empty":
                return "empty"
            case "scalar":
                return repr(self.value)


@dataclass(frozen=True, slots=True)
class UnlistedValue:
    """A value outside of a closed set."""

    code: Code = field(default="E105", init=False, repr=False)
    subject: WrongValue
    value: JsonValue
    known: tuple[str, ...]
    suggestion: Suggestion | None

    def words(self) -> ProblemText:
        """Put it into words."""
        message = f"{self.subject.text} is {self.value!r}"
        return _with_fix(message, in_order(self.known), str(self.value), self.suggestion)


@dataclass(frozen=True, slots=True)
class OutOfBounds:
    """A number outside of its bound."""

    code: Code = field(default="E106", init=False, repr=False)
    subject: WrongValue
    found: Found
    bound: Bound
    limit: float

    def words(self) -> ProblemText:
        """Put it into words."""
        limit = int(self.limit) if self.limit == int(self.limit) else self.limit
        return ProblemText(f"{self.subject.text} is {self.found.text}", f"{self.bound} {limit}")


@dataclass(frozen=True, slots=True)
class EmptyCollection:
    """A list or a mapping that must have an entry has none."""

    code: Code = field(default="E106", init=False, repr=False)
    subject: WrongValue

    def words(self) -> ProblemText:
        """Put it into words."""
        fix = f"add one under `{self.subject.name}:`"
        return ProblemText(f"{self.subject.text} is empty", "at least one entry", fix)


_NUMBER = re.compile(r"\d{1,15}(\.\d{1,15})?")


@dataclass(frozen=True, slots=True)
class WrongForm:
    """A value of another type, or in a form that is not allowed."""

    code: Code = field(default="E103", init=False, repr=False)
    subject: WrongValue
    found: Found
    form: str
    """The wanted form: pydantic's code of the error, or our own."""
    wanted: str = field(compare=False)
    """The wanted form, for people."""
    suggestion: Advice | None = None

    def words(self) -> ProblemText:
        """Put it into words."""
        fix, edit = "", None
        if self.suggestion is not None:
            fix, edit = self.suggestion.text, self.suggestion.edit
        match self.form, self.found:
            case "string_type", Found(kind="scalar"):
                edit = Quote()
            case "int_type" | "float_type", Found(value=str(value)) if _NUMBER.fullmatch(value):
                edit = Replace(value, value, verbatim=True)
            case _:
                pass
        return ProblemText(f"{self.subject.text} is {self.found.text}", self.wanted, fix, edit)


def key_meant(details: Details) -> str | None:
    """Return the key that a misspelled or older one stands for; None if unknown."""
    if not isinstance(details, UnknownKey | RefusedKey):
        return None
    match details.suggestion:
        case DidYouMean(name=key) | WriteKey(key=key) | Advice(key=key):
            return key
        case None:
            return None


def called(name: str, noun: str = "") -> str:
    """Return a step by its name: `the wait 'x'`; or `the wait without a name`."""
    if name == UNREADABLE:
        return f"{noun or 'the step'} without a name"
    return f"{noun} {name!r}" if noun else repr(name)
