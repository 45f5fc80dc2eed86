"""What each error code means: the chapters of docs/errors.md, which the package contains.

The page has the titles and examples, not a rule: several rules share most codes.
"""

import re
from pathlib import Path

_HERE = Path(__file__).resolve()  # an editable install has a link to this package
_IN_WHEEL = _HERE.with_name("errors.md")
_PAGE = _IN_WHEEL if _IN_WHEEL.is_file() else _HERE.parents[2] / "docs" / "errors.md"
_CODE = re.compile(r"[EW]\d{3}", re.IGNORECASE)


def is_code(text: str) -> bool:
    """Return whether a text has the form of a code, like `E202`."""
    return _CODE.fullmatch(text) is not None


def code_page(code: str) -> str | None:
    """Return the chapter of a code, as Markdown; None if there is no such code."""
    chapters = re.split(r"^## ", _PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return next((chapter.strip() for chapter in chapters if chapter.startswith(code.upper())), None)


def known_codes() -> tuple[str, ...]:
    """Return every code, in the order of the page."""
    return tuple(re.findall(r"^## ([EW]\d{3})", _PAGE.read_text(encoding="utf-8"), re.MULTILINE))
