"""No program that we start gets a secret of its starter: each start names what it passes."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.law.sources import ROOMS, ROOT, modules

_STARTERS = frozenset({"run", "Popen", "call", "check_call", "check_output"})
_OF_ASYNCIO = frozenset({"create_subprocess_exec", "create_subprocess_shell"})


class Start(NamedTuple):
    file: str
    environment: str | None
    """The source of `env=`; None: the program gets all that this process has."""


_FEW = "the few variables of commands, and those that the configuration names"
_ALL = "what the process has that starts it, whose own row says what that is"
EXPECTED = {
    Start(
        "activities/mcp_client/transport/server_transport.py",
        "{**get_default_environment(), **command.environment}",
    ): "the SDK's few, those of commands, and the secrets that the server's section names",
    Start("activities/processes/bubblewrap.py", "{}"): "nothing: it only tries the sandbox",
    Start(
        "activities/processes/python_interpreter.py", "variables"
    ): "those by which scripts choose a Python",
    Start("activities/processes/short_program.py", "dict(environment)"): _FEW,
    Start("activities/processes/supervised_process.py", "dict(environment)"): _FEW,
    Start("activities/processes/supervisor.py", None): _ALL,
    Start("activities/tool_functions/long_calls/long_call.py", "environment"): _FEW,
    Start(
        "coterie/display/pager.py", "{**_OPTIONS, **_without_secrets(environment)}"
    ): "the terminal's",
    Start("coterie/server/server_process.py", "_without_secrets(settings)"): "a few",
    Start("coterie/worker/watchdog.py", None): _ALL,
    Start(
        "coterie/worker/watchdog_process.py", "_environment(settings.environment)"
    ): "those that reach the Temporal server, with its key; no provider's",
    Start(
        "gateway/worker_process.py", "dict(self._settings.environment)"
    ): "all: it is the worker of `coterie serve`, which calls the providers",
}
"""`{start: what the program gets}`. A new row needs a test that its program gets no secret."""


def calls(mark: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield the file and each call of the modules that have a mark in their text."""
    for room in ROOMS:
        for _, file in modules(room):
            text = file.read_text()
            if mark in text:
                nodes = ast.walk(ast.parse(text))
                name = file.relative_to(ROOT).as_posix()
                yield from ((name, node) for node in nodes if isinstance(node, ast.Call))


def starts() -> Iterator[Start]:
    for file, call in calls("subprocess"):
        if _starts(call.func):
            given = [key.value for key in call.keywords if key.arg == "env"]
            yield Start(file, ast.unparse(given[0]) if given else None)


def _starts(function: ast.expr) -> bool:
    if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
        return False
    if function.value.id == "subprocess":
        return function.attr in _STARTERS
    return function.value.id == "asyncio" and function.attr in _OF_ASYNCIO


def test_each_start_of_a_program_says_what_it_passes() -> None:
    assert set(starts()) == EXPECTED.keys()


@pytest.mark.parametrize("name", ["os.system", "os.popen", "os.spawn", "os.posix_spawn"])
def test_no_program_is_started_without_an_environment(name: str) -> None:
    assert [file for file, call in calls(name) if ast.unparse(call.func).startswith(name)] == []
