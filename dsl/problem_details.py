"""The facts of a problem, typed. Programs decide by them, and texts are made of them.

A rule has its own words; `dsl/problem_texts.py` words the rest. No program reads them.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, ParamSpec, cast

if TYPE_CHECKING:  # the command line starts without pydantic
    from pydantic import JsonValue

Given = ParamSpec("Given")

Code = str
"""The stable code of a rule, like `E107`; `docs/errors.md` has one heading for each."""


@dataclass(frozen=True, slots=True)
class Replace:
    """Write another key or value where the problem is."""

    old: str
    """What is there; anything else stays."""
    new: str
    verbatim: bool = False
    """Whether it is a number or a boolean, which quotes would make a text."""


@dataclass(frozen=True, slots=True)
class Quote:
    """Write the value where the problem is in quotes."""


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove an entry of the mapping where the problem is."""

    key: str


@dataclass(frozen=True, slots=True)
class MoveBelow:
    """Write an entry of the mapping where the problem is below another key, which is not there."""

    key: str
    above: str
    name: str
    """The key that it then has."""


Edit = Replace | Quote | Remove | MoveBelow
"""A certain fix, as data."""


class ProblemText(NamedTuple):
    """What is wrong, what is allowed, and the fix; the last three may be empty."""

    message: str
    allowed: str = ""
    fix: str = ""
    edit: Edit | None = None


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


@dataclass(frozen=True, slots=True)
class WrongValue:
    """The wrong value: of a key, an entry of a list, or the whole document."""

    key: str | int | None


@dataclass(frozen=True, slots=True)
class Found:
    """The value that was found; of a mapping, a list or null only the kind."""

    kind: Literal["mapping", "list", "empty", "scalar"]
    value: str | int | float | bool | None = None
    """The scalar, never a secret."""


@dataclass(frozen=True, slots=True)
class MissingKey:
    """A required key is missing."""

    code: ClassVar[Code] = "E102"
    key: str


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """A key that has no meaning at this place."""

    code: ClassVar[Code] = "E101"
    key: str
    known: tuple[str, ...]
    suggestion: Suggestion | None


@dataclass(frozen=True, slots=True)
class RefusedKey:
    """A key of an older form, or of another system."""

    code: ClassVar[Code] = "E108"
    key: str
    known: tuple[str, ...]
    suggestion: Suggestion


@dataclass(frozen=True, slots=True)
class UnknownName:
    """A name that refers to nothing."""

    code: Code = field(repr=False)
    what: str
    """The kind of thing: `team`, `persona`."""
    name: str
    known: tuple[str, ...]
    suggestion: Suggestion | None


@dataclass(frozen=True, slots=True)
class UnknownStepKind:
    """A step whose `type` is not known, or that has none and no key that implies one."""

    code: ClassVar[Code] = "E104"
    is_written: bool
    """Whether it has a `type`."""
    kind: "JsonValue"
    """The `type` as written."""
    shape: "FormByKeys"
    known: tuple[str, ...]
    suggestion: Suggestion | None


@dataclass(frozen=True, slots=True)
class UnknownConditionKind:
    """A condition without a key that implies its kind."""

    code: ClassVar[Code] = "E109"
    shape: "FormByKeys"
    known: tuple[str, ...]
    """The keys that imply one."""


@dataclass(frozen=True, slots=True)
class FormByKeys:
    """What is written where a mapping should have keys that imply its kind."""

    keys: tuple[str, ...]
    value: "JsonValue" = None
    """What is there instead of such a mapping."""


@dataclass(frozen=True, slots=True)
class UnknownOperator:
    """An operator that is not known."""

    code: ClassVar[Code] = "E401"
    operator: "JsonValue"
    known: tuple[str, ...]
    suggestion: Suggestion | None


@dataclass(frozen=True, slots=True)
class UnlistedValue:
    """A value outside of a closed set."""

    code: ClassVar[Code] = "E105"
    subject: WrongValue
    value: "JsonValue"
    known: tuple[str, ...]
    suggestion: Suggestion | None


@dataclass(frozen=True, slots=True)
class OutOfBounds:
    """A number outside of its bound."""

    code: ClassVar[Code] = "E106"
    subject: WrongValue
    found: Found
    bound: Bound
    limit: float


@dataclass(frozen=True, slots=True)
class EmptyCollection:
    """A list or a mapping that must have an entry has none."""

    code: ClassVar[Code] = "E106"
    subject: WrongValue


@dataclass(frozen=True, slots=True)
class WrongForm:
    """A value of another type, or in a form that is not allowed."""

    code: ClassVar[Code] = "E103"
    subject: WrongValue
    found: Found
    form: str
    """The wanted form: pydantic's code of the error, or our own."""
    wanted: str = field(compare=False)
    """The wanted form, for people."""
    suggestion: Suggestion | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """What one rule finds: the rule, its code, its facts, and their words."""

    code: Code = field(repr=False)
    kind: str
    """The name of the rule."""
    facts: tuple[object, ...]
    words: Callable[[], ProblemText] = field(compare=False, repr=False)


def rule(code: Code) -> Callable[[Callable[Given, ProblemText]], Callable[Given, Statement]]:
    """Make a function that words a problem a rule: it then states the problem, with its code.

    The arguments are the facts. The text is made only when it is read.
    """

    def of_words(words: Callable[Given, ProblemText]) -> Callable[Given, Statement]:
        @wraps(words)
        def state(*args: Given.args, **kwargs: Given.kwargs) -> Statement:
            facts = (*args, *kwargs.values())
            return Statement(code, words.__name__, facts, partial(words, *args, **kwargs))

        return state

    return of_words


_MAX_FACTS = 10
"""Of a collection that is one fact of a problem without a text."""


def without_long_facts(details: "Details") -> "Details":
    """Return the details of a problem without a text: only a text needs long lists of names."""
    if not isinstance(details, Statement):
        return details
    short = tuple(one for one in details.facts if not _is_long(one))
    return Statement(details.code, details.kind, short, _no_words)


def _is_long(fact: object) -> bool:
    names = cast("Collection[object]", fact) if isinstance(fact, Collection) else ()
    return not isinstance(fact, str) and len(names) > _MAX_FACTS


def _no_words() -> ProblemText:
    return ProblemText("")


OfKeys = MissingKey | UnknownKey | RefusedKey | UnknownName
OfKinds = UnknownStepKind | UnknownConditionKind | UnknownOperator
OfValues = UnlistedValue | OutOfBounds | EmptyCollection | WrongForm
Details = OfKeys | OfKinds | OfValues | Statement


def key_meant(details: Details) -> str | None:
    """Return the key that a misspelled or older one stands for; None if unknown."""
    if not isinstance(details, UnknownKey | RefusedKey):
        return None
    match details.suggestion:
        case DidYouMean(name=key) | WriteKey(key=key) | Advice(key=key):
            return key
        case None:
            return None
