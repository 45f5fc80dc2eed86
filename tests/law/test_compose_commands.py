"""The shell commands of docker-compose.yml, run as the containers would run them."""

import asyncio
import os
import socket
import stat
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from temporalio import activity
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from tests.law.sources import ROOT
from tests.support.servers.temporal_server import dev_server

SERVICES = cast(
    "dict[str, dict[str, Any]]",
    yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"],
)
PROGRAMS = Path(sys.executable).parent


async def shell(command: str, **environment: str) -> tuple[int, str]:
    """Exit code and output of a command in which compose has unescaped the dollars."""
    process = await asyncio.create_subprocess_exec(
        "/bin/sh",
        "-euc",
        command.replace("$$", "$"),
        env={"PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}", **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return process.returncode or 0, output.decode()


@activity.defn
async def ping() -> str:
    return "pong"


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[WorkflowEnvironment]:
    async with dev_server(log_level="error", identity=None) as env:
        yield env


async def test_a_worker_is_healthy_once_the_server_has_heard_from_it(
    server: WorkflowEnvironment,
) -> None:
    check, command = SERVICES["worker"]["healthcheck"]["test"]
    assert check == "CMD-SHELL"
    name = socket.gethostname()
    address = server.client.service_client.config.target_host

    async def healthy(hostname: str, queue: str) -> bool:
        code, _ = await shell(
            command,
            HOSTNAME=hostname,
            COTERIE_ADDRESS=address,
            COTERIE_NAMESPACE="default",
            COTERIE_TASK_QUEUE=queue,
        )
        return code == 0

    async with Worker(server.client, task_queue="coterie", activities=[ping], build_id="test"):
        await server.client.execute_activity(
            ping, id="ping", task_queue="coterie", start_to_close_timeout=timedelta(seconds=10)
        )
        assert await healthy(name, "coterie")
        assert not await healthy("another", "coterie")
        assert not await healthy(name, "where-nobody-works")


async def test_the_namespace_is_made_when_it_is_missing_and_left_when_it_is_there(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    (command,) = SERVICES["namespace"]["command"]
    found = {
        "TEMPORAL_ADDRESS": server.client.service_client.config.target_host,
        "NAMESPACE": "fleet",
        "HOME": str(tmp_path),
    }
    code, output = await shell(command, **found)
    assert code == 0, output
    assert "successfully registered" in output
    code, output = await shell(command, **found)
    assert code == 0, output
    assert "successfully registered" not in output


async def test_both_databases_are_brought_to_the_servers_version(tmp_path: Path) -> None:
    """The tool itself needs PostgreSQL; a stand-in tells how it was called."""
    tool = tmp_path / "temporal-sql-tool"
    tool.write_text('#!/bin/sh\necho "$@"\n')
    tool.chmod(tool.stat().st_mode | stat.S_IEXEC)
    (command,) = SERVICES["schema"]["command"]
    code, output = await shell(f"PATH={tmp_path}:$$PATH\n{command}")
    versions = "/etc/temporal/schema/postgresql/v12"
    assert code == 0, output
    assert output.splitlines() == [
        "--db temporal create",
        "--db temporal setup-schema -v 0.0",
        f"--db temporal update-schema -d {versions}/temporal/versioned",
        "--db temporal_visibility create",
        "--db temporal_visibility setup-schema -v 0.0",
        f"--db temporal_visibility update-schema -d {versions}/visibility/versioned",
    ]
