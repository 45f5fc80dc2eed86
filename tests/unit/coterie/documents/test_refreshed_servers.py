"""One server or tool that is broken does not keep the others from being recorded."""

import json
import sys
from pathlib import Path

import pytest

from coterie.cli import main
from coterie.settings import LISTINGS_FILE
from tests.support.servers.mcp_tools import HOSTILE

SERVERS = {
    "absent": ["/nonexistent/server"],
    "dead": [sys.executable, "-c", "print('no protocol')"],
    "malformed": [sys.executable, "-P", str(HOSTILE), "malformed"],
    "sound": [sys.executable, "-P", str(HOSTILE), "half"],
}


def write_config(folder: Path, *names: str) -> None:
    servers = {name: {"command": SERVERS[name]} for name in names}
    (folder / "coterie.yml").write_text(json.dumps({"worker": {"mcp_servers": servers}}))


def recorded(folder: Path) -> dict[str, list[str]]:
    listed = json.loads((folder / LISTINGS_FILE).read_text())["servers"]
    return {name: [tool["name"] for tool in one["tools"]] for name, one in listed.items()}


def test_refresh_reports_per_server_and_records_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_config(tmp_path, *SERVERS)
    assert main(["tools", "refresh"]) == 1
    out = capsys.readouterr().out
    first = [line for line in out.splitlines() if not line.startswith(" ")]
    assert [line.partition(":")[0] for line in first] == [*SERVERS]
    assert "absent: not listed: the MCP server 'absent' cannot be reached" in out
    assert "  left out: schema-without-type: it is malformed at inputSchema.type" in out
    assert "  left out: two\\u000alines: " in out
    names = recorded(tmp_path)
    assert names["malformed"] == ["good", "last"]
    assert "good" in names["sound"]
    assert names.keys() == {"malformed", "sound"}

    assert main(["tools", "refresh", "--json", "absent"]) == 1
    (answer,) = json.loads(capsys.readouterr().out)
    assert "cannot be reached" in answer["failure"]
    assert recorded(tmp_path) == names


def test_a_server_that_fails_keeps_what_was_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_config(tmp_path, "malformed")
    main(["tools", "refresh"])
    command = {"command": ["/nonexistent/server"]}
    config = {"worker": {"mcp_servers": {"malformed": command}}}
    (tmp_path / "coterie.yml").write_text(json.dumps(config))
    capsys.readouterr()
    assert main(["tools", "refresh"]) == 1
    assert "its recorded tools stay" in capsys.readouterr().out
    assert recorded(tmp_path) == {"malformed": ["good", "last"]}
