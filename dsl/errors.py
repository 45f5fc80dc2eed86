"""The drawn error tree, and the problems that a document can have.

TeamError
+ InvalidDocument        a person's file is wrong: every problem of it, at once
+ InvalidPlan            a plan that no compiler of ours made, or not for this language
+ TemplateFailed         a template could not be filled from the facts
  + EvaluationLimitExceeded  an evaluation needs more steps or bytes than its budget has
+ InvalidBound           the template of a bound gives nothing that the bound may be
+ OutputFailed           the declared output of a run or a team cannot be rendered
+ ContextConflict        two writers of one context key and no merge policy
+ ContextUpdateFailed    an operation of `context_updates` meets a value of the wrong type
+ InvalidContext         a write does not fit the declared context
+ LimitExceeded          a bound of the run is reached
  + BudgetExceeded       a budget of tokens, money, calls or time is used up
+ NoRoute                a team ended and no rule says what comes next
+ TeamFailed             a team failed and no rule and no default applies
+ HookFailed             a hook of the run failed
+ HookRejected           a hook of the run rejected it
+ RunRefused             the start request asks for what only the worker may decide

Everything here is expected: a TeamError fails a run with a readable message and never retries it.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from typing import Literal

from coterie.dsl.problem_details import Code, Details, Edit, Replace

_MAX_SORTED = 5_000
_MAX_COMPARED = 50
MAX_LISTED = 100
"""Names that a problem lists; it counts the rest."""

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a document, with all that the reader needs to fix it."""

    code: Code
    file: str
    line: int
    column: int
    path: str
    """Path in the document, dotted: `orchestration.teams.review.tasks[1].type`."""
    message: str = field(compare=False)
    """What is wrong, in the terms of the document, without a full stop. No program reads it, nor
    `allowed`, nor `fix`: two problems are equal if their details are.
    """
    allowed: str = field(compare=False, default="")
    fix: str = field(compare=False, default="")
    severity: Severity = "error"
    step: str = ""
    """The place in the author's terms: `discovery/read_project: field`; empty where no step has a
    name.
    """
    location: tuple[str | int, ...] = field(default=(), repr=False)
    """The path, segment by segment."""
    details: Details | None = field(default=None, repr=False, hash=False)
    """The facts; None if the code has only one meaning."""
    edit: Edit | None = field(compare=False, default=None, repr=False)
    """The fix as data, if it is certain."""

    def as_dict(self) -> dict[str, str | int]:
        """Return the flat form that `coterie validate --json` prints."""
        return {name: getattr(self, name) for name in _PRINTED}


_PRINTED = (
    *("code", "file", "line", "column", "path"),
    *("message", "allowed", "fix", "severity", "step"),
)


class TeamError(Exception):
    """An error in a team, a plan or a run that a person can fix."""


class InvalidDocument(TeamError):
    """A document cannot become a plan."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(
            "\n".join(
                f"{p.file}:{p.line}:{p.column}: {p.message} [{p.code}]" for p in self.problems
            )
        )


_UNREADABLE_FILE: Code = "E001"


def unreadable_file(
    file: str, message: str, *, allowed: str = "", fix: str = "", at: tuple[int, int] = (1, 1)
) -> InvalidDocument:
    """Return the refusal of a file whose text cannot be read."""
    return InvalidDocument([Problem(_UNREADABLE_FILE, file, *at, "", message, allowed, fix)])


class InvalidPlan(TeamError):
    """A plan is inconsistent; our compiler never makes one."""


class TemplateFailed(TeamError):
    """A template names something that the facts do not have, or cannot be evaluated."""


class EvaluationLimitExceeded(TemplateFailed):
    """An evaluation needs more than its budget; `bound` names which part of it."""

    def __init__(
        self, message: str, *, bound: Literal["steps", "bytes", "integer", "depth", "format"]
    ) -> None:
        self.bound: Literal["steps", "bytes", "integer", "depth", "format"] = bound
        super().__init__(message)


class InvalidBound(TeamError):
    """The template of a bound gives no number or duration that the bound may be."""


class OutputFailed(TeamError):
    """The declared output of a run or a team cannot be rendered from its facts."""


class ContextConflict(TeamError):
    """Two writers set one context key and no merge policy decides."""


class ContextUpdateFailed(TeamError):
    """An operation of `context_updates` finds, or is given, a value of the wrong type."""


class InvalidContext(TeamError):
    """A value or a path does not fit what the document declares of its context."""


class LimitExceeded(TeamError):
    """A run reached a bound; `limit` names which."""

    def __init__(self, message: str, *, limit: str, allowed: float) -> None:
        self.limit = limit
        self.allowed = allowed
        super().__init__(message)


class BudgetExceeded(LimitExceeded):
    """A budget is used up, and nothing says how to continue."""


class NoRoute(TeamError):
    """A team succeeded, has rules, none matched, and there is no default."""


class TeamFailed(TeamError):
    """A team failed and its routing does not handle the failure; `root` is the type of that."""

    def __init__(self, message: str, *, root: str = "") -> None:
        self.root = root
        super().__init__(message)


class StateTooLarge(TeamError):
    """The state of a run is too large to carry into its next history."""


class ResultTooLarge(TeamError):
    """The run did its work, and its result is too large to give."""


class ValueTooLarge(TeamError):
    """A value that a run would keep is too large to carry."""


class HookFailed(TeamError):
    """A hook of the run failed, or could not decide."""


class HookRejected(TeamError):
    """A hook of the run rejected its context or its output."""


class RunRefused(TeamError):
    """A start request is malformed or asks for what only the worker may decide."""


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the nearest known name, or None; of very many, only those next in the alphabet."""
    names = sorted(islice(known, _MAX_SORTED))
    if len(names) > _MAX_COMPARED:
        at = bisect_left(names, word)
        names = names[max(0, at - _MAX_COMPARED // 2) : at + _MAX_COMPARED // 2]
    return next(iter(get_close_matches(word, names, n=1, cutoff=0.6)), None)


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the fix for a misspelled name: `did you mean 'x'?`, or nothing if none is near."""
    return asked_back(closest(word, known))


def replaced_by_nearest(word: str, known: Iterable[str]) -> Edit | None:
    """Return the same fix as an edit; None if no name is near."""
    name = closest(word, known)
    return None if name is None else Replace(word, name)


def asked_back(meant: str | None) -> str:
    """Return `did you mean 'x'?`; nothing for None."""
    return "" if meant is None else f"did you mean {meant!r}?"


def listed(names: Iterable[str]) -> str:
    """Return the names sorted and comma-separated, of very many the first; a word for none."""
    return in_order(sorted(set(names))) or "none"


def in_order(names: Sequence[str]) -> str:
    """Return the names comma-separated; of very many the first, and how many there are besides."""
    more = f" and {len(names) - MAX_LISTED:,} more" if len(names) > MAX_LISTED else ""
    return ", ".join(names[:MAX_LISTED]) + more
