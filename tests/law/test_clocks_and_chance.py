"""Where determinism is sacred, ruff refuses clocks and chance; elsewhere they are free."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.law.sources import ROOT

BANNED = [
    "import time",
    "import random",
    "import os",
    "import secrets",
    "import socket",
    "import subprocess",
    "import threading",
    "from time import monotonic",
    "from uuid import uuid4",
    "import datetime\n\ndatetime.datetime.now()",
    "from datetime import datetime\n\ndatetime.now()",
    "from datetime import date\n\ndate.today()",
    "from asyncio import gather",
    "import asyncio\n\nasyncio.sleep(1)",
]


def complaints(code: str, file: str) -> str:
    run = subprocess.run(
        [
            Path(sys.executable).parent / "ruff",
            "check",
            "--no-cache",
            "--select",
            "TID251",
            "--stdin-filename",
            file,
            "-",
        ],
        input=code + "\n",
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (0, 1), run.stderr
    return run.stdout


@pytest.mark.parametrize("code", BANNED)
@pytest.mark.parametrize(
    "file", ["dsl/evaluate/routing.py", "workflows/team.py", "workflows/steps/agent.py"]
)
def test_clocks_and_chance_are_refused_in_the_language_and_the_interpreter(
    code: str, file: str
) -> None:
    assert "TID251" in complaints(code, file)


@pytest.mark.parametrize("file", ["activities/tool_functions/commands.py", "coterie/settings.py"])
def test_the_world_and_the_front_door_may_look_at_the_clock(file: str) -> None:
    assert "TID251" not in complaints("\n".join(BANNED), file)


def test_no_wait_of_the_interpreter_has_a_limit_of_the_sdk() -> None:
    """The SDK waits by the `asyncio.wait_for` of Python: another version, another order."""
    limited = [
        f"{file.relative_to(ROOT)}:{call.lineno}"
        for file in (ROOT / "workflows").rglob("*.py")
        for call in ast.walk(ast.parse(file.read_text()))
        if isinstance(call, ast.Call)
        and ast.unparse(call.func) in ("workflow.wait_condition", "asyncio.wait_for")
        and any(word.arg == "timeout" for word in call.keywords)
    ]
    assert limited == []
