"""Documents point at what is there."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.law.sources import ROOMS, ROOT, by_import

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "tests/coverage.md"])
PATH = re.compile(rf"`((?:{'|'.join(ROOMS)}|tests|docs|examples|bench)/[\w./-]*)`")

NAMES_OF_FILE = re.compile(
    r"((?:`[\w.]+`(?: \([^()]*\))?(?:, | and |, and ))*`[\w.]+`(?: \([^()]*\))?) (?:of|in) "
    rf"`((?:{'|'.join(ROOMS)}|tests)/[\w./-]*\.py)`"
)
FILE_WITH_NAMES = re.compile(
    rf"`((?:{'|'.join(ROOMS)}|tests)/[\w./-]*\.py)` \(((?:`\w+`(?:, | and )?)+)"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_within_the_project_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings have on GitHub."""
    fenced = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#{1,6} (.+)$", fenced, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_headings_lead_to_one(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]*\.md)?#([^)\s]+)\)", page.read_text())
    for target, anchor in links:
        if "://" not in target:
            assert anchor in anchors(page.parent / target if target else page), (target, anchor)


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_files_that_the_guides_name_exist(page: str) -> None:
    named = set(PATH.findall((ROOT / page).read_text()))
    assert named
    placeholder = re.compile(r"\b(NAME|KIND|SHELF|GROUP|VERB)\b")  # what the reader is about to add
    missing = [name for name in sorted(named) if not (ROOT / name).exists()]
    assert not [name for name in missing if not placeholder.search(name)]


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md", "docs/extending.md"])
def test_names_that_the_guides_place_in_a_file_are_there(page: str) -> None:
    """`NAME` of `file`, `NAME` in `file`, several names before one file, and `file` (`NAME`)."""
    text = re.sub(r"\s+", " ", (ROOT / page).read_text())
    of_files = NAMES_OF_FILE.findall(text)
    for names, path in [
        *of_files,
        *((names, path) for path, names in FILE_WITH_NAMES.findall(text)),
    ]:
        source = (ROOT / path).read_text()
        for name in re.findall(r"`([\w.]+)`", names):
            last = name.split(".")[-1]
            assert re.search(rf"\b{last}\b", source), f"{path} has no {name}"


@pytest.mark.parametrize("room", ["dsl", "activities", "workflows", "coterie", "gateway"])
def test_the_table_of_shelves_has_those_of_the_room_in_the_order_of_the_law(room: str) -> None:
    page = (ROOT / "docs/architecture.md").read_text().partition("## The shelves of a room")[2]
    row = re.search(rf"^\| `{room}` \| (`.*) \|$", page, re.MULTILINE)
    assert row
    named = [word for part in row[1].split(" · ") for word in re.findall(r"^`(\w+)`", part)]
    folders = {one.parent.name for one in (ROOT / room).glob("*/__init__.py")}
    assert set(named) == folders
    ranks = {word: rank for rank, layer in enumerate(_layers(room)) for word in layer}
    assert [ranks[word] for word in named] == sorted(ranks[word] for word in named)


def _layers(room: str) -> list[list[str]]:
    """The shelves of a room from the top down; those of one list stand beside each other."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    package = [by_import(room)]
    (layers,) = (
        one["layers"] for one in contracts["contracts"] if one.get("containers") == package
    )
    return [re.findall(r"\w+", layer) for layer in layers]


def test_decisions_are_numbered_without_gaps_and_argue() -> None:
    pages = sorted((ROOT / "docs/decisions").glob("*.md"))
    numbers = [int(page.name[:4]) for page in pages]
    assert numbers == list(range(1, len(pages) + 1))
    for page in pages:
        text = page.read_text()
        assert text.startswith(f"# {page.name[:4]} "), page.name
        for part in ("## Context", "## Decision", "## Consequences"):
            assert part in text, f"{page.name} lacks {part}"
