"""Nothing of ours on the caller's side: the plain `temporal` CLI and a running worker."""

import json
from pathlib import Path

from tests.support.project import project, until

CONTEXT = {"requirement": "The totals of the invoices are wrong.", "project": "."}


def test_the_temporal_cli_alone_starts_asks_approves_and_reads_the_result(tmp_path: Path) -> None:
    with project(tmp_path / "shop") as shop:
        assert shop.coterie("server").returncode == 0
        shop.begin("worker")
        given = json.dumps({"team": "development", "context": CONTEXT})
        shop.temporal(
            "workflow",
            "start",
            "--type",
            "TeamWorkflow",
            "--task-queue",
            "coterie",
            "--workflow-id",
            "by-hand",
            "--input",
            given,
        )

        def waiting() -> bool:
            try:
                answer = shop.temporal("workflow", "query", "-w", "by-hand", "--type", "pending")
            except AssertionError:
                return False  # a busy run answers a query later
            return "approval/approve_design#1" in answer

        until(waiting, "the approval")
        decision = json.dumps({"id": "approval/approve_design#1", "by": "ann", "comment": "Go."})
        shop.temporal(
            "workflow", "signal", "-w", "by-hand", "--name", "approve", "--input", decision
        )
        shown = shop.temporal("workflow", "result", "-w", "by-hand", "-o", "json")
        result = json.loads(shown)["result"]
        assert result["end"] == "completed"
        assert result["visits"]["correction"] == 1
        [taken] = result["decisions"]
        assert (taken["by"], taken["comment"], taken["how"]) == ("ann", "Go.", "signal")
