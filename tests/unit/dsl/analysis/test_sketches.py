"""The systems that the language was designed for stay short, bounded and without findings."""

from pathlib import Path

import pytest

from coterie.documents.catalog import Catalog
from coterie.documents.compilation import compile_located
from coterie.dsl.analysis.findings import analysed, findings
from coterie.dsl.analysis.worst_case import bounded, worst_case
from coterie.dsl.analysis.worst_case_of_models import Terms
from coterie.dsl.compile.compiler import Compiled
from coterie.settings import load
from tests.support.places import ROOT

SKETCHES = ROOT / "tests" / "data" / "sketches"
MAX_LINES = {"agent_loop": 86, "coordinator": 116, "react_factory": 48, "tool_router": 138}
"""Lines of all files of a document, included ones too."""
MAX_WIDTH = 120


def compiled(name: str) -> Compiled:
    folder = SKETCHES / name
    catalog = Catalog(load({}, folder))
    return compile_located(catalog, catalog.locate(f"{name}.yml"))


def files(name: str) -> list[Path]:
    folder = SKETCHES / name
    return [folder / f"{name}.yml", *sorted((folder / "people").glob("*.yml"))]


@pytest.mark.parametrize("name", MAX_LINES)
def test_a_system_is_said_in_few_short_lines(name: str) -> None:
    lines = [line for file in files(name) for line in file.read_text().splitlines()]
    assert len(lines) <= MAX_LINES[name]
    assert max(map(len, lines)) <= MAX_WIDTH


@pytest.mark.parametrize("name", MAX_LINES)
def test_a_system_is_without_findings_and_its_worst_case_is_bounded(name: str) -> None:
    done = compiled(name)
    assert findings(done) == []
    worst = worst_case(done, analysed(done), Terms({}, 20_000))
    assert worst.unbounded == ()
    assert bounded(worst.total.model_calls)
