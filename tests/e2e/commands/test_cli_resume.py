"""Leaving a run and coming back: Ctrl-C, `kill -9`, a server that dies."""

import json
import signal

from tests.support.cli import asks, interrupt
from tests.support.programs.command_server import Running
from tests.support.project import Project, until


async def begun(desk: Project, id: str) -> Running:
    process = desk.begin("run", "article", "--set", "topic=rain", "--id", id)
    await asks(desk, id)
    return process


def asked(desk: Project) -> list[str]:
    """The labels of all model calls so far."""
    log = desk.folder / "calls.jsonl"
    lines = log.read_text().splitlines() if log.exists() else []
    return [call["label"] for line in lines if (call := json.loads(line))["event"] == "asked"]


async def test_ctrl_c_leaves_the_run_alive_and_says_how_to_go_on(desk: Project) -> None:
    process = await begun(desk, "interrupted")
    assert interrupt(process) == 130
    assert "resume it: coterie run --resume interrupted" in desk.log("run")
    assert "Traceback" not in desk.log("run")
    desk.begin("run", "--resume", "interrupted")
    await asks(desk, "interrupted")
    assert desk.coterie("approve", "interrupted").returncode == 0
    assert desk.coterie("result", "interrupted").returncode == 0


def test_a_run_with_a_record_that_never_started_says_so_and_can_be_started(desk: Project) -> None:
    given = ("run", "chore", "--id", "never begun")
    assert desk.coterie(*given).returncode == 0
    record = desk.folder / ".coterie" / "runs" / "never%20begun.json"
    stray = record.with_name("stray.json")
    stray.write_text(record.read_text().replace("never begun", "stray"))
    resumed = desk.coterie("run", "--resume", "stray")
    assert resumed.returncode == 2
    assert "does not know run 'stray': `coterie run` ended before the run" in resumed.stderr
    assert f"delete its record and repeat the command that started it: rm {stray}" in resumed.stderr
    stray.unlink()
    assert desk.coterie("run", "chore", "--id", "stray").returncode == 0


async def test_a_killed_run_goes_on_without_asking_a_model_again(desk: Project) -> None:
    process = await begun(desk, "killed")
    before = len(asked(desk))
    process.send_signal(signal.SIGKILL)
    process.wait()
    again = desk.begin("run", "--resume")
    await asks(desk, "killed")
    assert desk.coterie("approve", "killed").returncode == 0
    assert again.wait(60) == 0
    assert len(asked(desk)) == before, "both answers were in history"


async def test_a_run_keeps_its_configuration_when_the_file_changes(desk: Project) -> None:
    """The answers of the run's own provider are named by its record, not by the file of today."""
    process = await begun(desk, "edited")
    process.kill()
    process.wait()
    system = desk.folder / "config" / "system_config.yml"
    text = system.read_text()
    system.write_text(text.replace("answers.yml", "nowhere.yml"))
    try:
        desk.begin("run", "--resume", "edited")
        await asks(desk, "edited")
        assert desk.coterie("reject", "edited").returncode == 0
        await asks(desk, "edited", "review/sign_off#2")
        assert desk.coterie("approve", "edited").returncode == 0
        assert desk.coterie("result", "edited").returncode == 0
    finally:
        system.write_text(text)


async def test_a_server_killed_under_a_run_comes_back_and_the_run_ends(quiet_desk: Project) -> None:
    process = await begun(quiet_desk, "hardy")
    before = quiet_desk.server
    quiet_desk.kill_server()
    until(lambda: quiet_desk.server["pid"] not in (None, before["pid"]), "another server")
    assert quiet_desk.server["port"] == before["port"]
    await asks(quiet_desk, "hardy")
    assert quiet_desk.coterie("approve", "hardy").returncode == 0
    assert process.wait(60) == 0, quiet_desk.log("run")
    assert "the embedded server died and was restarted" in quiet_desk.log("run")
    assert len(asked(quiet_desk)) == 2


async def test_a_server_stopped_on_purpose_stays_stopped(quiet_desk: Project) -> None:
    process = await begun(quiet_desk, "stopped")
    assert quiet_desk.coterie("server", "--stop").returncode == 0
    assert process.wait(60) == 2
    assert "the embedded server was stopped" in quiet_desk.log("run")
    assert quiet_desk.coterie("server", "--status").returncode == 1
    quiet_desk.begin("run", "--resume", "stopped")
    await asks(quiet_desk, "stopped")
    assert quiet_desk.coterie("approve", "stopped").returncode == 0
    assert quiet_desk.coterie("result", "stopped").returncode == 0


async def test_a_worker_serves_what_an_ended_run_left(desk: Project) -> None:
    process = await begun(desk, "left")
    before = len(asked(desk))
    worker = desk.begin("worker")
    until(lambda: "serving the task queue" in desk.log("worker"), "the worker")
    assert "of 'left' has ended" not in desk.log("worker"), "it is served still"
    process.kill()
    process.wait()
    until(lambda: "`coterie run` of 'left' has ended" in desk.log("worker"), "the worker's word")
    assert desk.coterie("approve", "left").returncode == 0
    assert desk.coterie("result", "left").returncode == 0
    assert len(asked(desk)) == before, "both answers were in history"
    assert interrupt(worker) == 0, desk.log("worker")
