"""Faults planted one at a time into working documents: each is reported, at its place."""

from pathlib import Path
from typing import cast

import pytest
import yaml

from coterie.documents.catalog import Catalog
from coterie.documents.price_lists import known_price
from coterie.documents.product_capabilities import capabilities
from coterie.dsl.analysis.findings import findings
from coterie.dsl.compile.compiler import compile_sources
from coterie.dsl.errors import InvalidDocument, Problem
from coterie.settings import load
from tests.support.places import DATA, ROOT

Fault = dict[str, str]
FAULTS = cast("list[Fault]", yaml.safe_load((DATA / "planted_faults.yml").read_text()))
FILES = sorted({fault["file"] for fault in FAULTS})
CATALOG = Catalog(load({}, ROOT))


def reported(file: str, text: str | None = None) -> list[Problem]:
    """What `validate` and `check` report of a document, with another text if one is given."""
    located = CATALOG.locate(file)
    own = "/".join(Path(file).parts[-2:])
    sources = [
        source._replace(text=text) if text is not None and source.file.endswith(own) else source
        for source in CATALOG.sources(located)
    ]
    try:
        compiled = compile_sources(
            sources, capabilities(agent_packages=()), name=located.name, pricing=known_price
        )
    except InvalidDocument as error:
        return list(error.problems)
    return [*compiled.warnings, *findings(compiled)]


def nearest(text: str, part: str, place: int) -> tuple[int, int]:
    """Line and column of the occurrence of a part that is nearest to a place."""
    found = [at for at in range(len(text)) if text.startswith(part, at)]
    offset = min(found, key=lambda at: abs(at - place))
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def test_there_are_fifty_different_faults_of_many_kinds() -> None:
    assert len({(one["file"], one["old"], one["new"]) for one in FAULTS}) >= 50
    assert len({one["fault"] for one in FAULTS}) == len(FAULTS)
    assert len({one["code"] for one in FAULTS}) >= 20


@pytest.mark.parametrize("file", FILES)
def test_the_document_without_a_fault_has_no_false_alarm(file: str) -> None:
    assert reported(file) == []


@pytest.mark.parametrize("fault", FAULTS, ids=[fault["fault"] for fault in FAULTS])
def test_a_planted_fault_is_reported_at_its_place(fault: Fault) -> None:
    text = (ROOT / fault["file"]).read_text()
    assert fault["old"] in text
    place = text.index(fault["old"])
    planted = text.replace(fault["old"], fault["new"], 1)
    found = {(one.code, one.line, one.column) for one in reported(fault["file"], planted)}
    assert (fault["code"], *nearest(planted, fault["at"], place)) in found
