"""Which texts of sources the tool router marks as orders to a model, and which it does not."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from coterie.dsl.model.evaluation_budget import EvaluationMeter
from coterie.dsl.templates.template import parse

TEAM = Path("config/teams/tool_router.yml")
TEXTS: dict[str, Any] = yaml.safe_load(Path("tests/data/injection_texts.yml").read_text())


def signs_in(text: str) -> list[str]:
    """Evaluate the template of the shipped team over its shipped list."""
    [template] = re.findall(r'suspicious: "(.+)"', TEAM.read_text())
    settings = yaml.safe_load((TEAM.parent / "tool_router" / "toolbox.yml").read_text())
    facts = {"settings": settings["orchestration"]["settings"], "text": text}
    found = parse(template).evaluate(facts, EvaluationMeter())
    assert isinstance(found, list)
    return found  # pyright: ignore[reportUnknownVariableType]


def test_the_table_has_sixty_orders() -> None:
    assert sum(map(len, TEXTS["orders"].values())) == 60


@pytest.mark.parametrize("language", TEXTS["orders"])
def test_the_usual_orders_to_a_model_are_marked(language: str) -> None:
    assert [one for one in TEXTS["orders"][language] if not signs_in(one)] == []


def test_ordinary_sentences_are_not_marked() -> None:
    assert {one: found for one in TEXTS["ordinary"] if (found := signs_in(one))} == {}


@pytest.mark.parametrize("kind", TEXTS["unseen"])
def test_what_the_page_calls_unseen_is_not_marked(kind: str) -> None:
    assert signs_in(TEXTS["unseen"][kind]) == []
