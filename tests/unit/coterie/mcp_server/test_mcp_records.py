"""Which runs MCP clients reach: those that one of them started in this project."""

from pathlib import Path

import pytest

from coterie.documents.worker_trust import TrustedConfig
from coterie.dsl.model.plan import Plan
from coterie.failures import CommandError
from coterie.runs.records import kept, mcp_record, mcp_records, new_record
from coterie.settings import load

PLAN = Plan(name="p", entry_team="a", teams={})


def test_clients_reach_only_runs_that_clients_started(tmp_path: Path) -> None:
    settings = load({}, tmp_path)
    trusted = TrustedConfig(workspace=str(tmp_path))
    for id, tool in (("ours", "review"), ("a person's", ""), ("another", "review")):
        with kept(settings, new_record(settings, id, PLAN, trusted, {}, mcp_tool=tool)):
            pass
    (tmp_path / ".coterie" / "runs" / "damaged.json").write_text("{")
    assert {record.id for record in mcp_records(settings)} == {"ours", "another"}
    ours = mcp_record(settings, "ours")
    assert ours is not None
    assert ours.id == "ours"
    for id in ("a person's", "nobody's", "../ours", "\x00", "%" * 200):
        assert mcp_record(settings, id) is None
    with pytest.raises(CommandError, match="is damaged"):
        mcp_record(settings, "damaged")


def test_a_run_that_did_not_start_leaves_no_record(tmp_path: Path) -> None:
    settings = load({}, tmp_path)
    record = new_record(settings, "r", PLAN, TrustedConfig(workspace="/"), {}, mcp_tool="review")
    with pytest.raises(CommandError), kept(settings, record):
        raise CommandError("no server")
    assert mcp_records(settings) == []
