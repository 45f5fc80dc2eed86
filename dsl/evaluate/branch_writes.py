"""Writes of concurrent branches, joined in written order; which of them conflict. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from coterie.dsl.errors import ContextConflict
from coterie.dsl.evaluate.context import COMMUTING
from coterie.dsl.evaluate.context_writes import ContextWrite
from coterie.dsl.model.merge import merged_by
from coterie.dsl.model.step_kinds.join_policies import MergePolicy
from coterie.dsl.paths import Path, parse
from coterie.dsl.values import Json

_REPLACES = "replace"
BranchWrites = Mapping[str, Sequence[ContextWrite]]
"""`{branch: what it has written, in order}`, in written order."""


def joined(
    branches: BranchWrites,
    policies: Mapping[str, MergePolicy],
    advice: Callable[[str], str],
) -> tuple[ContextWrite, ...]:
    """Join the writes of all branches, in written order, whichever branch ended first.

    Writers of one path that all append (or extend), or all increment, never conflict. Two that
    merge conflict only where both set the same key.

    Args:
        branches: the branches that succeeded.
        policies: `{path: how the values of several branches become one}`.
        advice: what to do about a conflict at a path.

    Raises:
        ContextConflict: two branches replace the same path, or one in another, and no policy
            decides.
    """
    if len(branches) > 1:
        for conflict in write_conflicts(branches, policies):
            raise ContextConflict(
                f"the branches {', '.join(sorted(conflict.writers))} all set the context's "
                f"{conflict.written!r}; {advice(conflict.written)}"
            )
    writes_by_path = _written_by_path(branches, policies)
    by_policy = {
        path: _by_policy(writes_by_path[path], path, policy) for path, policy in policies.items()
    }
    joined_writes: list[ContextWrite] = []
    merged: set[str] = set()
    for writes in branches.values():
        for write in writes:
            merged_write = by_policy.get(write.path)
            if merged_write is None:
                joined_writes.append(write)
            elif write.path not in merged:
                merged.add(write.path)
                joined_writes.append(merged_write)
    return tuple(joined_writes)


def _written_by_path(
    branches: BranchWrites, paths: Iterable[str]
) -> dict[str, list[list[ContextWrite]]]:
    """Return `{path: of each branch that has written exactly there, its writes}`."""
    writes_by_path: dict[str, list[list[ContextWrite]]] = {path: [] for path in paths}
    for writes in branches.values():
        own: dict[str, list[ContextWrite]] = {}
        for write in writes:
            if write.path in writes_by_path:
                own.setdefault(write.path, []).append(write)
        for path, of_path in own.items():
            writes_by_path[path].append(of_path)
    return writes_by_path


def _by_policy(
    branch_writes: Sequence[Sequence[ContextWrite]], path: str, policy: MergePolicy
) -> ContextWrite | None:
    """Return the one write that the policy makes; None if operations apply one after another."""
    if not branch_writes or any(
        write.operation is not None for own in branch_writes for write in own
    ):
        return None
    return ContextWrite(path, merged_by(policy, [own[-1].value for own in branch_writes]))


class WritePlace(NamedTuple):
    """A write of concurrent branches."""

    branch: int
    number: int
    """In its branch."""


_NOWHERE = WritePlace(-1, -1)


@dataclass(slots=True)
class _Touched:
    """What the branches do at one path."""

    kinds: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """`{kind of write: the branches}`."""
    written: dict[str, bool] = field(default_factory=dict[str, bool])
    """`{path as written: whether every write of it replaces}`."""
    below: set[str] = field(default_factory=set[str])
    """The branches that write further down."""
    last: WritePlace = _NOWHERE
    """The last write here."""
    last_below: WritePlace = _NOWHERE


class Conflict(NamedTuple):
    """A path that several branches write so that their order would decide."""

    written: str
    """As one of them writes it."""
    last: WritePlace
    """The last write of the path, or within it or around it."""
    sets: tuple[set[str], ...]
    """Sets of its writers: their union costs as much as there are branches."""

    @property
    def writers(self) -> set[str]:
        """All branches that write it."""
        return set[str]().union(*self.sets)


def write_conflicts(
    branches: BranchWrites, policies: Mapping[str, MergePolicy]
) -> Iterator[Conflict]:
    """Yield each path that several branches write so that their order would decide."""
    touched = _touched_paths(branches)
    for path, here in touched.items():
        if not here.kinds:
            continue
        around = [touched[path[:length]] for length in range(len(path))]
        others = [here.below, *(names for parent in around for names in parent.kinds.values())]
        sets = tuple(names for names in (*here.kinds.values(), *others) if names)
        if not _are_several(sets) or (not any(others) and _commute(here)):
            continue
        for text, replaces in here.written.items():
            policy = policies.get(text)
            if policy is None or not (replaces or policy == _REPLACES):
                last = max(here.last, here.last_below, *(parent.last for parent in around))
                yield Conflict(text, last, sets)
                break


def _are_several(sets: Iterable[set[str]]) -> bool:
    """Return whether not all sets have the same single member."""
    first = None
    for names in sets:
        if len(names) > 1 or (first is not None and names != first):
            return True
        first = names
    return False


def _commute(here: _Touched) -> bool:
    return len(here.kinds) == 1 and _REPLACES not in here.kinds


def _touched_paths(branches: BranchWrites) -> dict[Path, _Touched]:
    touched: dict[Path, _Touched] = {}
    for number, (branch, writes) in enumerate(branches.items()):
        for place, write in enumerate(writes):
            at = WritePlace(number, place)
            kind = (
                _REPLACES if write.operation is None else COMMUTING.get(write.operation, _REPLACES)
            )
            for path in _paths_of_write(write):
                for length in range(len(path)):
                    around = touched.setdefault(path[:length], _Touched())
                    around.below.add(branch)
                    around.last_below = at
                here = touched.setdefault(path, _Touched())
                here.last = at
                here.kinds.setdefault(kind, set()).add(branch)
                replaces = write.operation is None
                here.written[write.path] = replaces and here.written.get(write.path, True)
    return touched


def _paths_of_write(write: ContextWrite) -> Iterator[Path]:
    """Yield the paths that a write sets: of a merge, those of its values."""
    path = parse(write.path)
    if write.operation == "merge" and isinstance(write.value, dict):
        yield from _leaves(write.value, path)
    else:
        yield path


def _leaves(value: Json, path: Path) -> Iterator[Path]:
    for key, item in value.items():
        if isinstance(item, dict) and item:
            yield from _leaves(item, (*path, key))
        else:
            yield (*path, key)
