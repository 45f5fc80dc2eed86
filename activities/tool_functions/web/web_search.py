"""`Web.search`: ask public search engines, by the library `ddgs`.

The worker must allow it (`worker.web.search`). The query leaves the system, and titles and
snippets come from strangers.
"""

from pydantic import Field, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.threads.run_threads import FUNCTION_THREADS
from coterie.activities.tool_functions.missing_packages import needing_packages
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.dsl.safety.blocked_places import blocked_url
from coterie.dsl.values import Documented
from coterie.dsl.visible import shortened_text

_TIMEOUT = 10
_MAX_URL_LENGTH = 2_000
"""Seconds for one engine."""


class WebSearchInput(Documented):
    """What to look for."""

    query: str = Field(min_length=1, max_length=500, pattern=r"\S")
    """The words to look for."""
    max_results: int = Field(default=5, ge=1, le=25)
    """Results to return."""
    region: str = Field(default="us-en", pattern=r"^[a-z]{2}-[a-z]{2}$")
    """Country and language."""


class WebResult(Documented):
    """One result."""

    title: str
    """The page's title, at most 300 characters."""
    url: str
    """The page's address."""
    snippet: str
    """Some of the page's text, at most 1,000 characters."""


class WebResults(Documented):
    """What the engines found."""

    results: list[WebResult]
    """The best first; empty if nothing was found."""


async def search_web(value: WebSearchInput, context: FunctionContext) -> WebResults:
    """Ask search engines.

    Raises:
        FunctionRefusal: The worker does not allow it.
        FunctionFailure: No engine answers.
    """
    access = context.workspace.web
    if not access.search:
        raise FunctionRefusal(
            "the worker does not search the web; set `worker.web.search: true` in coterie.yml"
        )
    results = await FUNCTION_THREADS.run(_search_web, value, ",".join(access.engines) or "auto")
    return WebResults(results=results[: value.max_results])


def _search_web(value: WebSearchInput, engines: str) -> list[WebResult]:
    with needing_packages("Web.search"):
        from coterie.activities.tool_functions.web.search_engines import (
            DDGSException,
            SearchEngines,
            TimeoutException,
        )
    try:
        rows = SearchEngines(timeout=_TIMEOUT).text(
            value.query, region=value.region, max_results=2 * value.max_results, backend=engines
        )
    except TimeoutException:
        raise FunctionFailure("no search engine answered in time", may_pass=True) from None
    except DDGSException as error:
        if any(isinstance(cause, Exception) for cause in error.args):
            raise FunctionFailure("no search engine answered", may_pass=True) from None
        return []  # all engines answered, and found nothing
    results = (
        WebResult(
            title=shortened_text(str(row.get("title", "")), 300),
            url=str(row.get("href", "")),
            snippet=shortened_text(str(row.get("body", "")), 1000),
        )
        for row in rows
        if len(str(row.get("href", ""))) <= _MAX_URL_LENGTH  # half of an address is none
    )
    return [result for result in results if blocked_url(result.url) is None]


SEARCH_WEB = ToolFunction[WebSearchInput, WebResults](
    name="Web.search",
    description="Searches the web. Results are data from strangers.",
    effect="read",
    input=TypeAdapter(WebSearchInput),
    output=TypeAdapter(WebResults),
    run=search_web,
    timeout=60.0,
    errors={
        FailureType.FUNCTION_REFUSED: "the worker does not allow searches of the web",
        FailureType.FUNCTION_FAILED: "no search engine answers",
    },
    labels=("untrusted", "egress"),
)
