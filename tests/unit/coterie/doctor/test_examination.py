"""The doctor reads a project as a worker does, and asks servers without a key."""

import json
import os
import socket
from pathlib import Path

import pytest

from coterie.activities.extra_packages import install_command
from coterie.activities.processes.command_user import command_user
from coterie.cli import main
from coterie.doctor import examination
from coterie.doctor.checkup import Finding, Level, extra_findings
from coterie.doctor.examination import addresses, examine, needed_extras
from coterie.documents.worker_trust import TrustedConfig
from coterie.dsl.model.sections.mcp_document import McpServerSection
from coterie.dsl.model.sections.provider_document import ProviderSection
from coterie.dsl.model.vendors.vendors import VENDORS
from coterie.failures import ExitCode
from coterie.settings import load
from tests.support.compiling import plan_of
from tests.support.servers.raw_server import raw_server

ANSWER = (
    b"HTTP/1.1 404 Not Found\r\nDate: Sun, 01 Mar 2020 12:00:00 GMT\r\nContent-Length: 0\r\n\r\n"
)


async def findings(folder: Path, *, offline: bool = True, **environment: str) -> list[Finding]:
    return await examine(load(environment, folder), offline=offline)


def of(found: list[Finding], topic: str) -> list[tuple[Level, str]]:
    return [(one.level, one.text) for one in found if one.topic == topic]


async def test_keys_are_those_of_the_project_and_no_value_is_shown(tmp_path: Path) -> None:
    (tmp_path / "coterie.yml").write_text(
        "llm_config: {providers: {mine: {kind: openai, api_base: 'http://127.0.0.1:9/v1',"
        " api_key_env: MINE_KEY}}}\n"
    )
    shown = await findings(tmp_path, ANTHROPIC_API_KEY="s3cret")
    keys = of(shown, "keys")
    assert (Level.OK, "anthropic: ANTHROPIC_API_KEY is set") in keys
    assert (Level.WARNING, "mine: MINE_KEY is not set") in keys
    assert (Level.OPTIONAL, "openai: OPENAI_API_KEY is not set") in keys
    assert "s3cret" not in repr(shown)


async def test_what_is_invalid_is_a_problem_and_the_rest_is_still_examined(tmp_path: Path) -> None:
    (tmp_path / "coterie.yml").write_text("worker: {sandbox: maybe}\n")
    shown = await findings(tmp_path)
    [(level, text)] = of(shown, "project")
    assert (level, "its configuration is invalid" in text) == (Level.PROBLEM, True)
    assert of(shown, "disk")
    assert of(shown, "server")


async def test_an_invalid_team_of_the_project_is_named(tmp_path: Path) -> None:
    teams = tmp_path / "config" / "teams"
    teams.mkdir(parents=True)
    (teams / "broken.yml").write_text("orchestration: 5\n")
    [(level, text)] = of(await findings(tmp_path), "project")
    assert level is Level.PROBLEM
    assert text.startswith("team broken is invalid: ")


async def test_a_provider_is_reached_without_a_key_and_lends_its_clock(tmp_path: Path) -> None:
    async with raw_server(ANSWER) as server:
        (tmp_path / "coterie.yml").write_text(
            f"llm_config: {{providers: {{mine: {{kind: openai, api_base: '{server.url}',"
            " api_key_env: MINE_KEY}}}\n"
        )
        shown = await findings(tmp_path, offline=False, MINE_KEY="s3cret")
        assert of(shown, "network") == [(Level.OK, f"mine answers at {server.url}")]
        [(level, text)] = of(shown, "clock")
        assert (level, f"ahead of {server.url}" in text) == (Level.WARNING, True)
        [request] = server.requests
        assert "s3cret" not in repr(request)


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/v1", "http://[", "nonsense"])
async def test_an_address_that_does_not_answer_is_a_warning(tmp_path: Path, address: str) -> None:
    (tmp_path / "coterie.yml").write_text(
        f"llm_config: {{providers: {{mine: {{kind: openai, api_base: '{address}'}}}}}}\n"
    )
    shown = await findings(tmp_path, offline=False)
    [(level, text)] = of(shown, "network")
    assert (level, f"mine at {address} does not answer" in text) == (Level.WARNING, True)


async def test_another_server_that_does_not_answer_is_a_problem(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and nothing listens
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        [(level, text)] = of(
            await findings(tmp_path, offline=False, COTERIE_ADDRESS=address), "server"
        )
    assert level is Level.PROBLEM
    assert f"no Temporal server answers at {address}" in text


def test_a_person_gets_a_table_and_a_program_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "--offline"]) == ExitCode.DONE
    assert capsys.readouterr().out.endswith("0 problems, 0 warnings\n")
    (tmp_path / "coterie.yml").write_text("worker: 5\n")
    assert main(["doctor", "--offline", "--json"]) == ExitCode.RUN_FAILED
    shown = json.loads(capsys.readouterr().out)
    assert {"topic", "level", "text", "fix"} == set(shown[0])
    assert "problem" in {one["level"] for one in shown}


def test_what_needs_an_extra_is_named_with_its_team(tmp_path: Path) -> None:
    text = (
        "tools: {it: {skill: %s}}\norchestration: {entry_team: a, teams: {a: {tasks: "
        "[{name: s, tool: it, arguments: '{{ context.given }}'}]}}}\n"
    )
    functions = {"news": "Web.fetch", "help": "Retriever.search", "again": "Web.search"}
    plans = {name: plan_of(text % function) for name, function in functions.items()}
    settings = load({"COTERIE_STORAGE": "s3://bucket"}, tmp_path)
    trusted = TrustedConfig(
        workspace=str(tmp_path),
        mcp_servers={"desk": McpServerSection(command=("desk",))},
        providers={
            "claude": ProviderSection(kind="anthropic", cloud="bedrock", region="us-east-1")
        },
    )
    needed = needed_extras(settings, trusted, plans)
    assert needed == {
        "web": "Web.fetch in the team news",
        "retrieval": "Retriever.search in the team help",
        "mcp": "`worker.mcp_servers`",
        "s3": "COTERIE_STORAGE",
        "bedrock": "the provider claude",
    }
    (finding,) = [
        one
        for one in extra_findings({"web": ("trafilatura",)}, needed)
        if one.level is Level.PROBLEM
    ]
    assert finding.text.endswith("; Web.fetch in the team news needs it")
    assert finding.fix == install_command("web")


def test_every_vendor_of_the_table_is_asked_at_its_own_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = VENDORS["openai"]._replace(url="https://api.toy.test")
    monkeypatch.setitem(VENDORS, "toy", toy)
    sections = {kind: ProviderSection(kind=kind) for kind in (*VENDORS, "scripted")}
    trusted = TrustedConfig(workspace=str(tmp_path), providers=sections)
    asked = addresses(trusted, sections)
    assert asked == {kind: vendor.url for kind, vendor in VENDORS.items()}


@pytest.mark.skipif(os.geteuid() != 0, reason="the tests do not run as root")
async def test_the_sandbox_is_tried_as_the_user_as_whom_commands_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[object] = []

    def found(path: str, user: object) -> str:
        tried.append(user)
        return ""

    monkeypatch.setattr(examination, "find_bubblewrap", found)
    os.chown(tmp_path, 65534, 65534)
    await findings(tmp_path, PATH=os.environ["PATH"])
    assert tried == [command_user(tmp_path, os.environ["PATH"])]
    assert tried != [None]
