"""A run is seen by whoever asks the command line: where it is, and why it went where it went."""

import json

from tests.support.cli import asks, sentence, terminal
from tests.support.project import Project, until


def test_a_run_that_ended_tells_why_when_no_worker_is_left(desk: Project) -> None:
    assert desk.coterie("run", "chore", "--id", "explained").returncode == 0
    short = desk.coterie("why", "explained")
    assert short.returncode == 0, short.stderr
    assert "only#1 -> the end, because no team follows (no routing)" in short.stdout
    assert "coterie why explained 'only#1'" in short.stdout
    whole = desk.coterie("why", "explained", "only#1")
    assert "started at" in whole.stdout
    assert "only#1/mark: success" in whole.stdout
    report = json.loads(desk.coterie("why", "explained", "only", "--json").stdout)
    assert [visit["team"] for visit in report["visits"]] == ["only"]
    wrong = desk.coterie("why", "explained", "onyl#1")
    assert wrong.returncode == 2
    assert wrong.stderr == "coterie: run 'explained' has no visit 'onyl#1'; it has: only#1\n"


async def test_a_step_is_shown_with_its_prompts_attempts_and_cost(desk: Project) -> None:
    desk.begin("run", "article", "--set", "topic=rain", "--id", "shown")
    await asks(desk, "shown")
    assert desk.coterie("reject", "shown", "--by", "ann").returncode == 0
    await asks(desk, "shown", "review/sign_off#2")
    second = desk.coterie("show", "shown", "writing/draft#2")
    assert second.returncode == 0, second.stderr
    assert second.stdout.startswith("shown  writing/draft#2\n")
    assert second.stdout.count("writing/draft: model turn") == 1
    for part in ("  attempts   1", "  prompt:\n    ", "  answer:\n    ", "  used       "):
        assert part in second.stdout
    both = json.loads(desk.coterie("show", "shown", "writing/draft", "--json").stdout)
    assert [call["visit"] for call in both] == [1, 2]
    assert "rain" in both[0]["prompt"]
    none = desk.coterie("show", "shown", "writing/draft#3")
    assert none.returncode != 0
    assert "writing/draft#3" in sentence(none)
    assert desk.coterie("approve", "shown", "--by", "ben").returncode == 0
    assert desk.coterie("result", "shown").returncode == 0


async def test_watch_shows_the_run_of_another_process_and_leaves_it_alone(desk: Project) -> None:
    desk.begin("run", "article", "--set", "topic=rain", "--id", "watched")
    await asks(desk, "watched")
    with terminal(desk, "watch", "watched") as screen:
        screen.wait_for("may decide: ")
        screen.wait_for("coterie approve watched 'review/sign_off#1'")
        assert "✓ draft" in screen.shown
        assert desk.coterie("pause", "watched", "--by", "ann", "--why", "lunch").returncode == 0
        screen.wait_for("paused by ann: lunch")
        assert desk.coterie("resume", "watched").returncode == 0
        screen.press_ctrl_c()
        screen.wait_for("the run continues; watch it again: coterie watch watched")
        assert screen.ended() == 130, screen.shown[-2000:]
    assert desk.coterie("reject", "watched", "--by", "ann").returncode == 0
    await asks(desk, "watched", "review/sign_off#2")
    plain = desk.begin("watch", "watched")
    until(lambda: "waits for a person: review/sign_off#2" in desk.log("watch"), "the request")
    assert desk.coterie("approve", "watched", "--by", "ben").returncode == 0
    assert plain.wait(timeout=60) == 0
    output = desk.log("watch")
    assert "review#1 (failed) -> writing" in output
    assert output.count("review/sign_off#2 approved by ben") == 2  # then, and at the end
    assert "watched: completed" in output
    again = desk.coterie("watch", "watched", "--verbose")
    assert again.returncode == 0
    assert "writing#1 starts, because the run began" in again.stdout
    assert "watched: completed" in again.stdout


def test_a_run_that_failed_is_watched_to_its_reason(desk: Project) -> None:
    assert (
        desk.coterie("run", "failing", "--set", "topic=rain", "--id", "watched-failing").returncode
        == 1
    )
    watched = desk.coterie("watch", "watched-failing", "--verbose")
    assert watched.returncode == 1
    assert "the run ends at only#1 with TeamFailed, because task 'cut'" in watched.stdout
    assert "watched-failing: failed, because " in watched.stdout


def test_watch_refuses_what_is_not_a_run(desk: Project) -> None:
    assert "there is no run 'nobody'" in sentence(desk.coterie("watch", "nobody"))
    desk.temporal(
        "workflow", "start", "--type", "Other", "--task-queue", "other", "--workflow-id", "other"
    )
    watched = desk.coterie("watch", "other")
    assert "'other' is not a run of a team, but a workflow 'Other'" in sentence(watched)
    desk.temporal("workflow", "terminate", "--workflow-id", "other", "--reason", "test")


async def test_a_watch_outlasts_the_death_of_server_and_worker(quiet_desk: Project) -> None:
    desk = quiet_desk
    served = desk.begin("run", "article", "--set", "topic=rain", "--id", "outlasted")
    await asks(desk, "outlasted")
    watch = desk.begin("watch", "outlasted")
    until(lambda: "waits for a person" in desk.log("watch"), "the request")
    served.kill()
    desk.kill_server()
    desk.begin("run", "--resume", "outlasted")
    await asks(desk, "outlasted")
    assert watch.poll() is None, desk.log("watch")
    assert desk.coterie("approve", "outlasted", "--by", "ann").returncode == 0
    assert watch.wait(timeout=60) == 0
    assert "outlasted: completed" in desk.log("watch")
