"""Read parts of a run: its trail, its state, what it has used, and its path as a drawing."""

import asyncio
from typing import Literal

from pydantic import Field

from coterie.dsl.values import Documented
from coterie.dsl.visible import visible
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.operation import AnyOperation, Operation, RunAsked
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_listing import VIEWERS
from coterie.graph.drawing.svg import svg_of
from coterie.graph.mermaid import mermaid_of
from coterie.graph.picture import picture
from coterie.graph.run_graph import SeenRun, seen_run
from coterie.inspection.run_costs import cost_of
from coterie.workflows.core.views import CostReport, StateView, TrailPage

_MAX_PATH_LENGTH = 2_000


class TrailAsked(RunAsked):
    """The input of `events`."""

    since: int = Field(default=0, ge=0, le=2**53)
    """Entries after this number."""


class PartAsked(RunAsked):
    """The input of `state`."""

    path: str = Field(default="", max_length=_MAX_PATH_LENGTH)
    """The part, such as `context.goal`. Default: the keys of all."""
    start: int = Field(default=0, ge=0, le=2**53)
    """The character, item or key at which the page starts."""


class GraphAsked(RunAsked):
    """The input of `graph`."""

    format: Literal["mermaid", "svg"] = "mermaid"


class Drawing(Documented):
    """The path of a run through its team."""

    format: Literal["mermaid", "svg"]
    text: str


async def _events(access: RunAccess, asked: TrailAsked, _: Identity) -> TrailPage:
    return await access.run(asked.run).trail_page(asked.since)


async def _state(access: RunAccess, asked: PartAsked, _: Identity) -> StateView:
    return await access.run(asked.run).state(asked.path, asked.start)


async def _cost(access: RunAccess, asked: RunAsked, _: Identity) -> CostReport:
    found = await access.existing(asked.run)
    async with access.replays:
        return await cost_of(found.run, over=not found.is_open)


async def _graph(access: RunAccess, asked: GraphAsked, _: Identity) -> Drawing:
    async with access.replays:
        seen = await seen_run(access.client, asked.run)
        text = await asyncio.to_thread(_drawing_text, seen, asked.format)
    return Drawing(format=asked.format, text=visible(text))


def _drawing_text(seen: SeenRun, format: Literal["mermaid", "svg"]) -> str:
    drawn = picture(seen.plan)
    return svg_of(drawn, seen.walk) if format == "svg" else mermaid_of(drawn, seen.walk)


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        "events",
        "Returns the trail of a run: what happened and why, oldest first.",
        "GET",
        "/runs/{run}/trail",
        VIEWERS,
        "run",
        TrailAsked,
        TrailPage,
        _events,
    ),
    Operation(
        "state",
        "Returns a part of what a run remembers, such as its context.",
        "GET",
        "/runs/{run}/state",
        VIEWERS,
        "run",
        PartAsked,
        StateView,
        _state,
    ),
    Operation(
        "cost",
        "Returns what a run has used, and what its budgets have left.",
        "GET",
        "/runs/{run}/cost",
        VIEWERS,
        "run",
        RunAsked,
        CostReport,
        _cost,
    ),
    Operation(
        "graph",
        "Draws the path that a run took through its team.",
        "GET",
        "/runs/{run}/graph",
        VIEWERS,
        "run",
        GraphAsked,
        Drawing,
        _graph,
    ),
)
