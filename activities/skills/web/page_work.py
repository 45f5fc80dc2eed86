"""The work on pages of strangers, which a process of the pool does."""

from pydantic import ConfigDict, TypeAdapter

from activities.process_pool.work import Work
from dsl.values import Frozen


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
    "activities.skills.web.page_work:EXTRACT",
    "activities.skills.web.page_text:extracted_text",
    TypeAdapter(PageSource),
    TypeAdapter(PageText),
)
ALLOWS = Work[RobotsQuestion, bool](
    "activities.skills.web.page_work:ALLOWS",
    "activities.skills.web.robots_rules:allows",
    TypeAdapter(RobotsQuestion),
    TypeAdapter(bool),
    cpu=5,
)
