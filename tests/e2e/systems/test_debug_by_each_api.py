"""`coterie agent debug` by the real SDKs, against a server that others wrote.

A proxy before that server refuses what the vendors refuse of histories with tools.
"""

import asyncio
import shutil
from pathlib import Path

from coterie.dsl.values import Json, JsonValue
from evals.packages.planting import original, planted
from tests.chaos.debug_runs.debug_ground import FILE, ISSUE, DebugGround, debug_ground
from tests.support.servers.asking import APIS, section
from tests.support.servers.checking_proxy import CheckingProxy, checking_proxy
from tests.support.servers.model_server import ModelServer

_PLANNER, _ACTOR = "You are a task planning expert", "You do one task of a larger plan"
_OBSERVER = "You observe the work of another agent"
_DEFECT = "code == 0x25 and i + 3 < l:"
_WRONG, _RIGHT = "code == 0x25:", "code == 0x25 and i + 2 < l:"
PLAN: Json = {
    "tasks": [
        {
            "id": "mend",
            "description": "Mend the cause where it arises; all tests are green.",
            "dependencies": [],
            "required_tools": ["file_read", "file_write", "shell_exec"],
            "estimated_complexity": "low",
            "fallback": "skip",
        }
    ]
}
REPORT: Json = {
    "response": "Two characters must follow a percent sign. All 17 tests pass.",
    "tools_used": ["file_read", "file_write", "shell_exec"],
    "files_changed": [FILE],
    "error": None,
}
OBSERVED: Json = {
    "success_assessment": True,
    "learned": "The bound of the length belongs to the two digits of an escape.",
    "progress_made": "All tests are green.",
    "plan_adjustments": [],
}


def play(server: ModelServer) -> None:
    """Let the actor read and test, patch wrongly, see what the tests say, and patch again."""
    test: tuple[str, Json] = ("shell_exec", {"command": "test"})
    turns: list[list[tuple[str, Json]]] = [
        [("file_read", {"path": FILE}), test],
        [("file_write", {"path": FILE, "content": planted(FILE).replace(_DEFECT, _WRONG)})],
        [test],
        [("file_write", {"path": FILE, "content": planted(FILE).replace(_DEFECT, _RIGHT)})],
        [test],
    ]
    server.answer(PLAN, system=_PLANNER)
    server.answer(OBSERVED, system=_OBSERVER)
    match: Json = {"systemMessage": _ACTOR, "hasToolResult": False}
    for turn, calls in enumerate(turns, 1):
        made: list[JsonValue] = [
            {"id": f"call_{turn}_{number}", "name": name, "arguments": arguments}
            for number, (name, arguments) in enumerate(calls, 1)
        ]
        server.add({"match": match, "response": {"content": f"Step {turn}.", "toolCalls": made}})
        match = {"toolCallId": f"call_{turn}_{len(calls)}"}
    server.add({"match": match, "response": {"content": REPORT}})


async def test_a_planted_defect_is_mended_by_each_api_after_a_wrong_patch(
    tmp_path: Path, model_server: ModelServer
) -> None:
    play(model_server)
    with debug_ground(tmp_path / "packages") as ground:
        for api in APIS:
            plant(ground)
            assert ground.verdict() == "1 failed, 16 passed"
            async with checking_proxy(model_server.url) as proxy:
                await asyncio.to_thread(mended, ground, api, proxy)
            assert proxy.faults == []
            assert ground.verdict() == "17 passed"
            assert (ground.shop.folder / FILE).read_text() == original(FILE)
            said = str(proxy.bodies)
            assert "test_an_escape_at_the_end_of_the_text_stays" in said
            assert "test_a_percent_sign_that_begins_no_escape" in said, "the first patch broke it"


def plant(ground: DebugGround) -> None:
    """Plant the defect again, and forget what Python has compiled.

    Python tells versions of a file apart by size and second, and the mended file has the same size.
    """
    file = ground.shop.folder / FILE
    shutil.rmtree(file.parent / "__pycache__", ignore_errors=True)
    file.write_text(planted(FILE))


def mended(ground: DebugGround, api: str, proxy: CheckingProxy) -> None:
    """Let the agent work by one API."""
    provider = {**section(api, proxy.url), "api_key_env": "STAND_IN", "default_model": "m"}
    ground.shop.environment["STAND_IN"] = "sk-0123456789abcdef"
    ground.shop.configure(llm_config={"default_provider": "own", "providers": {"own": provider}})
    given = ("--files", FILE, "--id", api, "--decisions", "allowed.yml")
    done = ground.shop.coterie("agent", "debug", ISSUE, *given, seconds=240)
    assert done.returncode == 0, (done.stderr, done.stdout, proxy.faults)
