"""A connection of an event stream ends by itself: at shutdown, at sign-out, when nobody reads."""

import asyncio
import time
from collections.abc import Sequence
from typing import cast

import pytest
from starlette.applications import Starlette
from starlette.types import Message as AsgiMessage
from temporalio.client import WorkflowExecutionDescription
from temporalio.service import RPCError, RPCStatusCode

from coterie.gateway.endpoints import IDENTITY
from coterie.gateway.event_routes import MAX_RUNS, event_routes
from coterie.gateway.identity.identity import Grant, Identity, Role
from coterie.gateway.operations.error_reports import ErrorReport
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.streams import event_stream
from coterie.gateway.streams.cursors import Cursor, InvalidCursor, joint_cursor, parse_joint
from coterie.gateway.streams.event_source import EventSourceResponse
from coterie.gateway.streams.event_stream import EventStream, StreamRequest
from coterie.gateway.streams.stream_hub import StreamHub
from coterie.gateway.streams.viewers import Viewer
from coterie.runs.run_client import Run
from tests.support.event_reading import Message, parse_message, parsed
from tests.support.recorded_pages import RecordedPages

RUN = "a/run"


class FewRuns(RunAccess):
    """Two runs of two teams, without a server."""

    def __init__(self) -> None:
        """Reach nothing."""

    async def existing(self, id: str) -> FoundRun:
        """Return one of the runs."""
        team = "mine" if id == RUN else "others"
        return FoundRun(cast("Run", None), team, cast("WorkflowExecutionDescription", None))


def application(hub: StreamHub) -> Starlette:
    return Starlette(routes=list(event_routes(hub, FewRuns())))


VIEW_MINE = (Grant(role=Role.VIEWER, teams="mine"),)
ANN = Identity(subject="ann", method="token", grants=VIEW_MINE)


class Connection:
    """A client of an ASGI application that reads until it has enough, or not at all."""

    def __init__(
        self,
        path: str,
        query: str = "",
        headers: Sequence[tuple[str, str]] = (),
        identity: Identity | None = ANN,
    ) -> None:
        self.scope: dict[str, object] = {
            "type": "http",
            "method": "GET",
            "path": path,
            "query_string": query.encode(),
            "state": {IDENTITY: identity},
            "headers": [(name.encode(), value.encode()) for name, value in headers],
        }
        self.status = 0
        self.blocks: list[bytes] = []
        self.ended = False
        self.leaves = asyncio.Event()
        self.stuck = asyncio.Event()
        self.reads = True

    async def receive(self) -> AsgiMessage:
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: AsgiMessage) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            return
        if not self.reads:
            self.stuck.set()
            await asyncio.Event().wait()
        self.blocks.append(message.get("body", b""))
        self.ended = not message.get("more_body", False)

    async def has_messages(self, count: int) -> None:
        """Wait until so many have come."""
        while len(self.messages) < count:  # noqa: ASYNC110  # the application sends them
            await asyncio.sleep(0.01)

    @property
    def messages(self) -> list[Message]:
        found = (parse_message(block) for block in self.blocks)
        return [message for message in found if message is not None]

    @property
    def text(self) -> str:
        return b"".join(self.blocks).decode()


async def follows_nothing(hub: StreamHub) -> None:
    while hub.followed:  # noqa: ASYNC110  # its timers end the followers
        await asyncio.sleep(0.01)


async def test_a_stream_ends_with_a_closing_message_at_shutdown() -> None:
    hub = StreamHub(RecordedPages.of("long"))
    connection = Connection("/v1/runs/a%2Frun/events", "after=start")
    app = application(hub)
    serving = asyncio.create_task(app(connection.scope, connection.receive, connection.send))
    async with asyncio.timeout(20):
        await connection.has_messages(3)
        await hub.close()
        await serving
    assert connection.messages[0].event == "opened"
    assert connection.messages[-1].data == {"because": "shutdown", "resume": True}
    assert connection.ended


async def test_a_stream_ends_when_the_session_of_its_client_ends() -> None:
    hub = StreamHub(RecordedPages.of("long"))
    soon = ANN.model_copy(update={"expires": time.time() + 0.2})
    connection = Connection("/v1/runs/a%2Frun/events", identity=soon)
    app = application(hub)
    async with asyncio.timeout(20):
        await app(connection.scope, connection.receive, connection.send)
    await hub.close()
    assert connection.messages[-1].data == {"because": "session expired", "resume": False}
    assert connection.ended


async def test_a_stream_ends_after_its_time_so_that_its_client_is_judged_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A token may be revoked, or its person signed out, while the stream goes on."""
    monkeypatch.setattr(event_stream, "MAX_SECONDS", 0.2)
    hub = StreamHub(RecordedPages.of("long"))
    connection = Connection("/v1/runs/a%2Frun/events")
    async with asyncio.timeout(20):
        await application(hub)(connection.scope, connection.receive, connection.send)
    await hub.close()
    assert connection.messages[-1].data == {"because": "time limit", "resume": True}
    assert connection.ended


async def test_a_stream_whose_history_cannot_be_read_ends_at_sign_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pages = RecordedPages.of("long")
    hub = StreamHub(pages)
    first = next(iter(pages.histories))
    messages = EventStream(hub, StreamRequest((RUN,))).messages()
    async for message in parsed(messages):
        if message.event == "opened":
            break  # its follower has opened the run
    await messages.aclose()

    async def fails(*_: object) -> None:
        raise RPCError("no answer", RPCStatusCode.UNAVAILABLE, b"")

    monkeypatch.setattr(pages, "lineage", fails)
    monkeypatch.setattr(Viewer, "is_behind", True)
    soon = StreamRequest((RUN,), {0: Cursor(first, first, 1)}, expires=time.time() + 0.2)
    async with asyncio.timeout(10):
        found = [one async for one in parsed(EventStream(hub, soon).messages())]
    await hub.close()
    assert found[-1].data == {"because": "session expired", "resume": False}


async def test_a_client_that_does_not_read_is_cut() -> None:
    """It keeps no follower, and the server closes its connection without an error."""

    class Transport:
        aborted = False

        def abort(self) -> None:
            self.aborted = True
            connection.leaves.set()

    class Held:
        transport = Transport()

    hub = StreamHub(RecordedPages.of("long"), linger=0)
    connection = Connection("/")
    connection.reads = False
    connection.scope["state"] = {"connection": Held()}
    messages = EventStream(hub, StreamRequest((RUN,))).messages()
    response = EventSourceResponse(messages, send_seconds=0.05)
    async with asyncio.timeout(20):
        await response(connection.scope, connection.receive, connection.send)
        await follows_nothing(hub)
    await hub.close()
    assert Held.transport.aborted


async def test_a_client_that_leaves_leaves_nothing_behind() -> None:
    hub = StreamHub(RecordedPages.of("long"), linger=0)
    connection = Connection("/v1/events", "runs=a%2Frun&after=start")
    app = application(hub)
    serving = asyncio.create_task(app(connection.scope, connection.receive, connection.send))
    async with asyncio.timeout(20):
        await connection.has_messages(3)
        connection.leaves.set()
        await serving
        await follows_nothing(hub)
    await hub.close()


async def test_a_quiet_stream_is_kept_alive_by_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "KEEP_ALIVE_SECONDS", 0.01)
    hub = StreamHub(RecordedPages.of("long"))
    messages = EventStream(hub, StreamRequest((RUN,))).messages()
    async with asyncio.timeout(20):
        async for block in messages:
            if block == b": keep-alive\n\n":
                break
    await messages.aclose()
    await hub.close()


async def test_the_last_event_id_is_later_than_the_address() -> None:
    """A browser comes back to the address of its first connection, with the id that it has seen."""
    pages = RecordedPages.of("long")
    hub = StreamHub(pages)
    whole: list[Message] = []
    messages = EventStream(hub, StreamRequest((RUN,), whole=True)).messages()
    async for message in parsed(messages):
        whole += [message] if message.event == "history" else []
        if len(whole) == 8:
            break
    await messages.aclose()
    headers = [("last-event-id", whole[5].id)]
    connection = Connection("/v1/runs/a%2Frun/events", f"after={whole[1].id}", headers)
    serving = asyncio.create_task(
        application(hub)(connection.scope, connection.receive, connection.send)
    )
    async with asyncio.timeout(20):
        await connection.has_messages(2)
        await hub.close()
        await serving
    assert connection.messages[1].id == whole[6].id


@pytest.mark.parametrize(
    ("path", "query", "status", "text"),
    [
        ("/v1/runs/a%2Frun/events", "after=17", 422, "'17' is no cursor of an event; use the `id`"),
        ("/v1/runs/other/events", "", 404, "there is no run 'other' for you on this server"),
        ("/v1/events", "", 422, f"a stream has 1 to {MAX_RUNS} runs, and this request names 0"),
        ("/v1/events", "runs=a%2Frun&runs=other", 404, "there is no run 'other' for you"),
        ("/v1/events", "runs=a%2Frun&after=1%3Da.b.3", 422, "'1=a.b.3' is no cursor"),
        ("/v1/runs/a%2Frun/events", "after=a.bogus.1", 422, "'a.bogus.1' is no cursor"),
    ],
)
async def test_a_wrong_request_is_refused_with_a_sentence(
    path: str, query: str, status: int, text: str
) -> None:
    hub = StreamHub(RecordedPages.of("long"))
    connection = Connection(path, query)
    await application(hub)(connection.scope, connection.receive, connection.send)
    await hub.close()
    report = ErrorReport.model_validate_json(b"".join(connection.blocks))
    assert (connection.status, text in report.message) == (status, True)


async def test_nobody_sees_events_without_an_identity() -> None:
    hub = StreamHub(RecordedPages.of("long"))
    for path in ("/v1/runs/a%2Frun/events", "/v1/events"):
        connection = Connection(path, "runs=a%2Frun", identity=None)
        await application(hub)(connection.scope, connection.receive, connection.send)
        assert connection.status == 401
    assert hub.followed == 0


def test_a_joint_cursor_names_the_position_of_each_run() -> None:
    one, two = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2))
    positions = {0: Cursor(one, two, 3), 2: Cursor(two, two, 0)}
    assert parse_joint(joint_cursor(positions), 3) == positions
    ids = f"{one}.{two}"
    for wrong in ("", "0", f"0={ids}", f"3={ids}.1", f"0={ids}.01", f"0={ids}.1;", f"0={ids}.1\n"):
        with pytest.raises(InvalidCursor):
            parse_joint(wrong, 3)
