"""What a model wrote and a command runs: in the sandbox it finds no key, server or way out."""

import asyncio
import fcntl
import os
import socket
import sys
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from coterie.activities.processes.bubblewrap import Bubblewrap, find_bubblewrap
from coterie.activities.processes.process_group import ProcessLimits
from coterie.activities.tool_functions.command_runner import CommandResult
from coterie.activities.workspace.function_base import Command, Workspace
from tests.support.tool_functions import call, environment, refusal, said

SANDBOX = find_bubblewrap(os.environ["PATH"])
pytestmark = pytest.mark.skipif(
    not isinstance(SANDBOX, Bubblewrap), reason=f"bubblewrap does not work here: {SANDBOX}"
)

HOSTILE = """
import fcntl, os, pathlib, signal, socket, subprocess, sys, time

worker, port, outside, secret = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], "sk-of-the-worker"

def tried(what, attempt):
    try:
        print(what, attempt() or "nothing")
    except Exception as error:
        print(what, "nothing", type(error).__name__)

def keys():
    found = []
    for file in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if secret.encode() in file.read_bytes():
                found.append(str(file))
        except OSError:
            pass
    if secret in str(os.environ):
        found.append("own")
    return found

def environ_of_worker():
    return pathlib.Path(f"/proc/{worker}/environ").read_bytes()

def reached():
    with socket.create_connection(("127.0.0.1", port), 5) as one:
        return one.recv(100)

def out():
    found = []
    places = [outside, "/etc", "/usr", "/", "/var", os.path.dirname(os.getcwd())]
    for place in places:
        try:
            pathlib.Path(place, "left-by-hostile").write_text("x")
            if place in (outside, "/etc", "/usr", "/"):
                found.append(place)
        except OSError:
            pass
    return found

def rewritten():
    found = []
    for name in ("coterie.yml", "config/teams/dev.yml", ".coterie/temporal.db", ".git/config",
                 ".git/hooks/pre-commit"):
        for attempt in (
            lambda: pathlib.Path(name).write_text("evil"),
            lambda: pathlib.Path(name).unlink(),
            lambda: os.rename(pathlib.Path(name).parts[0], "moved"),
        ):
            try:
                attempt()
                found.append(name)
            except OSError:
                pass
    return found

tried("keys", keys)
tried("environ", environ_of_worker)
tried("database", lambda: pathlib.Path(".coterie/temporal.db").read_text())
tried("dotenv", lambda: pathlib.Path(".env").read_text())
tried("nested", lambda: pathlib.Path("apps/web/.env.local").read_text())
tried("server", reached)
tried("out", out)
tried("rewritten", rewritten)
pathlib.Path("mine.txt").write_text("in the workspace")
pathlib.Path("/tmp/mine.txt").write_text("for myself")
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        lock = open("left.lock", "w")
        fcntl.flock(lock, fcntl.LOCK_EX)
        print("left behind", flush=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    os._exit(0)
os.wait()
while not os.path.exists("left.lock"):
    time.sleep(0.01)
"""


def workspace_at(root: Path, *commands: Command, limits: ProcessLimits | None = None) -> Workspace:
    assert isinstance(SANDBOX, Bubblewrap)
    return Workspace(
        root,
        {command.name: command for command in commands},
        environment={**os.environ, "API_KEY": "sk-of-the-worker", "VIRTUAL_ENV": sys.prefix},
        protected=(root / "coterie.yml", root / "config" / "teams"),
        sandbox=SANDBOX,
        limits=limits or ProcessLimits(),
    )


async def run(workspace: Workspace, name: str = "it") -> CommandResult:
    data = await call(workspace, "CommandRunner.run", {"command": name})
    return TypeAdapter(CommandResult).validate_python(data)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name in (
        "coterie.yml",
        "config/teams/dev.yml",
        ".git/config",
        ".git/hooks/pre-commit",
        ".coterie/temporal.db",
        ".env",
        "apps/web/.env.local",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("sk-of-the-worker")
    (root / "hostile.py").write_text(HOSTILE)
    return root


async def test_a_hostile_file_finds_no_key_no_server_and_no_way_out(
    root: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        words = ("{python}", "hostile.py", str(os.getpid()), port, str(outside))
        result = await run(workspace_at(root, Command("it", words)))
    assert result.exit_code == 0, result.output
    shown = dict(line.split(" ", 1) for line in result.output.splitlines())
    assert shown.pop("left") == "behind"
    assert {what: found.split()[0] for what, found in shown.items()} == dict.fromkeys(
        ("keys", "environ", "database", "server", "out", "rewritten"), "nothing"
    ) | {"dotenv": "nothing", "nested": "nothing"}
    assert sorted(os.listdir(tmp_path)) == ["outside", "project"]
    assert os.listdir(outside) == []
    assert "mine.txt" not in os.listdir("/tmp")
    assert (root / "mine.txt").read_text() == "in the workspace"
    for name in (
        "coterie.yml",
        "config/teams/dev.yml",
        ".git/config",
        ".git/hooks/pre-commit",
        ".coterie/temporal.db",
        ".env",
        "apps/web/.env.local",
    ):
        assert (root / name).read_text() == "sk-of-the-worker", name
    with (root / "left.lock").open("w") as lock:  # blocks as long as somebody is alive
        await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)


def python(code: str, name: str = "it", **fields: object) -> Command:
    return Command(name, ("{python}", "-c", code), **fields)  # pyright: ignore[reportArgumentType]


REACH = "import socket, sys; socket.create_connection(('127.0.0.1', {port}), 5)"


async def test_only_a_command_that_declares_it_reaches_the_network(root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = REACH.format(port=server.getsockname()[1])
        workspace = workspace_at(root, python(code), python(code, "online", network=True))
        assert "ConnectionRefused" in (await run(workspace)).output
        assert (await run(workspace, "online")).passed


async def test_more_is_seen_by_permission_and_never_written(root: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "table.csv").write_text("1,2")
    code = f"""
import pathlib
file = pathlib.Path({str(data / "table.csv")!r})
print(file.exists(), pathlib.Path(".env").read_text())
if file.exists():
    file.write_text("changed")
"""
    hidden = workspace_at(root, python(code))
    assert (await run(hidden)).output == "False \n"
    seen = Workspace(
        root,
        hidden.commands,
        environment=hidden.environment,
        sandbox=hidden.sandbox,
        readable=(data, root / ".env"),
    )
    result = await run(seen)
    assert "True sk-of-the-worker\n" in result.output
    assert "Read-only file system" in result.output
    assert (data / "table.csv").read_text() == "1,2"


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        (
            "memory",
            "import os, signal\nfor _ in range(5): os.fork()\nx = b'x' * (8 << 20)\nsignal.pause()",
        ),
        ("processes", "import os, signal\nwhile True:\n    if os.fork() == 0: signal.pause()"),
        ("cpu", "while True: pass"),
        ("output", "while True: print('x' * 10_000)"),
    ],
)
async def test_a_command_that_uses_too_much_is_ended(root: Path, limit: str, code: str) -> None:
    limits = ProcessLimits(cpu=1, memory=200 << 20, processes=40, output=1 << 20)
    if limit != "cpu":
        limits = ProcessLimits(
            memory=200 << 20, processes=400 if limit == "memory" else 40, output=1 << 20
        )
    result = await run(workspace_at(root, python(code), limits=limits))
    assert (result.limit, result.passed) == (limit, False), result.output


async def test_a_file_of_a_command_has_a_greatest_size(root: Path) -> None:
    words = ("sh", "-c", "head -c 2000000 /dev/zero > large")
    limits = ProcessLimits(output=1 << 20)
    result = await run(workspace_at(root, Command("it", words), limits=limits))
    assert (result.limit, result.passed) == ("output", False)
    assert (root / "large").stat().st_size == 1 << 20


async def test_a_cancelled_command_may_end_cleanly(root: Path) -> None:
    os.mkfifo(root / "started")
    code = """
import signal, sys
def end(*_):
    open("ended", "w").write("cleanly")
    sys.exit(3)
signal.signal(signal.SIGTERM, end)
open("started", "w").write("yes")
signal.pause()
"""
    at = environment()
    workspace = workspace_at(root, python(code))
    running = asyncio.ensure_future(call(workspace, "CommandRunner.run", {"command": "it"}, at=at))
    await said(root / "started")
    at.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (root / "ended").read_text() == "cleanly"


async def test_a_program_that_is_not_there_is_a_failure(root: Path) -> None:
    (root / "broken").write_text("#!/no/such/interpreter\n")
    (root / "broken").chmod(0o755)
    workspace = workspace_at(root, Command("it", ("no-such-program",)), Command("b", ("./broken",)))
    for name, reason in {"it": "does not exist", "b": "No such file or directory"}.items():
        error = await refusal(workspace, "CommandRunner.run", {"command": name})
        assert f"could not start command '{name}'" in error.message
        assert reason in error.message


async def test_a_killed_worker_leaves_nothing_running_in_the_sandbox(root: Path) -> None:
    os.mkfifo(root / "started")
    code = """
import fcntl, os, signal
name = "parent" if os.fork() else "child"
if name == "child":
    os.setsid()
lock = open(f"{name}.lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
fifo = os.open("started", os.O_WRONLY)
os.write(fifo, b"!")
os.close(fifo)
signal.pause()
"""
    worker = f"""
import asyncio, os, sys
sys.path.insert(0, {str(Path.cwd())!r})
from pathlib import Path
from tests.activity.tool_functions.test_functions_sandbox import python, run, workspace_at
asyncio.run(run(workspace_at(Path({str(root)!r}), python({code!r}))))
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", worker)
    heard = ""
    while len(heard) < 2:
        heard += await said(root / "started")
    process.kill()
    await process.wait()
    for name in ("parent.lock", "child.lock"):
        with (root / name).open("w") as lock:
            await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)
