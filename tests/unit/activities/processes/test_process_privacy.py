"""A process that knows keys lets no other process of its user read them."""

import os
import subprocess
import sys

import pytest

from coterie.activities.processes.process_privacy import keep_to_itself
from tests.support.project import until

USER = """
import ctypes, os, sys
if os.getuid() == 0:  # to root nothing is closed: both are somebody else, as on a user's machine
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # a change of user made it non-dumpable
"""
WORKER_IMPORTS = "from activities.processes.process_privacy import keep_to_itself"
WORKER = """
assert sys.argv[1] == "open" or keep_to_itself()
print("ready", flush=True)
sys.stdin.read()
"""
JOB_HOST_IMPORTS = "from activities.tool_functions.long_calls.job_host import main"
JOB_HOST = "main()"
READER = """
try:
    print("sk-of-the-worker" in open(f"/proc/{sys.argv[1]}/environ").read())
except PermissionError:
    print("refused")
"""


def begun(code: str, *arguments: str, imports: str = "") -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", imports + USER + code, *arguments],
        env={**os.environ, "API_KEY": "sk-of-the-worker"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc to read")
@pytest.mark.parametrize(("worker", "found"), [("open", "True"), ("closed", "refused")])
def test_another_process_of_the_user_cannot_read_the_environment(worker: str, found: str) -> None:
    process = begun(WORKER, worker, imports=WORKER_IMPORTS)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    shown, _ = begun(READER, str(process.pid)).communicate()
    process.communicate()
    assert shown == f"{found}\n"


COMMANDS_IMPORTS = """
import tempfile
from pathlib import Path
from coterie.documents.catalog import Catalog
from coterie.documents.trusted_catalog import trusted_catalog
from coterie.settings import load
from coterie.worker.command_sandbox import command_sandbox
settings = load(cwd=Path(tempfile.mkdtemp()))
trusted = trusted_catalog(settings, Catalog(settings), None)
"""
COMMANDS = """
command_sandbox(trusted, settings)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc to read")
def test_nor_that_of_a_process_without_a_worker_that_may_run_commands() -> None:
    process = begun(COMMANDS, imports=COMMANDS_IMPORTS)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    shown, _ = begun(READER, str(process.pid)).communicate()
    process.communicate()
    assert shown == "refused\n"


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc to read")
def test_nor_that_of_a_process_that_waits_for_the_order_of_a_long_call() -> None:
    process = begun(JOB_HOST, "[]", "unused", "0" * 32, imports=JOB_HOST_IMPORTS)

    def refused() -> bool:
        return begun(READER, str(process.pid)).communicate()[0] == "refused\n"

    until(refused, "a process that keeps to itself")
    process.kill()
    process.communicate()


def test_nothing_is_promised_where_the_system_has_no_such_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert keep_to_itself() is False
