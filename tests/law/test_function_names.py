"""A private function is named by a verb or by what it returns, not by a bare participle."""

import ast
import re
from functools import cache

from tests.law.sources import ROOMS, modules

_WORDS = """
    begun born bought bound broken brought built caught chosen done drawn felt forgotten found given
    gone heard held hidden kept known laid led left lent lost made meant met paid proven said seen
    sent shown sold spent stood stolen stuck taken taught thought told torn understood withdrawn won
    worn written
"""
IRREGULAR = frozenset(_WORDS.split())
"""The participles that do not end in `ed`. Those that are also a present tense (`read`, `set`,
`put`, `cut`, `run`, `split`, `spread`) name an action."""

ALLOWED = {
    "_bound": "the noun: a limit; or to bound the resources of a process",
}
"""`{name: why it reads well}`."""


def is_participle(word: str) -> bool:
    """Return whether a name is one word, and a past participle."""
    return word in IRREGULAR or re.fullmatch(r"[a-z]{2,}[^e]ed", word) is not None


@cache
def private_functions() -> list[tuple[str, str]]:
    """Return the module and the name of each private function and method of the rooms."""
    return [
        (module, node.name)
        for room in ROOMS
        for module, file in modules(room)
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if node.name.startswith("_") and not node.name.startswith("__")
    ]


def test_no_private_function_is_named_by_a_bare_participle() -> None:
    found = [
        f"{module}.{name}"
        for module, name in private_functions()
        if is_participle(name.lstrip("_")) and name not in ALLOWED
    ]
    assert found == [], "say what it does or returns: `_check_url`, `_answer_text`"


def test_each_exception_is_in_use() -> None:
    assert ALLOWED.keys() <= {name for _, name in private_functions()}


def test_a_participle_is_one_word() -> None:
    assert [is_participle(word) for word in ("checked", "told", "check", "need", "told_twice")] == [
        True,
        True,
        False,
        False,
        False,
    ]
