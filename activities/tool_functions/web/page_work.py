"""The work on pages of strangers, which a process of the pool does."""

from pydantic import ConfigDict, TypeAdapter

from coterie.activities.process_pool.work import Work
from coterie.dsl.values import Frozen


class PageSource(Frozen):
    """The HTML of a page."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    url: str
    content: bytes


class PageText(Frozen):
    """What a page says."""

    title: str | None
    text: str


class RobotsQuestion(Frozen):
    """Does a robots.txt allow to read an address?"""

    text: str
    url: str
    product: str


EXTRACT = Work[PageSource, PageText](
    "coterie.activities.tool_functions.web.page_work:EXTRACT",
    "coterie.activities.tool_functions.web.page_text:extracted_text",
    TypeAdapter(PageSource),
    TypeAdapter(PageText),
)
ALLOWS = Work[RobotsQuestion, bool](
    "coterie.activities.tool_functions.web.page_work:ALLOWS",
    "coterie.activities.tool_functions.web.robots_rules:allows",
    TypeAdapter(RobotsQuestion),
    TypeAdapter(bool),
    cpu=5,
)
