"""Writes of concurrent branches, joined in written order; which of them conflict. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from coterie.dsl.errors import ContextConflict
from coterie.dsl.evaluate.context_operations import COMMUTING
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
        for path, writers in write_conflicts(branches, policies):
            raise ContextConflict(
                f"the branches {', '.join(sorted(writers))} all set the context's {path!r}; "
                f"{advice(path)}"
            )
    by_policy = {path: _by_policy(branches, path, policy) for path, policy in policies.items()}
    found: list[ContextWrite] = []
    merged: set[str] = set()
    for writes in branches.values():
        for write in writes:
            one = by_policy.get(write.path)
            if one is None:
                found.append(write)
            elif write.path not in merged:
                merged.add(write.path)
                found.append(one)
    return tuple(found)


def _by_policy(branches: BranchWrites, path: str, policy: MergePolicy) -> ContextWrite | None:
    """Return the one write that the policy makes; None if operations apply one after another."""
    values = [
        own[-1].value
        for writes in branches.values()
        if (own := [write for write in writes if write.path == path])
        and all(write.operation is None for write in own)
    ]
    writers = sum(any(write.path == path for write in writes) for writes in branches.values())
    if not values or len(values) < writers:
        return None
    return ContextWrite(path, merged_by(policy, values))


@dataclass(slots=True)
class _Touched:
    """What the branches do at one path."""

    kinds: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """`{kind of write: the branches}`."""
    written: dict[str, bool] = field(default_factory=dict[str, bool])
    """`{path as written: whether every write of it replaces}`."""
    below: set[str] = field(default_factory=set[str])
    """The branches that write further down."""


def write_conflicts(
    branches: BranchWrites, policies: Mapping[str, MergePolicy]
) -> Iterator[tuple[str, set[str]]]:
    """Yield each path that several branches write so that their order would decide."""
    touched = _touched_paths(branches)
    for path, here in touched.items():
        if not here.kinds:
            continue
        own = {name for names in here.kinds.values() for name in names}
        above = (touched[path[:length]].kinds.values() for length in range(len(path)))
        others = here.below.union(*(names for kinds in above for names in kinds))
        writers = own | others
        if len(writers) < 2 or (not others and _commute(here)):
            continue
        for text, replaces in here.written.items():
            policy = policies.get(text)
            if policy is None or not (replaces or policy == _REPLACES):
                yield text, writers
                break


def _commute(here: _Touched) -> bool:
    return len(here.kinds) == 1 and _REPLACES not in here.kinds


def _touched_paths(branches: BranchWrites) -> dict[Path, _Touched]:
    found: dict[Path, _Touched] = {}
    for branch, writes in branches.items():
        for write in writes:
            kind = (
                _REPLACES if write.operation is None else COMMUTING.get(write.operation, _REPLACES)
            )
            for path in _paths_of_write(write):
                for length in range(len(path)):
                    found.setdefault(path[:length], _Touched()).below.add(branch)
                here = found.setdefault(path, _Touched())
                here.kinds.setdefault(kind, set()).add(branch)
                replaces = write.operation is None
                here.written[write.path] = replaces and here.written.get(write.path, True)
    return found


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
