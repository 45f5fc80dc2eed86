"""A call of user code leaves the environment of its process as it found it."""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from coterie.activities.processes.child_loop import Channel, kept_environment
from coterie.activities.user_code import agent_child, extension_child, tool_child
from coterie.activities.user_code.call_runner import CallRunner

NOBODY = cast("Channel", None)
CALLED: dict[str, Any] = {"tool": "leaving_code:leaves", "arguments": {}, "context": {}}
TURN: dict[str, Any] = {"turn": {}}
RUN: dict[str, Any] = {"path": "leaving_code.Leaving", "offered": {}, "context": {}}
CODE = """
import os
from coterie import tool

@tool()
def leaves() -> None:
    "Leaves a variable."
    os.environ["LEFT"] = "1"

async def leaving(turn):
    os.environ["LEFT"] = "1"
    return "x"

class Leaving:
    def process(self, context):
        os.environ["LEFT"] = "1"
"""


def test_what_is_set_changed_and_deleted_is_undone() -> None:
    before = dict(os.environ)
    with suppress(ValueError), kept_environment():
        os.environ["LEFT"] = "1"
        os.environ["PATH"] = "elsewhere"
        del os.environ["HOME"]
        raise ValueError
    assert dict(os.environ) == before


@pytest.mark.parametrize("kind", ["tool", "agent", "class"])
def test_no_call_leaves_a_variable_to_the_next(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "leaving_code.py").write_text(CODE)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "leaving_code", raising=False)
    monkeypatch.chdir(tmp_path)
    with CallRunner() as runner:
        said: dict[str, Any]
        match kind:
            case "tool":
                asked: dict[str, Any] = {
                    "tool": "leaving_code:leaves",
                    "arguments": {},
                    "context": {},
                }
                said = tool_child.answer(asked, NOBODY, runner)
            case "agent":
                function = __import__("leaving_code").leaving

                def no_turn(**_: object) -> None: ...

                monkeypatch.setattr(extension_child, "AgentTurn", no_turn)
                said = extension_child._turn(runner, function, TURN, Channel(-1))  # pyright: ignore[reportPrivateUsage]
            case _:
                call: dict[str, Any] = {
                    "path": "leaving_code.Leaving",
                    "offered": {},
                    "context": {},
                }
                said = agent_child.run_agent(call, NOBODY)
    assert "raised" not in json.dumps(said), said
    assert "LEFT" not in os.environ
