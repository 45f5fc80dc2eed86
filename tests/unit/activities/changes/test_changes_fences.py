"""A code fence is taken off only where it stands around the whole text."""

import pytest

from coterie.activities.changes.change_blocks import parse_blocks
from coterie.activities.changes.diff import parse_new_file
from coterie.activities.changes.diff_header import DiffProblem

README = "```sh\nmake test\n```\n\n# Shop\n\nMore text.\n"
INLINE = "```make test``` runs them.\n"
TWO_EXAMPLES = "```\na\n```\n\nThen:\n\n```\nb\n```\n"
WRAPPED_README = "```markdown\n# Shop\n\n```sh\nmake test\n```\n\nMore.\n```\n"


def content_of(text: str) -> str:
    block = f"===CHANGE_BEGIN===\nFILE: f\nTYPE: create\nCONTENT:\n{text}===CHANGE_END===\n"
    found = parse_blocks(block)
    assert found.problems == []
    return found.changes[0][1].content or ""


@pytest.mark.parametrize(
    "text", [README, TWO_EXAMPLES, "~~~\na\n~~~\nb\n", "a\n```\nb\n```\n", INLINE]
)
def test_content_that_begins_with_a_fence_keeps_every_line(text: str) -> None:
    assert content_of(text) == text
    assert parse_new_file(text, "f") == (text, None)


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("```python\nx = 1\n```\n", "x = 1\n"),
        ("````md\n```\na\n```\n````\n\n", "```\na\n```\n"),
        (WRAPPED_README, "# Shop\n\n```sh\nmake test\n```\n\nMore.\n"),
        ("```c#\na\n```\n", "a\n"),
        ("``` python title=a.py\na\n```\n", "a\n"),
        ("```{r}\n```sql+jinja x\na\n```\n```\n", "```sql+jinja x\na\n```\n"),
        ("```\na\n```  \n   \n", "a\n"),
        ("```\na\n~~~\n```\n", "a\n~~~\n"),
        ("````\na\n```\n````\n", "a\n```\n"),
        ("```\na\n````\n", "a\n"),
        ("````md\n```sh\na\n```\n\n````\n", "```sh\na\n```\n\n"),
    ],
)
def test_fence_around_the_whole_content_is_taken_off(text: str, inner: str) -> None:
    assert content_of(text) == inner
    assert parse_new_file(text, "f") == (inner, None)


def test_content_with_a_fence_that_nothing_closes_is_refused() -> None:
    text = "```python\nx = 1\n"
    with pytest.raises(DiffProblem, match="code fence that is never closed"):
        parse_new_file(text, "f")
    block = f"===CHANGE_BEGIN===\nFILE: f\nTYPE: create\nCONTENT:\n{text}===CHANGE_END===\n"
    assert "code fence that is never closed" in parse_blocks(block).problems[0]
