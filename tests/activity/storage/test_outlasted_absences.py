"""What is paid for or has happened is stored, although the storage is away for a while.

The table has each way in which an activity stores something: none pays or acts twice.
"""

import logging
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path

import pytest
from pydantic import JsonValue, TypeAdapter
from temporalio.exceptions import ApplicationError

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    CompactionTurn,
    Conversation,
    FailureType,
    FunctionRequest,
    FunctionResult,
)
from coterie.activities.providers.provider import Completion, ModelRequest
from coterie.activities.storage.absences import MAX_ABSENCE
from coterie.activities.storage.blobs import DirectoryBlobs
from coterie.activities.storage.conversations import Conversations
from coterie.activities.storage.turn_records import Turn
from coterie.activities.tool_functions.function_activity import FunctionActivities
from coterie.activities.tool_functions.function_registry import TOOL_FUNCTIONS, AnyFunction
from coterie.activities.tool_functions.knowledge.result_cache import CACHE_FOLDER
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction, Workspace
from coterie.dsl.tool_loop.exchange import ToolTurn
from tests.activity.tool_functions.test_long_calls import Caller
from tests.support.agents import RecordingModel, answer, environment, persona, request
from tests.support.tool_functions import environment as function_environment

PNG = b"\x89PNG\r\n\x1a\n"
STARTS: dict[str, object] = {"conversation": Conversation()}
SUMS = CompactionTurn(keep_turns=1, limit=100_000)


class Folder(logging.Handler):
    """A folder that goes away, and comes back when somebody has found that it is away."""

    def __init__(self, path: Path, *, returns: bool = True) -> None:
        super().__init__()
        self._path = path
        self._away = path.with_name("away")
        self._returns = returns
        self.departures = 0

    def leave(self) -> None:
        """Take the folder away; a file in its place keeps everybody from making it anew."""
        self.departures += 1
        if self._path.exists():
            self._path.rename(self._away)
        self._path.touch()

    def emit(self, record: logging.LogRecord) -> None:
        """Bring it back."""
        if self._returns:
            self.come_back()

    def come_back(self) -> None:
        """Bring it back."""
        if self._path.is_file():
            self._path.unlink()
        if self._away.exists():
            self._away.rename(self._path)


class Site:
    """A worker, its storages, and what calls cost."""

    def __init__(self, root: Path, *, returns: bool = True) -> None:
        self.root = root
        self.workspace = Workspace(root / "project")
        self.workspace.state_dir.mkdir(parents=True)
        (self.workspace.root / "a.png").write_bytes(PNG)
        self.blobs = DirectoryBlobs(root / "blobs")
        self.storage = Folder(self.blobs.folder, returns=returns)
        self.state = Folder(self.workspace.state_dir, returns=returns)
        self.model = _LeavingModel(self.storage)

    @property
    def folders(self) -> tuple[Folder, Folder]:
        return self.storage, self.state

    async def turn(self, wanted: AgentRequest, seconds: float = 60.0) -> AgentResponse:
        """A turn during whose model call the storage goes away."""
        activities = AgentActivities(self.model, blobs=self.blobs)
        return await environment(seconds).run(activities.run_agent, wanted)

    async def call(self, function: str, given: JsonValue, seconds: float = 60.0) -> FunctionResult:
        """A call whose result is to be stored."""

        async def pay(amount: int, context: FunctionContext) -> dict[str, JsonValue]:
            self.storage.leave()
            return {"receipt": "R" * amount}

        paid = ToolFunction(
            "Till.pay",
            "Pays.",
            "once",
            TypeAdapter(int),
            TypeAdapter(dict[str, JsonValue]),
            pay,
        )
        functions: dict[str, AnyFunction] = {**TOOL_FUNCTIONS, "Till.pay": paid}
        activities = FunctionActivities(self.workspace, functions, self.blobs)
        wanted = FunctionRequest(skill=function, input=given, key="run/step#1", keep=True)
        return await function_environment(timeout=seconds).run(activities.call_function, wanted)


class _LeavingModel(RecordingModel):
    """A model during whose call the storage goes away."""

    def __init__(self, storage: Folder) -> None:
        super().__init__(answer("first"), answer("again: paid twice"))
        self._storage = storage

    async def complete(self, request: ModelRequest) -> Completion:
        self._storage.leave()
        return await super().complete(request)


async def conversation(site: Site) -> None:
    response = await site.turn(request(changes=STARTS))
    assert (response.data, len(site.model.requests)) == ({"text": "first"}, 1)
    assert response.conversation is not None


async def tool_turn(site: Site) -> None:
    changes: dict[str, object] = {
        "agent_type": "generic_tool_calling",
        **STARTS,
        "tool_turn": ToolTurn(),
    }
    response = await site.turn(request({}, persona(), changes))
    assert (response.data, len(site.model.requests)) == ({"text": "first"}, 1)
    assert response.conversation is not None


async def compaction(site: Site) -> None:
    known = Conversations(site.blobs)
    head = None
    for number in range(3):
        head = await known.add(Turn(parent=head, prompt=f"{number}?", answer="x"), "")
    changes: dict[str, object] = {"conversation": {"head": head}, "compaction": SUMS}
    response = await site.turn(request({}, persona(), changes))
    assert response.success, response.error
    assert (response.conversation is not None, len(site.model.requests)) == (True, 1)


async def kept_result(site: Site) -> None:
    result = await site.call("Till.pay", 500)
    assert result.kept is not None


async def viewed_file(site: Site) -> None:
    site.storage.leave()
    result = await site.call("Files.view", {"path": "a.png"})
    assert isinstance(result.data, dict)


async def remembered(site: Site) -> None:
    site.state.leave()
    stored = (await site.call("Memory.store", {"text": "Cats purr."})).data
    assert isinstance(stored, dict)
    assert stored["replaced"] is False


async def cached(site: Site) -> None:
    site.state.leave()
    await site.call("Cache.put", {"key": 1, "value": 2})
    site.state.leave()
    found = (await site.call("Cache.get", {"key": 1})).data
    assert isinstance(found, dict)
    assert found["value"] == 2


WAYS: dict[str, Callable[[Site], Awaitable[None]]] = {
    "a turn of a conversation": conversation,
    "a turn of an agent with tools": tool_turn,
    "a summary": compaction,
    "a large result of a once call": kept_result,
    "a viewed file": viewed_file,
    "a memory": remembered,
    "a cache": cached,
}


@pytest.fixture
def listening() -> Generator[Callable[[Site], None]]:
    """Let the folders of a site learn when somebody finds them away."""
    log = logging.getLogger("coterie.activities.storage.absences")
    handlers: list[Folder] = []

    def listen(site: Site) -> None:
        for one in site.folders:
            log.addHandler(one)
            handlers.append(one)

    yield listen
    for one in handlers:
        log.removeHandler(one)


@pytest.mark.parametrize("way", WAYS)
async def test_what_is_paid_or_done_is_stored_when_its_storage_is_back(
    tmp_path: Path, listening: Callable[[Site], None], way: str
) -> None:
    site = Site(tmp_path)
    listening(site)
    await WAYS[way](site)
    assert sum(one.departures for one in site.folders) >= 1


async def test_a_paid_answer_is_not_paid_for_again_when_the_storage_stays_away(
    tmp_path: Path,
) -> None:
    site = Site(tmp_path, returns=False)
    response = await site.turn(request(changes=STARTS), seconds=0.5)
    assert response.error is not None
    assert response.error.type == FailureType.STORAGE_UNUSABLE
    assert response.usage is not None
    with pytest.raises(ApplicationError, match="has happened, but its result cannot be used") as no:
        await Site(tmp_path / "other", returns=False).call("Till.pay", 500, seconds=0.5)
    assert no.value.non_retryable


async def test_a_damaged_cache_or_memory_is_no_absence(tmp_path: Path) -> None:
    site = Site(tmp_path)
    await site.call("Cache.put", {"key": 1, "value": 2})
    [file] = (site.workspace.state_dir / CACHE_FOLDER / "general").iterdir()
    file.write_text("{")
    found = (await site.call("Cache.get", {"key": 1})).data
    assert isinstance(found, dict)
    assert found["found"] is False
    await site.call("Memory.store", {"text": "Cats purr."})
    for file in (site.workspace.state_dir / "knowledge").iterdir():
        file.write_bytes(b"no database" * 1000)
    with pytest.raises(ApplicationError, match="is damaged") as refused:
        await site.call("Memory.store", {"text": "Dogs bark."})
    assert refused.value.non_retryable


async def test_a_long_call_is_collected_after_its_folder_was_away(tmp_path: Path) -> None:
    caller = Caller(tmp_path)
    assert await caller.make() is None
    await caller.ledger()
    jobs = Folder(tmp_path / ".coterie" / "jobs")
    jobs.leave()
    caller.free()
    assert await caller.make(at=function_environment(timeout=2)) is None
    jobs.come_back()
    result = await caller.make(at=function_environment(timeout=MAX_ABSENCE + 60))
    assert isinstance(result, dict)
    assert await caller.ledger() == ["begun"]
