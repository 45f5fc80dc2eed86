"""The page of MCP tools, executed: its files, its commands, its output; and what may go wrong."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from coterie.cli import main
from coterie.documents.compilation import compile_target
from coterie.dsl.errors import InvalidDocument
from coterie.settings import LISTINGS_FILE, load
from tests.law.documents.pages import text
from tests.support.programs.script_server import forked

Ran = Callable[..., tuple[int, str, str]]


def start_forked(folder: Path, server: str, script: Path, *arguments: str) -> None:
    """Configure the server of a script, in a process that need not import MCP's library."""
    command = json.dumps(forked(script, *arguments))
    written = (folder / "coterie.yml").read_text()
    found = re.sub(
        rf"(    {server}:.*?command: )\[.*?\]", lambda at: at[1] + command, written, flags=re.DOTALL
    )
    assert found != written
    (folder / "coterie.yml").write_text(found)


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ran:
    """Runs a command in a folder with the files of the page."""
    blocks = re.findall(r"```yaml\n# (\S+)\n(.*?)```", text("mcp-tools.md"), re.DOTALL)
    assert tuple(name for name, _ in blocks) == (
        "coterie.yml",
        "team.yml",
        "notes.yml",
        "publish.yml",
    )
    for name, content in blocks:
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main([*arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_the_page_does_what_it_says(ran: Ran, tmp_path: Path) -> None:
    with pytest.raises(InvalidDocument) as caught:
        compile_target(load({}, tmp_path), "team.yml")
    assert [one.code for one in caught.value.problems] == ["E509"]
    (tmp_path / "mcp_server_time.py").write_text("raise SystemExit('from the workspace')")
    shown, _ = re.findall(r"```text\n(.*?)```", text("mcp-tools.md"), re.DOTALL)
    assert ran("tools", "refresh") == (0, shown, "")
    assert ran("validate", "team.yml")[0] == 0
    code, out, _ = ran("tools", "show", "clock", "--of", "team.yml", "--json")
    assert (code, json.loads(out)["effect"]) == (0, "read")
    given = '{"timezone": "UTC"}'
    code, out, _ = ran("tools", "call", "time/get_current_time", "--arguments", given)
    assert (code, json.loads(out)["timezone"]) == (0, "UTC")


def test_resources_and_prompts_are_listed_used_and_read_as_the_page_says(
    ran: Ran, tmp_path: Path
) -> None:
    page = text("mcp-tools.md")
    server, _ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "notes_server.py").write_text(server)
    (configured,) = re.findall(r"^    notes: .*\n", page, re.MULTILINE)
    (tmp_path / "coterie.yml").write_text(f"worker:\n  mcp_servers:\n{configured}")
    start_forked(tmp_path, "notes", tmp_path / "notes_server.py")
    _, shown = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    assert ran("tools", "refresh") == (0, shown, "")
    assert ran("validate", "notes.yml")[0] == 0
    given = '{"day": "monday"}'
    code, out, _ = ran("tools", "call", "notes/resource:day", "--arguments", given)
    assert (code, out.strip().strip('"')) == (0, "monday: rain")
    code, out, _ = ran("tools", "show", "notes_prompt_summary", "--of", "notes.yml", "--json")
    shown = json.loads(out)
    assert (code, shown["effect"], shown["labels"]) == (0, "read", ["untrusted", "egress"])


def test_a_tool_asks_as_the_page_says(ran: Ran, tmp_path: Path) -> None:
    page = text("mcp-tools.md")
    server, more = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    given, added = server.replace("server.run()", f"{more}\n\nserver.run()"), "+ publish"
    (tmp_path / "notes_server.py").write_text(given)
    (configured,) = re.findall(r"^    notes: .*\n", page, re.MULTILINE)
    (tmp_path / "coterie.yml").write_text(f"worker:\n  mcp_servers:\n{configured}")
    start_forked(tmp_path, "notes", tmp_path / "notes_server.py")
    assert added in ran("tools", "refresh")[1]
    assert ran("validate", "publish.yml")[0] == 0
    code, _, wrong = ran("tools", "call", "notes/publish", "--yes")
    assert "nobody can answer it here: Publish the notes?" in wrong, (code, wrong)


def test_a_refresh_shows_what_has_changed_and_another_command_needs_another_one(
    ran: Ran, tmp_path: Path
) -> None:
    old = {"name": "convert_time", "description": "Convert time"}
    tools = [old, {"name": "get_time"}]
    script = tmp_path / "time.py"
    script.write_text("import mcp_server_time\n\nmcp_server_time.main()\n")
    start_forked(tmp_path, "time", script, "--local-timezone=UTC")
    worker = tmp_path / "coterie.yml"
    more = "      tools:\n        got_time: { effect: read }\n"
    last = "        convert_time: { effect: once }\n"
    worker.write_text(worker.read_text().replace("      tools:\n", more).rstrip("\n") + f"\n{last}")
    server = {"configuration": "of an older command", "tools": tools}
    (tmp_path / LISTINGS_FILE).write_text(json.dumps({"servers": {"time": server}}))
    lines = ran("tools", "refresh")[1].splitlines()
    assert lines[:2] == ["time: 2 tools", "  ~ convert_time"]
    shown = 'description: "Convert time" -> "Convert time between timezones"'
    assert any(shown in line for line in lines)
    assert lines[-4:] == [
        "  + get_current_time",
        "  - get_time",
        "  `tools` of the worker's configuration has 'got_time', which matches no tool",
        "  `tools` of the worker's configuration has 'convert_time', which never counts: '*' comes "
        "first; write 'convert_time' before it",
    ]
    assert ran("validate", "team.yml")[0] == 0
    worker.write_text(worker.read_text().replace("UTC", "Asia/Tokyo"))
    code, out, _ = ran("validate", "team.yml")
    assert code != 0
    assert "its `command` or `url` has changed since somebody listed them [E509]" in out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "cannot be understood at its start"),
        ('{"version": 2}', "cannot be understood at version"),
        ('{"servers": {"time": {"tools": []}}}', "cannot be understood at servers.time"),
    ],
)
def test_a_broken_file_of_listings_is_named_with_its_fix(
    ran: Ran, tmp_path: Path, content: str, said: str
) -> None:
    (tmp_path / LISTINGS_FILE).write_text(content)
    code, _, err = ran("validate", "team.yml")
    assert code != 0
    assert said in err
    assert "write it again with `coterie tools refresh`" in err


def test_a_refresh_names_an_unknown_server_and_one_that_cannot_be_started(
    ran: Ran, tmp_path: Path
) -> None:
    code, _, err = ran("tools", "refresh", "tme")
    assert code != 0
    assert "unknown MCP server 'tme'; `worker.mcp_servers` has time. did you mean 'time'" in err
    (tmp_path / "coterie.yml").write_text(
        "worker: { mcp_servers: { time: { command: [nowhere] } } }"
    )
    code, out, _ = ran("tools", "refresh")
    assert code == 1
    assert "time: not listed: the MCP server 'time' cannot be reached: [Errno 2]" in out
    assert not (tmp_path / LISTINGS_FILE).exists()
