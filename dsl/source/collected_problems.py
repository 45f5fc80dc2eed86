"""The problems of a document, each with its position."""

from bisect import insort
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from dsl.errors import Code, Problem
from dsl.problem_details import Details, Remark, key_meant
from dsl.problem_texts import problem_text
from dsl.redaction import redacted
from dsl.source.nodes import Mark, dotted, is_below
from dsl.values import NodePath, Segment

_REFUSED_VALUES = ("E103", "E105", "E106")
"""Of values that the document then lacks, for every later check."""


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
    """`{path of a list: the original paths of the items that were removed from it}`."""

    def add(
        self,
        code: Code,
        mark: Mark,
        path: Sequence[Segment],
        message: str,
        *,
        allowed: str = "",
        fix: str = "",
        names: Collection[str] = (),
    ) -> None:
        """Note a problem that one check words itself, and the names that it is about."""
        self.note(code, mark, path, Remark(message, allowed, fix, tuple(names)))

    def note(self, code: Code, mark: Mark, path: Sequence[Segment], details: Details) -> None:
        """Note one problem with secrets masked; codes that start with W are warnings."""
        severity = "warning" if code.startswith("W") else "error"
        message, allowed, fix = problem_text(details)
        location = self.original_path(path)
        problem = Problem(
            code,
            mark.file,
            mark.line,
            mark.column,
            redacted(dotted(location)),
            redacted(message),
            redacted(allowed),
            redacted(fix),
            severity,
            "" if self.step_of is None else redacted(self.step_of(tuple(path))),
            location,
            details,
        )
        if not self._is_explained(problem):
            self.take((problem,))

    def take(self, problems: Iterable[Problem]) -> None:
        """Take over problems that are already worded."""
        for problem in problems:
            kept = self.errors if problem.severity == "error" else self.warnings
            if problem not in kept:
                insort(kept, problem, key=reading_order)

    def took_out(self, paths: Collection[NodePath]) -> None:
        """Note which items are removed from the tree at once; later paths do not count them."""
        written = [self._path_before_removals(path) for path in paths]
        for path in written:
            if path and isinstance(path[-1], int):
                self._gone.setdefault(path[:-1], []).append(path[-1])

    def _path_before_removals(self, path: Sequence[Segment]) -> NodePath:
        """Return a path in the remaining document as a path in the original one."""
        found: NodePath = ()
        for segment in path:
            if isinstance(segment, int):
                for gone in sorted(self._gone.get(found, ())):
                    segment += gone <= segment
            found = (*found, segment)
        return found

    def original_path(self, path: Sequence[Segment]) -> NodePath:
        """Return a path as a path in the original document."""
        return self._path_before_removals(path) if self._gone else tuple(path)

    def _is_explained(self, problem: Problem) -> bool:
        """Return whether a key is missing only because it is misspelled or refused, both noted."""
        if problem.code != "E102" or not problem.location:
            return False
        *above, key = problem.location
        return any(
            (
                earlier.code in _REFUSED_VALUES
                and problem.location in (earlier.location, earlier.location[:-1])
            )
            or (
                earlier.code == "E101"
                and earlier.details is not None
                and key_meant(earlier.details) == key
                and is_below(earlier.location, above)
            )
            for earlier in self.errors
        )

    def has(self, code: Code, path: Sequence[Segment]) -> bool:
        """Return whether a problem of this code is noted at the place."""
        key_path = self.original_path(path)
        return any(one.code == code and one.location == key_path for one in self.found())

    def below(self, path: Sequence[Segment]) -> Iterator[Problem]:
        """Yield the problems at the place and below it."""
        key_path = self.original_path(path)
        return (problem for problem in self.found() if is_below(problem.location, key_path))

    def found(self) -> tuple[Problem, ...]:
        """Return all problems: the errors, then the warnings."""
        return (*self.errors, *self.warnings)


def reading_order(problem: Problem) -> tuple[str, int, int, str]:
    """Return the key by which problems are sorted for people."""
    return problem.file, problem.line, problem.column, problem.code
