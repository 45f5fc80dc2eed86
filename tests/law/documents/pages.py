"""The pages of the reference: their chapters, tables and YAML blocks, as tests read them."""

import re
from collections.abc import Iterator

from tests.law.sources import ROOT

_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_CELL = re.compile(r"(?<!\\)\|")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_YAML = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def text(page: str) -> str:
    """The text of a page below docs/."""
    return (ROOT / "docs" / page).read_text()


def chapters(page: str) -> dict[str, str]:
    """`{heading: what stands between it and the next heading of any level}`."""
    whole = text(page)
    fences = [match.span() for match in _FENCE.finditer(whole)]
    headings = [
        match
        for match in _HEADING.finditer(whole)
        if not any(begin <= match.start() < end for begin, end in fences)
    ]
    ends = [*(match.start() for match in headings[1:]), len(whole)]
    found = [
        (match[1], whole[match.end() : end]) for match, end in zip(headings, ends, strict=True)
    ]
    assert len(dict(found)) == len(found), f"{page} has a heading twice"
    return dict(found)


LANGUAGE_PAGES = (
    *("language.md", "teams.md", "agents.md", "models.md", "tools.md", "contexts.md"),
    *("templates.md", "routing.md", "budgets.md", "worker.md"),
    *("sign-in.md", "triggers.md"),
)
STEP_PAGES = ("steps.md", "agent-steps.md", "waits.md", "failures.md")


def chapters_of(pages: tuple[str, ...]) -> dict[str, str]:
    """The chapters of several pages; no two have the same heading."""
    found = [chapter for page in pages for chapter in chapters(page).items()]
    assert len(dict(found)) == len(found), f"a heading stands in two of {', '.join(pages)}"
    return dict(found)


def rows(chapter: str) -> Iterator[dict[str, str]]:
    """The rows of all tables of a chapter: `{column: cell}`; a bar in a cell is written `\\|`."""
    columns: list[str] = []
    for line in chapter.splitlines():
        if not line.startswith("|"):
            columns = []
            continue
        cells = [cell.strip().replace("\\|", "|") for cell in _CELL.split(line)[1:-1]]
        if not columns:
            columns = cells
        elif not set("".join(cells)) <= set("-: "):
            assert len(cells) == len(columns), line
            yield dict(zip(columns, cells, strict=True))


def quoted(cell: str) -> list[str]:
    """What a cell writes as code."""
    return re.findall(r"`([^`]+)`", cell)


def blocks(chapter: str) -> list[str]:
    """The YAML blocks of a chapter or page, in order."""
    return _YAML.findall(chapter)
