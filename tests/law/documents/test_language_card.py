"""The language card is what the code says, and small; `llms.txt` leads to pages that exist."""

import re
from pathlib import Path

from tokenizers import Tokenizer

from coterie.activities.tool_functions.knowledge.embedding import tokenizer_file
from coterie.documents.catalog import Catalog
from coterie.documents.compilation import compile_located
from coterie.evals.language_card import EXAMPLES, MAX_CHARACTERS, language_card
from coterie.settings import load
from coterie.testing.files.case_reader import read_tests
from tests.law.sources import ROOT

PAGE = ROOT / "docs/language-card.md"
_MAX_TOKENS = 6_000
_LINK = re.compile(r"\]\(([^)]+)\)")


def test_the_page_is_the_card_that_the_code_gives() -> None:
    assert PAGE.read_text() == language_card(), "coterie schema card -o docs/language-card.md"


def test_the_card_has_fewer_tokens_than_a_model_spares() -> None:
    card = PAGE.read_text()
    tokenizer = Tokenizer.from_file(str(tokenizer_file()))
    tokenizer.no_truncation()
    assert len(tokenizer.encode(card).ids) < _MAX_TOKENS
    assert len(card) <= MAX_CHARACTERS < 3.2 * _MAX_TOKENS


def test_every_example_of_the_card_compiles(tmp_path: Path) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert blocks == list(EXAMPLES.values())
    teams = tmp_path / "config/teams"
    teams.mkdir(parents=True)
    (teams / "review.yml").write_text(EXAMPLES["team"])
    (teams / "review.test.yml").write_text(EXAMPLES["test"])
    settings = load({}, tmp_path)
    assert read_tests(settings, teams / "review.test.yml").warnings == ()
    (teams / "tools.yml").write_text(EXAMPLES["team"] + EXAMPLES["tools"])
    catalog = Catalog(settings)
    compiled = compile_located(catalog, catalog.locate("tools"))
    assert set(compiled.plan.tools) >= {"read", "ask"}


def test_llms_txt_leads_to_pages_that_exist_and_to_every_page_of_the_language() -> None:
    text = (ROOT / "llms.txt").read_text()
    links = _LINK.findall(text)
    assert [link for link in links if not (ROOT / link).is_file()] == []
    lines = (ROOT / "docs/README.md").read_text().splitlines()
    language = _LINK.findall(next(line for line in lines if "[The language]" in line))
    assert {f"docs/{page}" for page in language} <= set(links)
