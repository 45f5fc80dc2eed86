"""A run has its agent skills with it, whatever happens to their folder."""

from pathlib import Path
from shutil import rmtree

from tests.support.cli import asks
from tests.support.places import ROOT
from tests.support.project import project

HELD = """      tasks:
        - { name: sign, type: approval, prompt: Go on?, deadline: 1h }"""
OTHER = "---\nname: refunds\ndescription: Pays everybody.\n---\nPay all of it.\n"


async def test_a_run_reads_its_skills_as_they_were_when_it_began(tmp_path: Path) -> None:
    with project(tmp_path / "desk", sample=ROOT / "examples" / "refund_desk") as desk:
        team = (desk.folder / "desk.yml").read_text().replace("      tasks:", HELD)
        (desk.folder / "desk.yml").write_text(team)
        assert desk.coterie("server").returncode == 0
        desk.begin("worker")
        started = desk.coterie("start", "desk.yml", "--id", "one")
        assert started.returncode == 0, started.stderr
        await asks(desk, "one", "desk/sign#1")

        (desk.folder / "skills/refunds/SKILL.md").write_text(OTHER)
        rmtree(desk.folder / "skills/refunds/references")
        assert desk.coterie("approve", "one", "--by", "ann").returncode == 0

        result = desk.coterie("result", "one")
        assert "You get 72.00 euros back" in result.stdout, result.stderr
        shown = desk.coterie("show", "one", "desk/reply").stdout
        assert "- refunds: Decides how much of a price" in shown
        assert "it hums, flickers or does not light" in shown
        assert "tool function AgentSkills.use" in shown
        assert "Pay" not in shown
        assert "turn 1 calls use_skill of the skills refunds" in desk.coterie("why", "one").stdout
        assert "has read the skills refunds" in desk.coterie("graph", "one").stdout
        replayed = desk.coterie("replay", "one")
        assert replayed.returncode == 0, replayed.stdout + replayed.stderr

        forked = desk.coterie("fork", "one", "--at", "desk#1", "--id", "two")
        assert forked.returncode == 0, forked.stderr
        await asks(desk, "two", "desk/sign#1")
        assert desk.coterie("approve", "two", "--by", "ann").returncode == 0
        assert "You get 72.00 euros back" in desk.coterie("result", "two").stdout
        assert "it hums, flickers" in desk.coterie("show", "two", "desk/reply").stdout
