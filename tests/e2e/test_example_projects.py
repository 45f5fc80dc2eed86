"""An example project runs as its README says, with its real MCP server, and becomes a test."""

from pathlib import Path

from tests.support.places import ROOT
from tests.support.project import project

QUESTION = "May I visit the lighthouse keeper, and then sleep on the island in December?"


def test_the_research_desk_asks_its_server_and_is_recorded_as_a_test(tmp_path: Path) -> None:
    with project(tmp_path / "desk", sample=ROOT / "examples" / "research_desk") as desk:
        listed = desk.coterie("tools", "refresh")
        assert listed.stdout.splitlines() == ["library: 2 tools, unchanged"]
        ran = desk.coterie("run", "research.yml", "--id", "one", "--set", f"question={QUESTION}")
        assert ran.returncode == 0, ran.stderr
        assert "closed in December [island]" in ran.stdout
        (desk.folder / "research.test.yml").unlink()
        recorded = desk.coterie("record", "one", "-o", "research.test.yml")
        assert recorded.returncode == 0, recorded.stderr
        tested = desk.coterie("test", "research.test.yml")
        assert tested.returncode == 0, tested.stdout + tested.stderr
