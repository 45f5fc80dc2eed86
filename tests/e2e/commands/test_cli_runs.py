"""A run from one command: begun, watched, decided from elsewhere, explained."""

import json
from pathlib import Path

import pytest

from tests.support.cli import asks, interrupt, sentence, together
from tests.support.project import Project

APPROVED = """
- approval: "review/*"
  decision: approve
  by: the-test
  comment: It reads well.
"""


def decisions(desk: Project, text: str) -> str:
    name = "decisions.yml"
    (desk.folder / name).write_text(text)
    return name


async def begin_article(desk: Project, id: str) -> None:
    """Start a run in another process and wait until it asks for its decision."""
    desk.begin("run", "article", "--set", "topic=rain", "--id", id)
    await asks(desk, id)


def test_a_run_is_reported_with_because_result_and_address(desk: Project) -> None:
    name = decisions(desk, APPROVED)
    done = desk.coterie("run", "article", "--set", "topic=rain", "--decisions", name)
    assert done.returncode == 0, done.stderr
    assert "writing#1 -> review, sets text" in done.stderr
    assert "because rule 1" not in done.stderr, "only with --verbose"
    assert "review/sign_off#1 approved by the-test" in done.stdout
    assert "It reads well." in done.stdout
    assert "2 model calls, 0 function calls, 37 tokens (30 in, 7 out)" in done.stdout
    assert f"http://127.0.0.1:{desk.server['ui_port']}/namespaces/default/workflows/article-" in (
        done.stdout
    )
    assert "review/sign_off#1 approved by the-test: It reads well." in done.stderr, "as it happens"


def test_a_written_rejection_is_taken_by_the_route(desk: Project) -> None:
    text = '- {approval: "review/sign_off#1", decision: reject, by: t, comment: Again.}' + APPROVED
    done = desk.coterie(
        "run", "article", "--set", "topic=rain", "--decisions", decisions(desk, text)
    )
    assert done.returncode == 0, done.stderr
    assert "✓ writing #2" in done.stdout
    assert "✓ review #2" in done.stdout


def test_two_people_approve_in_writing_what_one_of_them_filled_in(
    desk: Project, tmp_path: Path
) -> None:
    file = tmp_path / "form.yml"
    file.write_text(
        "orchestration: {entry_team: t, teams: {t: {tasks: [{name: sign, type: approval, "
        "prompt: Pay?, quorum: 2, approvers: [ann, bob], editable: true, show: {amount: null}, "
        "deadline: 1h}]}}}"
    )
    text = (
        "- {approval: t/sign#1, decision: approve, by: ann, payload: {amount: 7}}\n"
        "- {decision: approve, by: bob, comment: Fine.}\n"
    )
    done = desk.coterie("run", str(file), "--id", "form", "--decisions", decisions(desk, text))
    assert done.returncode == 0, done.stderr
    result = json.loads(desk.coterie("result", "form", "--json").stdout)
    assert result["output"]["sign"]["payload"] == {"amount": 7}
    assert result["decisions"][0]["by"] == "ann, bob"


def test_a_decisions_file_steers_the_run_before_it_decides(desk: Project, tmp_path: Path) -> None:
    file = tmp_path / "steered.yml"
    file.write_text("""
llm_config:
  default_provider: scripted
  providers: {scripted: {default_model: demo}}
  personas: {writer: {prompts: {user: "{{ context.mood | default('calm') }}"}}}
orchestration:
  entry_team: t
  teams:
    t:
      tasks:
        - {name: sign, type: approval, prompt: "{{ context.mood | default('calm') }}?"}
        - {name: ask, agent_type: generic_single_shot, persona_key: writer, on_failure: ask}
        - {name: last, type: approval, prompt: Go on?}
      routing: {default: null}
    other:
      tasks:
        - {name: note, type: set, values: {mood: "{{ context.mood | default('calm') }}"}}
""")
    text = """
- {approval: t/sign#1, decision: amend, by: ann, updates: {mood: glad}}
- {approval: t/sign#1, decision: redirect, by: ann, team: other, comment: Look there.}
- {approval: t/sign#1, decision: approve, by: ann}
- {approval: t/ask/failed#1, decision: retry, by: ann}
- {approval: "t/ask/failed#*", decision: skip, by: ann, value: {text: None.}}
- {approval: t/last#1, decision: skip, by: ann}
"""
    done = desk.coterie("run", str(file), "--id", "steered", "--decisions", decisions(desk, text))
    assert done.returncode == 0, done.stderr
    result = json.loads(desk.coterie("result", "steered", "--json").stdout)
    assert result["output"] == {"note": {"mood": "glad"}}
    verdicts = [(one["id"], one["verdict"]) for one in result["decisions"]]
    assert verdicts == [
        ("t/sign#1", "approved"),
        ("t/ask/failed#1", "retried"),
        ("t/ask/failed#2", "skipped"),
        ("t/last#1", "skipped"),
    ]


def test_a_failed_run_is_exit_code_one_with_its_reason(desk: Project) -> None:
    done = desk.coterie("run", "failing", "--set", "topic=rain")
    assert done.returncode == 1
    assert ": failed, because " in done.stdout
    assert "AnswerTruncated" in done.stdout


def test_a_file_outside_of_any_root_stands_alone(desk: Project, tmp_path: Path) -> None:
    file = tmp_path / "alone.yml"
    file.write_text(
        "orchestration: {entry_team: t, teams: {t: {tasks: "
        "[{name: mark, type: set, values: {said: '{{ context.a.b }}'}}]}}}"
    )
    (desk.folder / "context.yml").write_text("a: {b: from the file}\n")
    done = desk.coterie("run", str(file), "--context", "@context.yml", "--id", "alone")
    assert done.returncode == 0, done.stderr
    result = json.loads(desk.coterie("result", "alone", "--json").stdout)
    assert result["output"] == {"mark": {"said": "from the file"}}


def test_single_values_are_laid_over_the_context_and_keep_their_type(desk: Project) -> None:
    done = desk.coterie(
        "run",
        "chore",
        "--context",
        '{"word": "no", "n": {"a": 1}}',
        "--set",
        "word=yes",
        "--set",
        "n.b=[1, 2]",
        "--id",
        "typed",
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(desk.coterie("result", "typed", "--json").stdout)
    assert result["context"] == {"word": "yes", "n": {"a": 1, "b": [1, 2]}}
    assert result["output"]["mark"]["said"] == "yes"


async def test_an_approval_can_be_given_from_another_terminal(desk: Project) -> None:
    await begin_article(desk, "elsewhere")
    listed, status = together(desk, ("pending",), ("status", "elsewhere", "--trail"))
    assert "elsewhere  review/sign_off#1" in listed.stdout
    assert "Publish It rains." in listed.stdout
    assert "verdict: good" in listed.stdout
    assert "elsewhere: waiting" in status.stdout
    assert "waits    for a person: review/sign_off#1" in status.stdout
    assert "because rule 1" in status.stdout
    done = desk.coterie("approve", "elsewhere", "--by", "ann", "--comment", "Good.")
    assert done.stdout == "review/sign_off#1 approved by ann: Good.\n"
    result = desk.coterie("result", "elsewhere")
    assert result.returncode == 0
    assert "review/sign_off#1 approved by ann" in result.stdout
    assert "elsewhere: completed" in desk.coterie("status", "elsewhere").stdout


async def test_refused_decision_names_what_the_run_waits_for(desk: Project) -> None:
    await begin_article(desk, "refusing")
    wrong = desk.coterie("approve", "refusing", "review/sign_off#7")
    assert wrong.returncode == 1
    assert "nothing waits under 'review/sign_off#7'; pending: review/sign_off#1" in sentence(wrong)
    assert desk.coterie("approve", "refusing").returncode == 0
    assert desk.coterie("result", "refusing").returncode == 0
    late = desk.coterie("reject", "refusing")
    assert late.returncode == 1
    assert "has already ended; see `coterie result" in sentence(late)


def test_an_unknown_run_is_named(desk: Project) -> None:
    verbs = ("status", "pending", "approve", "result", "replay")
    for done in together(desk, *((verb, "no-such-run") for verb in verbs)):
        assert done.returncode == 2
        assert "there is no run 'no-such-run'" in sentence(done)


def test_an_id_names_one_run_for_ever(desk: Project) -> None:
    assert desk.coterie("run", "chore", "--id", "once").returncode == 0
    again = desk.coterie("run", "chore", "--id", "once")
    assert again.returncode == 2
    assert "'once' was already started here" in sentence(again)
    started = desk.coterie("start", "chore", "--id", "once")
    assert started.returncode == 2
    assert "run 'once' already exists" in sentence(started)


def test_a_run_that_no_worker_serves_says_so(
    desk: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A queue of its own: the server remembers for minutes who has asked for work in another.
    monkeypatch.setitem(desk.environment, "COTERIE_TASK_QUEUE", "nobody")
    started = desk.coterie("start", "chore", "--id", "unserved")
    assert started.returncode == 0
    assert started.stdout == "unserved\n"
    assert "no worker serves the task queue 'nobody' yet: start `coterie worker`" in started.stderr
    *refused, listed = together(
        desk, ("status", "unserved"), ("approve", "unserved", "x"), ("pending",)
    )
    for done in refused:
        assert done.returncode == 2
        assert "no worker answers for run 'unserved'" in sentence(done)
    assert listed.returncode == 0
    assert "unserved" in listed.stderr
    assert desk.coterie("start", "chore", "--id", "unwanted").returncode == 0
    for done in together(
        desk,
        ("pause", "unserved", "--timeout", "5s"),
        ("resume", "unserved", "--timeout", "5s"),
        ("result", "unserved", "--timeout", "5s"),
        ("cancel", "unwanted", "--timeout", "5s"),
    ):
        assert (done.returncode, done.stdout) == (124, "")
        assert "no worker serves run un" in done.stderr
    for call, code in (("result", 124), ("resume", 0), ("cancel", 0)):
        run = "unwanted" if call == "cancel" else "unserved"
        done = desk.coterie(call, run, "--no-wait")
        assert done.returncode == code, done.stderr
        assert done.stdout.startswith(f"{run}: {call} requested by ") is not bool(code)
    worker = desk.begin("worker")
    assert desk.coterie("result", "unserved").returncode == 0
    worker.terminate()
    assert worker.wait(60) == 0, desk.log("worker")


async def test_without_a_worker_the_list_and_a_request_are_reported_from_the_history(
    desk: Project,
) -> None:
    process = desk.begin("run", "article", "--set", "topic=rain", "--id", "unattended")
    await asks(desk, "unattended")
    interrupt(process)
    listed, pending, shown, runs = together(
        desk,
        ("pending", "unattended", "--json"),
        ("pending", "unattended"),
        ("show", "unattended"),
        ("runs", "--state", "no_worker", "--team", "article", "--json"),
    )
    assert [one.stderr for one in (listed, pending, shown, runs) if one.returncode] == []
    [request] = json.loads(listed.stdout)
    assert (request["id"], request["served"]) == ("review/sign_off#1", False)
    for result in (pending.stdout, shown.stdout):
        assert "review/sign_off#1" in result
        assert "no worker serves this run" in result
    assert "unattended" in [run["run"] for run in json.loads(runs.stdout)]


async def test_one_command_decides_many_requests_each_by_its_own_digest(
    desk: Project, tmp_path: Path
) -> None:
    file = tmp_path / "many.yml"
    file.write_text("""
orchestration:
  entry_team: pay
  teams:
    pay:
      tasks:
        - name: each
          type: loop
          iterate_on: [1, 2, 3, 4]
          loop_variable: number
          concurrency: 4
          body:
            - {name: sign, type: approval, prompt: "Pay {{ number }}?", show: "{{ number }}",
                approvers: [ann], deadline: 1h, on_failure: continue}
""")
    desk.begin("run", str(file), "--id", "many")
    await asks(desk, "many", "pay/each/3/sign#1")
    shown = {
        one["id"]: one["digest"]
        for one in json.loads(desk.coterie("pending", "many", "--json").stdout)
    }
    assert len(set(shown.values())) == 4
    wrong = desk.coterie("approve", "many", "--all", "--digest", "x")
    assert (wrong.returncode, "belongs to one request" in wrong.stderr) == (2, True)
    none = desk.coterie("approve", "many", "other/*", "--by", "ann")
    assert (none.returncode, "waiting: pay/each/0/sign#1" in none.stderr) == (1, True)
    one = desk.coterie("reject", "many", "pay/each/2/*", "--by", "ann")
    assert (one.returncode, one.stdout) == (0, "pay/each/2/sign#1 rejected by ann\n")
    refused = desk.coterie("approve", "many", "--all", "--by", "ben")
    assert (refused.returncode, refused.stdout) == (1, "")
    done = desk.coterie("approve", "many", "--all", "--by", "ann", "--comment", "Seen.")
    assert done.returncode == 0, done.stderr
    assert {"  > Pay 1?", "  > Pay 4?"} <= set(done.stderr.splitlines())
    lines = [f"pay/each/{n}/sign#1 approved by ann: Seen." for n in (0, 1, 3)]
    assert done.stdout.splitlines() == lines
    result = json.loads(desk.coterie("result", "many", "--json").stdout)
    assert {one["id"]: one["digest"] for one in result["decisions"]} == shown
