"""Render pages: every text in them is untrusted, and is escaped and made visible here."""

import base64
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Literal, cast

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from coterie.dsl.visible import visible
from coterie.gateway.console.page_values import took
from coterie.graph.drawing.style import style_sheet
from coterie.text.moments import day_and_clock

ROWS = 200
"""Rows of a list that a page shows at once; it folds the rest, or leads to it."""

SERVED_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; "
    "require-trusted-types-for 'script'; trusted-types coterie"
)
"""The Content-Security-Policy of every page that the gateway serves."""


@dataclass(frozen=True, slots=True)
class ExampleOffer:
    """The example that a page offers in an empty folder."""

    folder: str
    files: tuple[str, ...]
    """What would be written."""
    team: str


@dataclass(frozen=True, slots=True)
class PageFrame:
    """What surrounds a page."""

    kind: Literal["offline", "served"]
    """`offline`: one file, which brings its style sheet and leads nowhere."""
    title: str
    policy: str
    style: Markup
    """Of an offline page; a served one links to it."""
    viewer: str = ""
    """Of a served page: who reads it."""
    tab: str = ""
    """Of a served page: where it stands in the navigation."""
    notice: str = ""
    """What the reader has just done."""
    is_refused: bool = False
    """Whether it was not done: the notice says why."""
    example: ExampleOffer | None = None
    """In an empty folder: what it may create."""
    unserved: str = ""
    """The task queue of its runs, if no worker polls it."""
    stale: datetime | None = None
    """The time of what it shows, if the server of Temporal does not answer now."""
    refreshes: int = 0
    """Seconds after which a served page looks for news; 0: never."""
    events: str = ""
    """The address of the stream of a run that is open."""
    is_whole: bool = True
    """Whether folded rows are in the page; otherwise it leads to them."""


def style_text() -> str:
    """Return the one style sheet of all pages, with that of the graph."""
    own = files("coterie.gateway.console").joinpath("assets", "console.css").read_text("utf-8")
    return f"{own}\n.graph {{\n{style_sheet()}}}\n"


def offline_frame(title: str) -> PageFrame:
    """Return the frame of a page that is one file."""
    style = style_text()
    digest = base64.b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'"
    return PageFrame("offline", title, policy, Markup(style))  # our own file, which no page changes


def render(template: str, frame: PageFrame, page: object, actions: object = None) -> str:
    """Return a page as HTML.

    Args:
        template: Its file in `gateway/console/pages`.
        frame: What surrounds it.
        page: Its typed view.
        actions: Of a served page: what its reader may do.
    """
    return environment().get_template(template).render(frame=frame, page=page, actions=actions)


@cache
def environment() -> Environment:
    """Return what reads the templates; a missing value is an error, and never an empty text."""
    pages = Environment(
        loader=PackageLoader("coterie.gateway.console", "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    filters: dict[str, Callable[..., object]] = {
        "moment": moment,
        "duration": took,
        "folded": folded,
        "css": css,
        "prose": prose,
    }
    cast("dict[str, object]", pages.filters).update(filters)
    cast("dict[str, object]", pages.globals)["rows_at_once"] = ROWS
    return pages


def _visible(value: object) -> object:
    """Make control characters visible in every text that a page shows."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value)
    return value


def moment(at: str | datetime) -> str:
    """Return a time with its zone; another text as it is."""
    try:
        return day_and_clock(at if isinstance(at, str) else at.isoformat())
    except (ValueError, OverflowError):
        return str(at)


def prose(text: str) -> Markup:
    """Return a text with what stands between backticks as code."""
    parts = visible(text).split("`")
    if len(parts) % 2 == 0:
        return escape(visible(text))
    marked = (
        Markup("<code>{}</code>").format(p) if n % 2 else escape(p) for n, p in enumerate(parts)
    )
    return Markup("").join(marked)


def folded(rows: Sequence[object]) -> tuple[Sequence[object], Sequence[object]]:
    """Return the rows that a page shows at once, and the rest."""
    return rows[:ROWS], rows[ROWS:]


def css(word: str) -> str:
    """Return a word as the name of a class."""
    return re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")
