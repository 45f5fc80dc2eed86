"""Rules: each states a problem with its code and its facts, and words it; no program reads words.

`dsl/problem_texts.py` has the problems that several checks find.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import NamedTuple, ParamSpec, Protocol, cast

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


class Details(Protocol):
    """The facts of a problem: two problems at one place with equal facts are one."""

    @property
    def code(self) -> Code:
        """The code of its rule."""
        ...

    def words(self) -> ProblemText:
        """Put it into words."""
        ...


@dataclass(frozen=True, slots=True)
class Statement:
    """What one rule finds: the rule, its code, its facts, and their words."""

    code: Code = field(repr=False)
    kind: str
    """The name of the rule."""
    facts: tuple[object, ...]
    word: Callable[[], ProblemText] = field(compare=False, repr=False)

    def words(self) -> ProblemText:
        """Put it into words."""
        return self.word()


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


def without_long_facts(details: Details) -> Details:
    """Return the details of a problem without a text: only a text needs long lists of names."""
    if not isinstance(details, Statement):
        return details
    short = tuple(fact for fact in details.facts if not _is_long(fact))
    return Statement(details.code, details.kind, short, _no_words)


def _is_long(fact: object) -> bool:
    names = cast("Collection[object]", fact) if isinstance(fact, Collection) else ()
    return not isinstance(fact, str) and len(names) > _MAX_FACTS


def _no_words() -> ProblemText:
    return ProblemText("")
