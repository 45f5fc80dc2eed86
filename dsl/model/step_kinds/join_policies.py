"""How the branches of a parallel step end, and how their values meet."""

from typing import Literal

JoinWord = Literal["all", "any", "fallback", "best"]

MergePolicy = Literal["replace", "extend", "merge"]
"""How to combine two values of one name: the later in written order, a list, or a mapping."""


CONTEXT = "context."
"""Begins a name of a parallel step's `merge` that is a path of the context, and no variable."""
