"""The step that runs named branches concurrently."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Discriminator, Field, JsonValue, Tag
from typing_extensions import override

from coterie.dsl.model.step_kinds.join_policies import JoinWord, MergePolicy
from coterie.dsl.model.step_kinds.step_base import StepBase
from coterie.dsl.model.step_kinds.step_list import Concurrent, StepList
from coterie.dsl.values import Frozen, NodePath

if TYPE_CHECKING:  # `steps` adds it when all kinds are known
    from coterie.dsl.model.steps import Step


class ParallelBranch(Frozen):
    """One branch of a parallel step: its steps, and what ranks it under `join: best`."""

    steps: tuple["Step", ...]
    priority: int = 0
    """Under `join: best`: of the branches that succeeded, the higher wins."""
    score: JsonValue = None
    """Under `join: best`: a number, or a template for one; with equal priority, the higher wins."""


def branch_tag(value: object) -> str:
    """Return the union tag of a parallel step's branch: a list of steps, or a mapping."""
    is_list = isinstance(value, list | tuple)
    return "branch:steps" if is_list else "branch:ranked"


NamedBranch = Annotated[
    Annotated[ParallelBranch, Tag("branch:ranked")]
    | Annotated[tuple["Step", ...], Tag("branch:steps")],
    Discriminator(branch_tag),
]


class ParallelStep(StepBase):
    """Runs named branches concurrently, until enough of them have ended."""

    implied_by: ClassVar = ("join",)
    filled: ClassVar = ("only", "join")
    fails_itself: ClassVar = False

    kind: Literal["parallel"]
    branches: dict[str, NamedBranch] = Field(min_length=1)
    only: JsonValue = None
    """The branches to run: a list of names, or a template for one. Default: all."""
    join: JoinWord | Annotated[int, Field(ge=1)] | Annotated[str, Field(pattern=r"\{\{")] = "all"
    """`all`: every branch ends, one failure fails the step; `any`: one success is enough;
    a number: this many successes are enough; `fallback`: one after another, until one succeeds;
    `best`: all run, and the best result wins; or a template for one of these."""
    losers: Literal["cancel", "finish"] = "cancel"
    """What happens to branches that are no longer needed."""
    merge: dict[str, MergePolicy] = Field(default_factory=dict[str, MergePolicy])
    """`{variable: policy}`, or `{context.PATH: policy}`, for what two branches set; without a
    policy, an error."""

    def branch(self, name: str) -> ParallelBranch:
        """Return a branch in one form, whichever is written."""
        branch = self.branches[name]
        if isinstance(branch, ParallelBranch):
            return branch
        return ParallelBranch.model_construct(steps=branch)

    @property
    def ranked_branches(self) -> dict[str, ParallelBranch]:
        """All branches in one form."""
        return {name: self.branch(name) for name in self.branches}

    @override
    def lists(self, path: NodePath = ()) -> Iterator[StepList]:
        for name, branch in self.branches.items():
            key_path = (*path, "branches", name)
            if isinstance(branch, ParallelBranch):
                role = Concurrent(name, branch.priority, branch.score)
                yield StepList(branch.steps, (*key_path, "steps"), role)
            else:
                yield StepList(branch, key_path, Concurrent(name))

    @override
    def certain_lists(self, path: NodePath = ()) -> Iterable[StepList]:
        return self.lists(path) if self.join == "all" and self.only is None else ()

    @property
    @override
    def can_fail_itself(self) -> bool:
        """Whether a branch may have none of its steps run, and so not succeed."""
        return self.join != "all" and any(
            all(step.when is not None or step.on_failure == "ask" for step in inner.steps)
            for inner in self.lists()
        )

    @override
    def with_lists(self, lists: Iterator[tuple["Step", ...]]) -> Self:
        branches = {
            name: _with_steps(branch, next(lists)) for name, branch in self.branches.items()
        }
        return self.model_copy(update={"branches": branches})

    @override
    def own_templates(self) -> Iterator[tuple[object, NodePath]]:
        for name, branch in self.ranked_branches.items():
            yield branch.score, ("branches", name, "score")

    @override
    def sets(self, name: str) -> bool:
        return name in self.merge or super().sets(name)


def _with_steps(branch: NamedBranch, steps: tuple["Step", ...]) -> NamedBranch:
    if isinstance(branch, ParallelBranch):
        return branch.model_copy(update={"steps": steps})
    return steps
