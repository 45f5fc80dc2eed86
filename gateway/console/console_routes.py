"""Serve the console: HTML from typed views, and forms that perform operations.

Every page reads and decides without script. A form never names its sender: the verified identity
performs the operation, as it does over REST.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from importlib.resources import files
from typing import cast

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from coterie.dsl.values import Frozen, Json
from coterie.evals.kept_reports import kept_report
from coterie.gateway.console.chat.chat_routes import chat_routes
from coterie.gateway.console.compare_page import compare_page
from coterie.gateway.console.eval_page import eval_page
from coterie.gateway.console.forms.bulk_posts import BulkPosts
from coterie.gateway.console.forms.decision_posts import DecisionPosts
from coterie.gateway.console.forms.run_actions import run_actions
from coterie.gateway.console.forms.start_posts import StartPosts
from coterie.gateway.console.forms.steering_posts import SteeringPosts
from coterie.gateway.console.inbox_page import inbox_page
from coterie.gateway.console.long_runs.long_runs import LongRuns, not_followed, reading
from coterie.gateway.console.long_runs.page_tasks import SharedWork
from coterie.gateway.console.page_templates import ExampleOffer, style_text
from coterie.gateway.console.plan_outline import values_of_document
from coterie.gateway.console.run_page import RunPage, run_page
from coterie.gateway.console.runs_page import runs_page
from coterie.gateway.console.served_pages import HEADERS, answered, page_response
from coterie.gateway.console.states.first_project import FirstProject
from coterie.gateway.console.states.latest_pages import LatestPages
from coterie.gateway.console.states.worker_polls import unserved_queue
from coterie.gateway.console.team_actions import team_view
from coterie.gateway.console.upgrades.upgrade_page import upgrade_page
from coterie.gateway.endpoints import API
from coterie.gateway.identity.console_address import run_url
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.operations_table import operation_named, performed
from coterie.gateway.operations.performance import perform, permitted_run
from coterie.gateway.operations.permissions import Allowed, may
from coterie.gateway.operations.request_decisions import WaitingRequests
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.operations.run_listing import VIEWERS, ListAsked, RunListing
from coterie.gateway.operations.upgrade_replays import UpgradeAsked, UpgradeReport
from coterie.inspection.followed_run import run_on_server
from coterie.inspection.run_comparison import RunComparison
from coterie.replay.rebuilt_run import NotFollowed
from coterie.runs.run_workspaces import workspace_of_run

_MAX_CACHED = 12
"""Pages of runs that are kept until their histories grow: a replay takes the processor of all."""
_READING_SECONDS = 2.0
"""How long a reader waits for the replay of one history before the page says that it continues."""
_REFRESH_SECONDS = 3
_LIST_REFRESH_SECONDS = 10
_SCRIPTS = ("chat", "console", "whole_run")

NOTICES: Mapping[str, str] = {
    "approve": "Approved, in your name.",
    "reject": "Rejected, in your name.",
    "start": "The run is started.",
    "example": "The example is in your folder, and its run is started.",
    "pause": "The run is paused.",
    "resume": "The run continues.",
    "say": "The agent reads it at its next turn.",
    "amend": "The change is recorded; it applies at the next step.",
    "redirect": "The run continues there when its current team ends.",
    "skip": "The task is skipped.",
    "retry": "It is tried again.",
    "fork": "This is the new run.",
    "cancel": "The run stops after its cleanup.",
    "signed-in": "You are signed in, and the call is made again.",
    "signed-in-waits": "You are signed in. An approver of the request lets the call continue.",
}
"""What a page says after a form: only these words, since anybody can make a link."""


def console_routes(access: RunAccess, first: FirstProject | None = None) -> Sequence[BaseRoute]:
    """Return the routes of the console's pages, forms and files.

    Args:
        access: The runs, and the project.
        first: Creates the example in an empty folder; None: nobody is offered one.
    """
    pages, bulk = ConsolePages(access, first), BulkPosts(access)
    steering = SteeringPosts(access)
    latest = LatestPages()
    shown = partial(answered, latest=latest)
    return (
        Route("/", _home),
        Route("/inbox", shown(pages.inbox)),
        Route("/runs", shown(pages.runs)),
        Route("/runs/{run:path}", shown(pages.run)),
        *chat_routes(access, latest),
        Route("/compare", shown(pages.compare)),
        Route("/upgrade", shown(pages.upgrade)),
        Route("/evals/{report}", shown(pages.eval)),
        Route("/teams", shown(pages.teams)),
        Route("/teams/{team:path}", shown(pages.team)),
        Route("/bulk/{bulk}", answered(bulk.progress)),
        Route("/bulk/preview", answered(bulk.preview), methods=["POST"]),
        Route("/bulk", answered(bulk.start), methods=["POST"]),
        Route("/decide", answered(DecisionPosts(access).decide), methods=["POST"]),
        Route("/steer", answered(steering.form)),
        Route("/steer", answered(steering.steer), methods=["POST"]),
        Route("/start", answered(StartPosts(access).start), methods=["POST"]),
        Route("/example", answered(pages.create_example), methods=["POST"]),
        Route("/static/console.css", _style),
        Route("/static/{name}.js", _script),
    )


class ConsolePages:
    """The pages of the console."""

    def __init__(self, access: RunAccess, first: FirstProject | None = None) -> None:
        """Take the runs, the project, and what creates the example in an empty one."""
        self._access = access
        self._first = first
        self._long = LongRuns(access)
        self._work = SharedWork[RunPage]()
        self._pages: OrderedDict[tuple[str | int, ...], RunPage] = OrderedDict()

    async def inbox(self, request: Request, identity: Identity) -> Response:
        """Show what waits for people."""
        run = request.query_params.get("run", "")
        asked: Json = {"run": run} if run else {}
        found = await performed(self._access, "requests", asked, identity, WaitingRequests)
        return page_response(
            request,
            identity,
            "inbox.html",
            "Inbox",
            await asyncio.to_thread(inbox_page, found, identity, run=run),
            tab="inbox",
            notice=NOTICES.get(request.query_params.get("done", ""), ""),
            unserved=await unserved_queue(self._access),
            example=await self._example(identity),
            refreshes=_LIST_REFRESH_SECONDS,
        )

    async def runs(self, request: Request, identity: Identity) -> Response:
        """List runs, by the filter in the address."""
        given = {name: value for name, value in request.query_params.items() if value}
        known = {name: given[name] for name in ListAsked.model_fields if name in given}
        asked = ListAsked.model_validate(known)
        found = cast("RunListing", await self._perform("list", asked, identity))
        return page_response(
            request,
            identity,
            "runs.html",
            "Runs",
            runs_page(found, asked, identity),
            tab="runs",
            unserved=await unserved_queue(self._access),
            example=await self._example(identity),
            refreshes=_LIST_REFRESH_SECONDS,
        )

    async def run(self, request: Request, identity: Identity) -> Response:
        """Show one run: of a long one its newest end, older calls, or one of its histories."""
        id = request.path_params["run"]
        found = await permitted_run(self._access, id, (Role.VIEWER,), identity, "run page")
        asked = request.query_params
        page = await self._page_of_run(found, asked)
        is_live = page.ended is None and not any(map(asked.get, ("before", "history")))
        refreshes = _REFRESH_SECONDS if is_live or _waits_for_answer(page) else 0
        return await asyncio.to_thread(
            page_response,
            request,
            identity,
            "run.html",
            f"{page.plan.name}: {page.run}",
            page,
            actions=run_actions(page, found.team, identity) if page.part is None else None,
            tab="runs",
            notice=NOTICES.get(asked.get("done", ""), ""),
            unserved=await self._queue_without_worker(found) if is_live else "",
            refreshes=refreshes,
            events=f"{API}{run_url(page.run)}/events" if is_live else "",
        )

    async def compare(self, request: Request, identity: Identity) -> Response:
        """Compare two runs."""
        operation = operation_named("compare")
        names = {name: request.query_params.get(name, "") for name in ("run", "other")}
        asked = operation.input.model_validate(names)
        found = cast("RunComparison", await self._perform("compare", asked, identity))
        page = compare_page(found)
        title = f"{page.first.run} and {page.second.run}"
        return page_response(request, identity, "compare.html", title, page, tab="runs")

    async def teams(self, request: Request, identity: Identity) -> Response:
        """List teams."""
        operation = operation_named("teams")
        found = await self._perform("teams", operation.input(), identity)
        return page_response(
            request,
            identity,
            "teams.html",
            "Teams",
            found,
            tab="teams",
            example=await self._example(identity),
        )

    async def upgrade(self, request: Request, identity: Identity) -> Response:
        """Show what the code of this gateway would decide differently in open runs."""
        given = {name: value for name, value in request.query_params.items() if value}
        known = {name: given[name] for name in UpgradeAsked.model_fields if name in given}
        asked = UpgradeAsked.model_validate(known)
        found = cast("UpgradeReport", await self._perform("upgrade", asked, identity))
        page = upgrade_page(
            found.runs,
            team=asked.team or "",
            left=found.left,
            has_more=found.more,
            limit=asked.limit,
            version=found.version,
        )
        refreshes = 1 if found.left else 0
        title = "What an upgrade would change"
        return page_response(
            request, identity, "upgrade.html", title, page, tab="runs", refreshes=refreshes
        )

    async def eval(self, request: Request, identity: Identity) -> Response:
        """Show the latest report of a suite."""
        id = request.path_params["report"]
        kept = await asyncio.to_thread(kept_report, self._access.settings, id)
        if kept is None or not isinstance(may(identity, VIEWERS, kept.team), Allowed):
            raise Rejection(404, "unknown_report", "there is no report of a suite here for you")
        page = eval_page(kept.report, run_url)
        title = f"Eval of {kept.report.suite}"
        return page_response(request, identity, "eval.html", title, page, tab="teams")

    async def create_example(self, _: Request, identity: Identity) -> Response:
        """Create the example in an empty folder, and lead to its run."""
        if self._first is None:
            raise Rejection(404, "unknown_path", "this gateway offers no example")
        return RedirectResponse(f"{run_url(await self._first.create(identity))}?done=example", 303)

    async def team(self, request: Request, identity: Identity) -> Response:
        """Show one team."""
        name = request.path_params["team"]
        page, actions = await team_view(self._access, name, identity)
        return page_response(
            request, identity, "team.html", name, page, actions=actions, tab="teams",
            unserved=await unserved_queue(self._access),
        )  # fmt: skip

    async def _example(self, identity: Identity) -> ExampleOffer | None:
        return None if self._first is None else await asyncio.to_thread(self._first.offer, identity)

    async def _queue_without_worker(self, found: FoundRun) -> str:
        return await unserved_queue(self._access, found.description.task_queue)

    async def _perform(self, name: str, asked: Frozen, identity: Identity) -> Frozen:
        return await perform(self._access, operation_named(name), asked, identity)

    async def _page_of_run(self, found: FoundRun, asked: Mapping[str, str]) -> RunPage:
        """Return the page of a run; what is replayed is replayed only when it has grown."""
        extent = await self._long.extent(found)
        version = (found.run.id, found.description.run_id, found.description.history_length)
        if history := asked.get("history"):
            page = await self._page_once(
                (*version[:1], history, *version[1:]),
                lambda: self._long.part(found, extent, history),
                _READING_SECONDS,
            )
            if page is None:
                raise reading(found.run.id, "one history")
            return page
        if extent.is_long:
            before, draws = asked.get("before", ""), asked.get("whole") == "1"
            return await self._long.page(found, extent, before=before, draws=draws)
        page = await self._page_once(version, lambda: self._whole_page(found))
        assert page is not None, "there is no limit to wait for"
        return page

    async def _page_once(
        self,
        key: tuple[str | int, ...],
        work: Callable[[], Coroutine[object, object, RunPage]],
        seconds: float | None = None,
    ) -> RunPage | None:
        page = self._pages.get(key)
        if page is not None:
            self._pages.move_to_end(key)
            return page

        async def kept() -> RunPage:
            made = self._pages[key] = await work()
            while len(self._pages) > _MAX_CACHED:
                self._pages.popitem(last=False)
            return made

        return await self._work.result(key, kept, seconds)

    async def _whole_page(self, found: FoundRun) -> RunPage:
        access, run = self._access, found.run
        async with access.replays:
            followed = await run_on_server(access.client, run.id)
        if isinstance(followed, NotFollowed):
            raise not_followed(run.id, followed)
        settings, plan = access.settings, followed.latest.plan
        values = await asyncio.to_thread(values_of_document, settings, plan)
        folder = workspace_of_run(settings, run.id)
        return await asyncio.to_thread(run_page, followed, datetime.now(UTC), values, folder)


def _waits_for_answer(page: RunPage) -> bool:
    """Return whether a long run has been asked, and has neither answered nor refused."""
    return page.long is not None and page.long.answered is None and not page.long.refusal


async def _home(_: Request) -> Response:
    return RedirectResponse("/inbox", 303)


async def _style(_: Request) -> Response:
    return Response(_asset("console.css"), headers=HEADERS, media_type="text/css")


async def _script(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _SCRIPTS:
        return Response(status_code=404)
    return Response(_asset(f"{name}.js"), headers=HEADERS, media_type="text/javascript")


@cache
def _asset(name: str) -> str:
    if name == "console.css":
        return style_text()
    return files("coterie.gateway.console").joinpath("assets", name).read_text("utf-8")
