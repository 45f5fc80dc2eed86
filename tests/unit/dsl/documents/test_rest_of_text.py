"""Within `{ }` a comma ends a text: what follows is no key, and the fix is to quote the text."""

import pytest

from coterie.dsl.errors import InvalidDocument
from tests.support.compiling import compiled

TEAMS = """
orchestration:
  entry_team: main
  teams: { main: { tasks: [{ name: note, type: set, values: { a: 1 } }] } }
"""
PLACES = {
    "step": TEAMS.replace("type: set, values: { a: 1 }", "type: fail, message: hello, my world"),
    "team": TEAMS.replace("main: { tasks", "main: { description: hello, my world, tasks"),
    "tool": "tools: { read: { skill: Files.read, description: hello, my world } }" + TEAMS,
    "persona": "llm_config: { personas: { p: { model: m, description: hello, my world } } }"
    + TEAMS,
    "approval": TEAMS.replace(
        "type: set, values: { a: 1 }", "type: approval, prompt: ok, my world"
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_the_rest_of_a_text_gets_another_fix_than_a_key(place: str) -> None:
    with pytest.raises(InvalidDocument) as caught:
        compiled(PLACES[place])
    fixes = [one.fix for one in caught.value.problems if one.code == "E101"]
    assert fixes == [
        "if `, my world` belongs to the text before it, quote the whole text: within `{ }` a comma "
        "ends it"
    ]


def test_a_key_with_a_value_is_a_key() -> None:
    with pytest.raises(InvalidDocument) as caught:
        compiled(PLACES["step"].replace("my world", "my world: 1"))
    (problem,) = caught.value.problems
    assert problem.fix.startswith("remove it")
