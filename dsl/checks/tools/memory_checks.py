"""Checks of whose memory a tool uses, and of whose run it is."""

from coterie.dsl.model.memory_terms import (
    MEMORY_FUNCTIONS,
    MEMORY_SEARCH,
    STARTER,
    MemorySection,
)
from coterie.dsl.problem_details import ProblemText, Remove, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.templates.template import plain_path
from coterie.dsl.values import NodePath

_USER = "`starter`, or one path of the context, such as `{{ context.customer }}`"


@rule("E512")
def memory_of_another(function: str) -> ProblemText:
    return ProblemText(
        f"`memory` has no effect here: {function} has none",
        " and ".join(f"`skill: {name}`" for name in MEMORY_FUNCTIONS),
        "write `memory` at a tool that is made of one of these",
        edit=Remove("memory"),
    )


@rule("E512")
def expiry_of_search() -> ProblemText:
    return ProblemText(
        f"`expires` has no effect here: {MEMORY_SEARCH} stores nothing",
        fix="write `expires` at the tool that stores",
        edit=Remove("expires"),
    )


@rule("E512")
def no_user() -> ProblemText:
    return ProblemText(
        "this memory belongs to the user of the run, and the document does not say who that is",
        fix="add `user: starter`, or a path of the context, to `orchestration`",
    )


def check_memory_terms(
    function: str,
    memory: MemorySection,
    path: NodePath,
    tree: Node,
    problems: Problems,
    *,
    has_user: bool,
) -> None:
    """Note a memory that has no effect, or that belongs to nobody.

    Args:
        function: the tool function that the tool is made of.
        memory: whose memory it uses.
        path: where that is written.
        tree: the document.
        problems: collects the findings.
        has_user: whether the document says who the user of a run is.
    """
    if function not in MEMORY_FUNCTIONS:
        problems.report(memory_of_another(function), tree.key_at(path))
        return
    if memory.expires is not None and function == MEMORY_SEARCH:
        problems.report(expiry_of_search(), tree.key_at((*path, "expires")))
    if memory.scope == "user" and not has_user:
        problems.report(no_user(), tree.value_at((*path, "scope")))


@rule("E512")
def unclear_user() -> ProblemText:
    return ProblemText("this does not say who the user of a run is", _USER, "write one of these")


def check_user(tree: Node, problems: Problems, user: str, path: NodePath) -> None:
    """Note a user that is neither who started the run, nor one path of the context."""
    found = plain_path(user)
    if user != STARTER and (found is None or found[0] != "context" or len(found) < 2):
        problems.report(unclear_user(), tree.value_at(path))
