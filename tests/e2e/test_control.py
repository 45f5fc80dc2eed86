"""A run is held, amended and let go on from the command line, while another process serves it."""

from pathlib import Path

from tests.support.project import project, until

TEAM = """
llm_config: {personas: {p: {prompts: {user: hello}}}}
orchestration:
  entry_team: first
  teams:
    first:
      tasks: [{name: sign, type: approval, prompt: "Go on?", deadline: 1h}]
      routing: {rules: [{condition: all_success, next_team: second}], default: null}
    second:
      tasks: [{name: say, type: set, values: {said: "{{ context.word }}"}}]
"""


def test_pause_amend_and_resume(tmp_path: Path) -> None:
    with project(tmp_path / "shop") as shop:
        (shop.folder / "team.yml").write_text(TEAM)
        assert shop.coterie("server").returncode == 0
        shop.begin("worker")
        started = shop.coterie("start", "team.yml", "--id", "held", "--set", "word=old")
        assert started.returncode == 0, started.stderr
        until(lambda: "first/sign#1" in shop.coterie("pending", "held").stdout, "the approval")
        assert shop.coterie("pause", "held", "--by", "ann", "--why", "lunch").returncode == 0
        assert shop.coterie("approve", "held", "--by", "ben").returncode == 0
        until(lambda: "paused" in shop.coterie("status", "held", "--json").stdout, "the pause")
        wrong = shop.coterie("amend", "held", "--set", "word.deeper=1")
        assert wrong.returncode == 1
        assert "cannot be set" in wrong.stderr
        done = shop.coterie("amend", "held", "--set", "word=new", "--by", "ann")
        assert done.returncode == 0, done.stderr
        assert shop.coterie("resume", "held", "--by", "ann").returncode == 0
        result = shop.coterie("result", "held", "--json")
        assert '"said": "new"' in result.stdout
