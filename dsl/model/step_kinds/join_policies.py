"""How the branches of a parallel step end, and how their values meet."""

from typing import Annotated, Literal

from pydantic import BeforeValidator

JoinWord = Literal["all", "any", "fallback", "best"]


def _current_policy(policy: object) -> object:
    """Read the policy of a plan that an earlier version compiled; documents cannot say it."""
    return "extend" if policy == "append" else policy


MergePolicyName = Literal["replace", "extend", "merge"]
MergePolicy = Annotated[MergePolicyName, BeforeValidator(_current_policy)]
"""How to combine two values of one name: the later in written order, a list, or a mapping."""


CONTEXT = "context."
"""Begins a name of a parallel step's `merge` that is a path of the context, and no variable."""
