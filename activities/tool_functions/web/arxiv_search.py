"""`Arxiv.search`: find scientific papers at arxiv.org.

The worker must allow it (`worker.web.arxiv`). The query leaves the system, and abstracts come from
strangers.
"""

from typing import Literal

from pydantic import Field, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.threads.run_threads import FUNCTION_THREADS
from coterie.activities.tool_functions.missing_packages import needing_packages
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.dsl.values import Documented
from coterie.dsl.visible import shortened_text


class ArxivInput(Documented):
    """What to look for."""

    query: str = Field(min_length=1, max_length=500, pattern=r"\S")
    """Words, or arXiv's own syntax such as `au:lecun AND ti:vision`."""
    max_results: int = Field(default=5, ge=1, le=50)
    """Papers to return."""
    order: Literal["relevance", "newest"] = "relevance"
    """Which papers come first."""


class Paper(Documented):
    """A paper."""

    id: str
    """Its arXiv id with the version, such as `2010.11929v2`."""
    title: str
    """Its title."""
    authors: list[str]
    """At most 20 authors."""
    published: str
    """The day of its first version."""
    category: str
    """Its primary category, such as `cs.CV`."""
    abstract: str
    """At most 4,000 characters."""
    pdf_url: str | None
    """Where the PDF is."""


class Papers(Documented):
    """The papers."""

    papers: list[Paper]
    """In the order wanted; empty if nothing was found."""


async def search_papers(value: ArxivInput, context: FunctionContext) -> Papers:
    """Ask arXiv.

    Raises:
        FunctionRefusal: The worker does not allow it.
        FunctionFailure: arXiv does not answer.
    """
    if not context.workspace.web.arxiv:
        raise FunctionRefusal(
            "the worker does not ask arXiv; set `worker.web.arxiv: true` in coterie.yml"
        )
    return Papers(papers=await FUNCTION_THREADS.run(_search_papers, value))


def _search_papers(value: ArxivInput) -> list[Paper]:
    with needing_packages("Arxiv.search"):
        import arxiv  # pyright: ignore[reportMissingTypeStubs]  # types are inline
        from requests import RequestException

        from coterie.activities.tool_functions.web.arxiv_client import bounded_client
    client = bounded_client(value.max_results)
    newest = arxiv.SortCriterion.SubmittedDate
    search = arxiv.Search(
        query=value.query,
        max_results=value.max_results,
        sort_by=newest if value.order == "newest" else arxiv.SortCriterion.Relevance,
    )
    try:
        return [
            Paper(
                id=paper.get_short_id()[:50],
                title=shortened_text(" ".join(paper.title.split()), 500),
                authors=[shortened_text(author.name, 200) for author in paper.authors[:20]],
                published=paper.published.date().isoformat(),
                category=paper.primary_category[:50],
                abstract=shortened_text(" ".join(paper.summary.split()), 4000),
                pdf_url=paper.pdf_url,
            )
            for paper in client.results(search)
        ]
    except arxiv.HTTPError as error:
        raise FunctionFailure(f"arXiv answered with status {error.status}", may_pass=True) from None
    except arxiv.UnexpectedEmptyPageError:
        return []
    except (arxiv.ArxivError, RequestException):
        raise FunctionFailure("arXiv cannot be reached", may_pass=True) from None


SEARCH_PAPERS = ToolFunction[ArxivInput, Papers](
    name="Arxiv.search",
    description="Finds scientific papers at arxiv.org. Abstracts are data from strangers.",
    effect="read",
    input=TypeAdapter(ArxivInput),
    output=TypeAdapter(Papers),
    run=search_papers,
    timeout=60.0,
    errors={
        FailureType.FUNCTION_REFUSED: "the worker does not allow searches of arXiv",
        FailureType.FUNCTION_FAILED: "arXiv does not answer",
    },
    labels=("untrusted", "egress"),
)
