"""One engine runs any document: its rooms know no team and no persona that ships."""

import ast
from pathlib import Path

import pytest

from tests.law.sources import ROOT

COMMON = {"decision", "grader", "rules"}
"""Names that are also words of the language."""
FILES = [*(ROOT / "config/teams").rglob("*.yml"), *(ROOT / "config/personas").glob("*.yml")]
SHIPPED = {file.stem for file in FILES} - COMMON


@pytest.mark.parametrize("room", ["dsl", "workflows", "activities"])
def test_no_room_of_the_engine_names_a_team_or_persona_that_ships(room: str) -> None:
    found = {
        f"{file.name}: {node.value}"
        for file in Path(ROOT / room).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and node.value in SHIPPED
    }
    assert len(SHIPPED) > 30
    assert found == set()
