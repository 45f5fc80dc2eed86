"""The problems of a document, each with its position."""

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from coterie.dsl.errors import Problem
from coterie.dsl.problem_details import Code, Details, ProblemText, Statement, without_long_facts
from coterie.dsl.problem_texts import key_meant
from coterie.dsl.redaction import redacted
from coterie.dsl.source.nodes import Place, dotted
from coterie.dsl.values import NodePath, Segment

_REFUSED_VALUES = ("E103", "E105", "E106")
"""Of values that the document then lacks, for every later check."""

MAX_DESCRIBED = 500
"""Of each code: the later ones keep their place, and their text is not worked out."""


def problem_not_described(limit: int) -> ProblemText:
    """Return the text of every problem of one code after so many that are described."""
    return ProblemText(
        f"one more problem of this kind, not described: {limit:,} of them are",
        fix="correct those first, then validate again",
    )


@dataclass(slots=True)
class Problems:
    """Collects the problems of a document; one per position and code."""

    errors: list[Problem] = field(default_factory=list[Problem])
    """The problems that prevent a plan, in reading order."""
    warnings: list[Problem] = field(default_factory=list[Problem])
    """The problems that do not prevent a plan, in reading order."""
    step_of: "Callable[[NodePath], str] | None" = None
    """Returns the named step that contains a path, once the document can be read."""
    _gone: dict[NodePath, list[int]] = field(default_factory=dict[NodePath, list[int]])
    """`{path of a list: the original numbers of the items that were removed from it, sorted, each
    less those removed before it}`.
    """
    _at: dict[NodePath, list[Problem]] = field(default_factory=dict[NodePath, list[Problem]])
    """`{path: the problems there and below}`."""
    _misspelt: set[tuple[str, NodePath]] = field(default_factory=set[tuple[str, NodePath]])
    """`(known key, path above an unknown key that means it)`."""
    _noted: set[tuple[int, Problem]] = field(default_factory=set[tuple[int, Problem]])
    """Each with the hash of its details: one text can have thousands of problems at one place."""
    _described: Counter[Code] = field(default_factory=Counter[Code])
    """How many problems of each code have a text."""

    def report(self, details: Details, place: Place) -> None:
        """Note one problem with secrets masked; codes that start with W are warnings."""
        code, (mark, path) = details.code, place
        severity = "warning" if code.startswith("W") else "error"
        described = self.describes(code)
        text = self._text(code, details)
        location = self.original_path(path)
        problem = Problem(
            code,
            mark.file,
            mark.line,
            mark.column,
            redacted(dotted(location)),
            redacted(text.message),
            redacted(text.allowed),
            redacted(text.fix),
            severity,
            "" if self.step_of is None else redacted(self.step_of(tuple(path))),
            location,
            details if described else without_long_facts(details),
            text.edit,
        )
        if not self._is_explained(problem):
            self.take((problem,))

    def describes(self, code: Code) -> bool:
        """Return whether the next problem of a code gets a text, so that its facts are worth it."""
        return self._described[code] < MAX_DESCRIBED

    def _text(self, code: Code, details: Details) -> ProblemText:
        """Return the text of a problem; of very many of one code, that it is left out."""
        if not self.describes(code):
            return problem_not_described(MAX_DESCRIBED)
        self._described[code] += 1
        return details.words()

    def take(self, problems: Iterable[Problem]) -> None:
        """Take over problems that are already worded."""
        for problem in problems:
            noted = _details_hash(problem.details), problem
            if noted in self._noted:
                continue
            self._noted.add(noted)
            collection = self.errors if problem.severity == "error" else self.warnings
            insort(collection, problem, key=reading_order)
            likely_key = key_meant(problem.details) if problem.details is not None else None
            for length in range(len(problem.location) + 1):
                above = problem.location[:length]
                self._at.setdefault(above, []).append(problem)
                if problem.code == "E101" and likely_key is not None:
                    self._misspelt.add((likely_key, above))

    def took_out(self, paths: Collection[NodePath]) -> None:
        """Note which items are removed from the tree at once; later paths do not count them."""
        gone: dict[NodePath, list[int]] = {}
        for path in [self._path_before_removals(path) for path in paths]:
            if path and isinstance(path[-1], int):
                gone.setdefault(path[:-1], []).append(path[-1])
        for path, new in gone.items():
            earlier = (less + number for number, less in enumerate(self._gone.get(path, ())))
            self._gone[path] = [
                index - number for number, index in enumerate(sorted({*earlier, *new}))
            ]

    def _path_before_removals(self, path: Sequence[Segment]) -> NodePath:
        """Return a path in the remaining document as a path in the original one."""
        original: NodePath = ()
        for segment in path:
            if isinstance(segment, int):
                segment += bisect_right(self._gone.get(original, ()), segment)
            original = (*original, segment)
        return original

    def original_path(self, path: Sequence[Segment]) -> NodePath:
        """Return a path as a path in the original document."""
        return self._path_before_removals(path) if self._gone else tuple(path)

    def _is_explained(self, problem: Problem) -> bool:
        """Return whether a key is missing only because it is misspelled or refused, both noted."""
        if problem.code != "E102" or not problem.location:
            return False
        *above, key = problem.location
        refused = any(
            earlier.code in _REFUSED_VALUES and len(earlier.location) <= len(problem.location) + 1
            for earlier in self._at.get(problem.location, ())
        )
        return refused or (str(key), tuple(above)) in self._misspelt

    def has(self, code: Code, path: Sequence[Segment]) -> bool:
        """Return whether a problem of this code is noted at the place."""
        key_path = self.original_path(path)
        return any(
            problem.code == code and problem.location == key_path
            for problem in self._at.get(key_path, ())
        )

    def below(self, path: Sequence[Segment]) -> Iterator[Problem]:
        """Yield the problems at the place and below it."""
        return iter(self._at.get(self.original_path(path), ()))

    def found(self) -> tuple[Problem, ...]:
        """Return all problems: the errors, then the warnings."""
        return (*self.errors, *self.warnings)


def _details_hash(details: Details | None) -> int:
    """Return the same number for equal details; mostly another one for others."""
    if isinstance(details, Statement):
        return hash((details.kind, *(fact for fact in details.facts if isinstance(fact, str))))
    try:
        return hash(details)
    except TypeError:  # they hold JSON as it is written
        return 0


def reading_order(problem: Problem) -> tuple[str, int, int, str]:
    """Return the key by which problems are sorted for people."""
    return problem.file, problem.line, problem.column, problem.code
