"""The API against odd requests that Schemathesis makes from its OpenAPI document."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import get_args
from urllib.request import Request, urlopen

import pytest

from coterie.dsl.model.sections.access_document import RoleName
from coterie.gateway.identity.program_tokens import create_token
from tests.doors.conftest import free_port, server_stopped, started
from tests.support.places import ROOT

SCHEMATHESIS = "schemathesis==4.32.5"
"""In an environment of its own: it brings a plugin that `make test` would load."""
CHECKS = "not_a_server_error,content_type_conformance,response_schema_conformance"
CONFIGURATION = """
[checks.not_a_server_error]
expected-statuses = ["2xx", "4xx", "503", "504"]
"""
"""A busy machine may answer late, and says so; a defect is 500."""
PATIENCE = ("--request-timeout", "90", "--request-retries", "2", "--suppress-health-check", "all")
"""The gateway itself answers after 60 seconds; a connection that it drops fails each time."""
TEAM = """
orchestration:
  entry_team: only
  teams: {only: {tasks: [{name: mark, type: set, values: {said: hello}}]}}
"""


def uv() -> str | None:
    """The program that installs it."""
    own = sorted(ROOT.glob(".uv/*/bin/uv"))
    return shutil.which("uv") or (str(own[-1]) if own else None)


def test_no_request_ends_in_a_defect_or_another_form(tmp_path: Path) -> None:
    program = uv()
    tool = [str(program), "tool", "run", "--quiet", "--from", SCHEMATHESIS, "schemathesis"]
    if program is None or subprocess.run([*tool, "--version"], check=False).returncode:
        pytest.skip("NOT RUN: Schemathesis cannot be installed by uv")
    (tmp_path / "coterie.yml").write_text("worker: {accept_plans: false}\n")
    (tmp_path / "config" / "teams").mkdir(parents=True)
    (tmp_path / "config" / "system_config.yml").write_text("{}\n")
    (tmp_path / "config" / "teams" / "chore.yml").write_text(TEAM)
    token = create_token(
        tmp_path / ".coterie/tokens.json", "fuzz", get_args(RoleName), ["*"], time.time(), 600
    )
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    coterie = [sys.executable, "-m", "coterie", "serve", "--port", str(port), "--no-browser"]
    with server_stopped(tmp_path), started(coterie, r"(http://\S+)/open#", tmp_path):
        body = json.dumps({"team": "chore", "id": "one"}).encode()
        with urlopen(Request(f"{address}/v1/runs", body, headers), timeout=60):
            pass  # so that the list has a run, whose id it tries
        with urlopen(Request(f"{address}/v1/openapi.json", None, headers), timeout=60) as answer:
            (tmp_path / "openapi.json").write_bytes(answer.read())
        options = ["--checks", CHECKS, "--max-examples", "6", "--phases", "fuzzing"]
        done = subprocess.run(
            [
                *tool,
                *("run", "openapi.json", "--url", address, "--no-color", "--seed", "1"),
                *("--header", f"Authorization: Bearer {token}", *PATIENCE),
                *("--exclude-operation-id", "message", *options),
            ],
            cwd=tmp_path,
            text=True,
            capture_output=True,
            check=False,
            timeout=900,
        )
        assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-2_000:]
