"""What holds for every tool function: its contract, its failures, its heartbeats."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import BaseModel, Field, JsonValue, TypeAdapter
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import FailureType, FunctionRequest
from coterie.activities.tool_functions.function_activity import FunctionActivities
from coterie.activities.tool_functions.function_contracts import known_contracts
from coterie.activities.tool_functions.function_registry import (
    TOOL_FUNCTIONS,
    AnyFunction,
    contracts,
)
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction, Workspace
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.dsl.model.capabilities import Effect
from tests.support.tool_functions import call, environment, refusal


async def _echo(value: int, context: FunctionContext) -> int:
    return value


async def _fail(value: int, context: FunctionContext) -> int:
    raise FunctionFailure("the shelf is empty", may_pass=bool(value))


async def _not_started(value: int, context: FunctionContext) -> int:
    raise FunctionFailure("the shelf is locked", happened="no")


async def _refuse(value: int, context: FunctionContext) -> int:
    raise FunctionRefusal("this shelf is not yours")


async def _break(value: int, context: FunctionContext) -> int:
    raise PermissionError(13, "Permission denied", "/srv/secret/place/list.txt")


async def _lie(value: int, context: FunctionContext) -> int:
    return "many"  # pyright: ignore[reportReturnType]  # what is tested is the check of it


async def _wait(value: int, context: FunctionContext) -> int:
    await asyncio.Event().wait()
    return value


Run = Callable[[int, FunctionContext], Awaitable[int]]


def function(run: Run, effect: Effect = "read") -> dict[str, AnyFunction]:
    made = ToolFunction(
        name="Shelf.use",
        description="Uses a shelf.",
        effect=effect,
        input=TypeAdapter(int),
        output=TypeAdapter(int),
        run=run,
    )
    return {"Shelf.use": made}


async def failure(
    workspace: Workspace, run: Run, input: int, attempt: int = 1, effect: Effect = "read"
) -> ApplicationError:
    with pytest.raises(ApplicationError) as caught:
        await call(
            workspace, "Shelf.use", input, at=environment(attempt), functions=function(run, effect)
        )
    return caught.value


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


class _Place(BaseModel):
    latitude: float = Field(alias="lat")


async def _place(value: _Place, context: FunctionContext) -> _Place:
    return value


async def test_a_result_has_the_names_that_its_contract_promises(workspace: Workspace) -> None:
    made = ToolFunction(
        "Map.place", "Returns it.", "read", TypeAdapter(_Place), TypeAdapter(_Place), _place
    )
    assert made.contract().output_schema["required"] == ["lat"]
    assert await call(workspace, "Map.place", {"lat": 1}, functions={"Map.place": made}) == {
        "lat": 1
    }


def test_every_function_has_a_contract_under_its_own_name() -> None:
    for name, contract in contracts().items():
        assert contract.name == name == TOOL_FUNCTIONS[name].name
        assert contract.description
        assert contract.input_schema
        assert contract.output_schema
    effects = {name: contract.effect for name, contract in contracts().items()}
    assert effects == {
        "AgentSkills.use": "read",
        "Arxiv.search": "read",
        "AssetManager.apply_changes": "idempotent",
        "AssetManager.process_action": "idempotent",
        "Cache.get": "read",
        "Cache.put": "idempotent",
        "Calculator.evaluate": "read",
        "CommandRunner.run": "idempotent",
        "CommandRunner.run_once": "once",
        "Discovery.collect": "read",
        "Files.edit": "idempotent",
        "Files.list": "read",
        "Files.read": "read",
        "Files.search": "read",
        "Files.view": "read",
        "Files.write": "idempotent",
        "Git.commit": "idempotent",
        "Git.diff": "read",
        "Git.log": "read",
        "Git.status": "read",
        "Memory.search": "read",
        "Memory.store": "idempotent",
        "Person.ask": "read",
        "Python.run": "read",
        "Retriever.search": "read",
        "SemanticIterator.initialize": "read",
        "Web.fetch": "read",
        "Web.search": "read",
    }


def test_functions_that_show_files_or_output_are_private() -> None:
    private = {name for name, one in contracts().items() if "private" in one.labels}
    assert private == {
        "Cache.get",
        "CommandRunner.run",
        "CommandRunner.run_once",
        "Discovery.collect",
        "Files.list",
        "Files.read",
        "Files.search",
        "Files.view",
        "Git.diff",
        "Git.log",
        "Git.status",
        "Memory.search",
        "Retriever.search",
    }


def test_functions_that_ask_others_are_untrusted_and_egress() -> None:
    outside = {name for name, one in contracts().items() if one.labels == ("untrusted", "egress")}
    assert outside == {"Arxiv.search", "Web.fetch", "Web.search"}


def test_the_contracts_that_documents_are_checked_against_are_those_of_the_functions() -> None:
    assert known_contracts() == contracts(), "run `python -m tests.support.write_contracts`"


async def test_an_unknown_function_is_refused_with_the_known_ones_and_the_nearest(
    workspace: Workspace,
) -> None:
    with pytest.raises(ApplicationError) as caught:
        await call(workspace, "AssetManager.apply_change")
    error = caught.value
    assert error.type == FailureType.FUNCTION_REFUSED
    assert error.non_retryable
    assert (
        "unknown tool function 'AssetManager.apply_change'; known tool functions: AgentSkills"
        in error.message
    )
    assert "did you mean 'AssetManager.apply_changes'?" in error.message


async def test_input_against_the_contract_is_refused_with_its_place(workspace: Workspace) -> None:
    error = await refusal(
        workspace, "Discovery.collect", {"path": ".", "max_bytes": 0, "inclood": ["*.py"]}
    )
    assert error.type == FailureType.FUNCTION_REFUSED
    assert error.non_retryable
    assert "invalid input for Discovery.collect" in error.message
    assert "max_bytes: Input should be greater than or equal to 1" in error.message
    assert "inclood: Extra inputs are not permitted" in error.message


async def test_a_refusal_is_never_tried_again(workspace: Workspace) -> None:
    error = await failure(workspace, _refuse, 1)
    assert (error.type, error.non_retryable) == (FailureType.FUNCTION_REFUSED, True)
    assert error.message == "this shelf is not yours"


@pytest.mark.parametrize("may_pass", [True, False])
async def test_a_failure_is_tried_again_only_if_it_may_pass(
    workspace: Workspace, may_pass: bool
) -> None:
    error = await failure(workspace, _fail, int(may_pass))
    assert (error.type, error.non_retryable) == (FailureType.FUNCTION_FAILED, not may_pass)


async def test_an_error_of_the_system_becomes_a_sentence_without_the_machines_paths(
    workspace: Workspace,
) -> None:
    error = await failure(workspace, _break, 1)
    assert (error.type, error.non_retryable) == (FailureType.FUNCTION_FAILED, False)
    assert error.message == "Shelf.use hit a system error: Permission denied: 'list.txt'"


async def test_a_result_against_the_contract_is_a_failure(workspace: Workspace) -> None:
    error = await failure(workspace, _lie, 1)
    assert (error.type, error.non_retryable) == (FailureType.FUNCTION_FAILED, True)
    assert "returned a result that violates its contract" in error.message


async def test_a_result_too_big_for_a_history_says_its_size(workspace: Workspace) -> None:
    (workspace.root / "big.txt").write_text("x" * 1_600_000)
    error = await refusal(
        workspace, "Discovery.collect", {"max_bytes": 10_000_000, "max_file_bytes": 10_000_000}
    )
    assert (error.type, error.non_retryable) == (FailureType.FUNCTION_FAILED, True)
    assert "has 1600" in error.message
    assert "at most 1500000 fit" in error.message
    assert "Narrow the input" in error.message


async def test_once_function_runs_in_its_first_attempt_only(workspace: Workspace) -> None:
    assert await call(workspace, "Shelf.use", 7, functions=function(_echo, "once")) == 7
    error = await failure(workspace, _echo, 7, attempt=2, effect="once")
    assert (error.type, error.non_retryable) == (FailureType.OUTCOME_UNKNOWN, True)
    assert "its first attempt was lost" in error.message


async def test_once_function_has_an_unknown_outcome_when_it_breaks_off(
    workspace: Workspace,
) -> None:
    error = await failure(workspace, _break, 1, effect="once")
    assert (error.type, error.non_retryable) == (FailureType.OUTCOME_UNKNOWN, True)
    assert "it hit a system error: Permission denied: 'list.txt'" in error.message


async def test_once_function_has_a_known_outcome_when_it_could_not_start(
    workspace: Workspace,
) -> None:
    assert (await failure(workspace, _not_started, 1, effect="once")).type == "FunctionFailed"
    assert (await failure(workspace, _fail, 1, effect="once")).type == FailureType.OUTCOME_UNKNOWN
    assert (
        await failure(workspace, _refuse, 1, effect="once")
    ).type == FailureType.FUNCTION_REFUSED


async def test_once_function_has_an_unknown_outcome_when_its_worker_ends(
    workspace: Workspace,
) -> None:
    begun = asyncio.Event()

    async def begin(value: int, context: FunctionContext) -> int:
        begun.set()
        return await _wait(value, context)

    at = environment()
    running = asyncio.ensure_future(
        call(workspace, "Shelf.use", 1, at=at, functions=function(begin, "once"))
    )
    await begun.wait()
    at.worker_shutdown()
    at.cancel()
    with pytest.raises(ApplicationError) as caught:
        await running
    assert caught.value.type == FailureType.OUTCOME_UNKNOWN
    assert "its worker stopped while it ran" in caught.value.message


@pytest.mark.parametrize("effect", ["read", "idempotent"])
async def test_everything_else_runs_in_a_later_attempt_too(
    workspace: Workspace, effect: Effect
) -> None:
    at = environment(attempt=3)
    assert await call(workspace, "Shelf.use", 7, at=at, functions=function(_echo, effect)) == 7


async def test_a_slow_function_beats_until_it_is_cancelled(workspace: Workspace) -> None:
    at = environment(heartbeat_timeout=0.03)
    beaten = asyncio.Event()
    beats: list[object] = []

    def beat(*details: object) -> None:
        beats.append(details)
        if len(beats) == 3:
            beaten.set()

    at.on_heartbeat = beat
    running = asyncio.ensure_future(
        call(workspace, "Shelf.use", 1, at=at, functions=function(_wait))
    )
    await beaten.wait()
    at.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert asyncio.all_tasks() == {asyncio.current_task()}, "the beats have ended"


async def test_a_function_runs_without_a_heartbeat_timeout(workspace: Workspace) -> None:
    at = environment(heartbeat_timeout=0)
    assert await call(workspace, "Shelf.use", 7, at=at, functions=function(_echo)) == 7


async def test_an_optional_argument_that_takes_no_null_is_left_out_by_null(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    plain = await call(Workspace(tmp_path), "Discovery.collect", {"path": "a.txt"})
    blank: JsonValue = {"path": "a.txt", "max_bytes": None, "include": None}
    assert await call(Workspace(tmp_path), "Discovery.collect", blank) == plain


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"path": None, "max_bytes": 0}, "max_bytes"),
        ({"no_such": None}, "no_such"),
        ({"command": None}, "command"),
    ],
)
async def test_a_null_excuses_no_other_fault_of_the_input(
    tmp_path: Path, given: JsonValue, message: str
) -> None:
    function = "CommandRunner.run" if message == "command" else "Discovery.collect"
    error = await refusal(Workspace(tmp_path), function, given)
    assert error.type == FailureType.FUNCTION_REFUSED
    assert message in error.message


@pytest.mark.parametrize(
    ("effect", "type"), [("read", FailureType.TIMEOUT), ("once", FailureType.OUTCOME_UNKNOWN)]
)
async def test_a_function_that_an_agent_calls_has_the_time_limit_of_its_contract(
    workspace: Workspace, effect: Effect, type: str
) -> None:
    limits: list[float | None] = []

    async def wait(value: int, context: FunctionContext) -> int:
        limits.append(context.timeout)
        return await _wait(value, context)

    (made,) = function(wait, effect).values()
    assert isinstance(made, ToolFunction)
    activities = FunctionActivities(workspace, {"Shelf.use": replace(made, timeout=0.05)})
    request = FunctionRequest(skill="Shelf.use", input=1, key="run/shelf")
    with pytest.raises(ApplicationError, match="did not end within") as caught:
        await environment().run(activities.call_for_agent, request)
    assert (caught.value.type, limits) == (type, [0.05])
