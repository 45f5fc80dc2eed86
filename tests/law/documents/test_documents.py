"""Documents point at what is there."""

import re
from pathlib import Path

import pytest

from tests.law.sources import ROOMS, ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PATH = re.compile(rf"`((?:{'|'.join(ROOMS)}|tests|docs|examples|bench)/[\w./-]*)`")


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
    placeholder = re.compile(r"\b(NAME|KIND|VERB)\b")  # what the reader is about to add
    missing = [name for name in sorted(named) if not (ROOT / name).exists()]
    assert not [name for name in missing if not placeholder.search(name)]


def test_decisions_are_numbered_without_gaps_and_argue() -> None:
    pages = sorted((ROOT / "docs/decisions").glob("*.md"))
    numbers = [int(page.name[:4]) for page in pages]
    assert numbers == list(range(1, len(pages) + 1))
    for page in pages:
        text = page.read_text()
        assert text.startswith(f"# {page.name[:4]} "), page.name
        for part in ("## Context", "## Decision", "## Consequences"):
            assert part in text, f"{page.name} lacks {part}"
