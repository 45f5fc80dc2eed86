"""A worker that is killed while it tells people: another one tells them, under the same id."""

import signal
from pathlib import Path

from tests.activity.test_notices import documented
from tests.support.project import project, until
from tests.support.servers.receiver import receiver

TEAM = """
llm_config: {personas: {p: {prompts: {user: hello}}}}
orchestration:
  entry_team: first
  notify: ops
  teams:
    first: {tasks: [{name: sign, type: approval, prompt: "Go on?", deadline: 1h}]}
"""
SECRET = "0123456789-secret"


def test_a_killed_worker_s_notice_comes_again_with_its_id_and_no_secret_is_kept(
    tmp_path: Path,
) -> None:
    with receiver(0) as there:
        environment = {"OPS_URL": there.url, "OPS_SECRET": SECRET}
        with project(tmp_path / "shop", environment) as shop:
            (shop.folder / "team.yml").write_text(TEAM)
            ops = {"url_env": "OPS_URL", "secret_env": "OPS_SECRET", "timeout": 40}
            shop.configure(worker={"notify": {"ops": ops}})
            assert shop.coterie("server").returncode == 0
            worker = shop.begin("worker")
            started = shop.coterie("start", "team.yml", "--id", "told")
            assert started.returncode == 0, started.stderr
            until(lambda: there.deliveries, "the first attempt")
            worker.send_signal(signal.SIGKILL)
            worker.wait(30)
            shop.begin("worker")
            until(lambda: len(there.deliveries) == 2, "the second attempt")
            assert shop.coterie("approve", "told", "--by", "ann").returncode == 0
            assert shop.coterie("result", "told").returncode == 0
            log = shop.log("worker")
            history = shop.temporal("workflow", "show", "-w", "told", "-o", "json")
    first, second = there.deliveries
    seen: set[str] = set()
    accepted = documented()
    assert accepted(first.headers, first.body, SECRET, seen)
    assert not accepted(second.headers, second.body, SECRET, seen), "it is known by its id"
    assert accepted(second.headers, second.body, SECRET, set()), "signed at its own time"
    assert history.count('"name": "notify"') == 1, "one activity"
    for secret in (SECRET, "s3cret-path"):
        assert secret not in history
        assert secret not in log
