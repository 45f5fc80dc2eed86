"""What people say in a case: edits, several approvers, failed tasks; and what crashes cannot do."""

from collections.abc import Iterator
from pathlib import Path

from temporalio.client import Client

from coterie.testing.files.case_reader import Case
from coterie.testing.files.case_writer import yaml_of
from coterie.testing.recording.recorder import recorded, recorded_run
from tests.support.team_tests import failures_text, read, results, written

TEAM = """
llm_config:
  default_provider: anthropic
  default_model: claude-sonnet-5-5
  personas: { writer: { prompts: { user: "Write." } } }
orchestration:
  entry_team: pay
  teams:
    pay:
      tasks:
        - { name: sign, type: approval, prompt: Pay?, quorum: 2, approvers: [ann, bob, cyd],
            deadline: 1d, editable: true, show: { amount: null } }
        - { name: write, agent_type: generic_single_shot, persona_key: writer, on_failure: ask }
        - { name: last, type: approval, prompt: Done?, deadline: 1d }
        - { name: nap, type: wait, duration: 1m }
        - { name: paid, type: set, values: { all: "{{ tasks.sign.data.payload.amount }}" } }
      routing:
        default: null
        rules:
          - condition: { task: paid, status: success }
            next_team: null
            context_updates: { paid: "{{ tasks.paid.data.all }}", text: "{{ tasks.write.data }}" }
"""
TESTS = """
answers:
  - { task: write, error: { message: down } }
  - { task: write, visit: 2, answer: Thanks. }
cases:
  - name: a form is filled in, and whoever approves is counted from then on
    decisions:
      - { approval: pay/sign#1, decision: approve, by: ann, payload: { amount: 5 } }
      - { approval: pay/sign#1, decision: approve, by: ann, refused: true }
      - { approval: pay/sign#1, decision: approve, by: bob, after: 1h, payload: { amount: 7 } }
      - { approval: "pay/si*", decision: approve, by: cyd, after: 2h }
      - { approval: pay/write/failed#1, decision: retry, by: ann }
      - { approval: pay/last#1, decision: approve }
    expect:
      context: { paid: 7, text: { equals: { text: Thanks. } } }
      trail: [{ event: approval, status: approved, because: { contains: "by bob, cyd" } }]
      duration: { in_range: [2h, 3h] }
  - name: a failed task and an approval are skipped
    decisions:
      - { approval: pay/sign#1, decision: approve, by: ann, payload: { amount: 5 } }
      - { approval: pay/sign#1, decision: approve, by: cyd }
      - { approval: "*/failed#1", decision: skip, by: ann, value: { text: None. } }
      - { approval: pay/last#1, decision: skip, by: ann }
    expect:
      context: { paid: 5, text: { equals: { text: None. } } }
  - name: a failed task is let go
    decisions:
      - { approval: "*/failed#1", decision: reject, by: ann, comment: "No.", after: 5m }
      - { decision: approve, by: ann, payload: { amount: 5 } }
      - { decision: approve, by: cyd }
    expect:
      end: failed
      trail: [{ step: write, status: failure }, { step: last, status: skipped }]
  - name: one is too few
    decisions: [{ decision: approve, by: ann, payload: { amount: 5 } }]
    expect:
      end: failed
      trail: [{ event: approval, because: { contains: nobody decided in time } }]
"""


async def test_each_person_is_heard_once_with_what_they_changed_and_so_it_is_recorded(
    skipping_client: Client, tmp_path: Path
) -> None:
    file = written(tmp_path, TEAM, TESTS)
    found = await results(skipping_client, file)
    assert failures_text(found) == ""
    for case, result in zip(file.cases, found, strict=True):
        run = await recorded_run(skipping_client, result.run)
        document = recorded(run, team="made.yml", workspace=None)
        (tmp_path / "again.test.yml").write_text(yaml_of(document, "Recorded."))
        again = read(tmp_path / "again.test.yml")
        taken = sorted(_told_of(again.cases[0]))
        assert taken == sorted(_told_of(case)), case.name
        assert failures_text(await results(skipping_client, again)) == ""


def _told_of(case: Case) -> Iterator[tuple[object, ...]]:
    """Who said what in a case, and in which minute; what the run is to refuse is not recorded."""
    for one in case.document.decisions:
        if not one.refused:
            minute = round(one.after / 60)  # a run's clock also tells the machine's own slowness
            yield one.decision, one.by, one.comment, str(one.payload), str(one.value), minute


BUDGET = """
llm_config:
  default_provider: anthropic
  default_model: claude-sonnet-5-5
  personas: { writer: { prompts: { user: "Write." } } }
orchestration:
  entry_team: draft
  no_progress: { ask: { deadline: 1d } }
  budgets: { model_calls: { limit: 1, on_exceeded: ask } }
  teams:
    draft:
      tasks: [{ name: write, agent_type: generic_single_shot, persona_key: writer }]
      routing:
        default: draft
        rules:
          - condition: { task: write, output_field: text, operator: equals, value: End. }
            next_team: null
"""
EXTENDED = """
answers: [{ task: write, answer: Go on. }, { task: write, visit: 4, answer: End. }]
cases:
  - name: extended by what the payload says
    decisions:
      - { approval: draft/no_progress#1, decision: approve }
      - { approval: "draft/no_progress#*", decision: approve }
      - approval: draft/budget/run.model_calls#1
        decision: approve
        payload: { extend_by: 3 }
    expect: { model_calls: 4 }
"""


async def test_a_budget_is_extended_by_what_the_payload_says(
    skipping_client: Client, tmp_path: Path
) -> None:
    assert failures_text(await results(skipping_client, written(tmp_path, BUDGET, EXTENDED))) == ""


STEERED = """
orchestration:
  entry_team: draft
  teams:
    draft:
      tasks:
        - { name: rest, type: wait, duration: 1h }
        - { name: late, type: wait, duration: 9h }
      routing: { rules: [{ condition: all_success, next_team: review }], default: null }
    review: { tasks: [{ name: read, type: set, values: { ok: true } }] }
    archive:
      tasks: [{ name: file, type: approval, prompt: Keep?, approvers: [ann] }]
"""
STEERING = """
cases:
  - name: a person sends the run elsewhere and skips what is still to come
    redirects:
      - { team: archive, by: ops, why: It is old., during: draft/rest, after: 10m }
    skips:
      - { task: draft/late, by: ops, during: draft/rest, after: 20m, value: { ok: true } }
      - { task: archive/file, by: bob, during: draft/rest, after: 30m, refused: true }
    decisions: [{ approval: archive/file#1, decision: approve, by: ann }]
    expect:
      path: [draft, archive]
      trail: [{ event: route, team: draft, next_team: archive, because: { contains: ops } }]
      duration: { in_range: [1h, 2h] }
"""


async def test_a_redirect_and_a_skip_are_tested_and_recorded(
    skipping_client: Client, tmp_path: Path
) -> None:
    [result] = await results(skipping_client, written(tmp_path, STEERED, STEERING))
    assert failures_text([result]) == ""
    run = await recorded_run(skipping_client, result.run)
    document = recorded(run, team="made.yml", workspace=None)
    (tmp_path / "again.test.yml").write_text(yaml_of(document, "Recorded."))
    again = read(tmp_path / "again.test.yml")
    [redirect], [skip] = again.cases[0].document.redirects, again.cases[0].document.skips
    assert (redirect.team, redirect.by, round(redirect.after / 60)) == ("archive", "ops", 10)
    assert (skip.task, skip.value, round(skip.after / 60)) == ("draft/late", {"ok": True}, 20)
    assert failures_text(await results(skipping_client, again)) == ""


async def test_a_redirect_that_is_refused_fails_its_case_with_the_refusal(
    skipping_client: Client, tmp_path: Path
) -> None:
    cases = """
cases:
  - name: taken although it must be refused
    redirects: [{ team: archive, during: draft/rest, refused: true }]
    decisions: [{ decision: approve, by: ann }]
  - name: never sent
    redirects: [{ team: archive, during: archive/file }]
"""
    text = failures_text(await results(skipping_client, written(tmp_path, STEERED, cases)))
    assert "the redirect to archive: the run must refuse it, and accepted it" in text
    assert "the run was never redirected to archive" in text


CRASHES = """
orchestration:
  entry_team: a
  teams:
    a:
      tasks:
        - { name: w, type: wait, duration: 5m }
        - { name: e, type: set, values: { x: 1 } }
        - { name: s, type: set, when: { path: context.no, exists: true }, values: { x: 1 } }
"""
CRASHED = """
cases:
  - { name: after, crash_after: [a/w, a/w#2] }
  - { name: during, crash_during: [a/w, a/e, a/s] }
"""


async def test_a_crash_that_cannot_come_is_reported_as_it_is(
    skipping_client: Client, tmp_path: Path
) -> None:
    found = await results(skipping_client, written(tmp_path, CRASHES, CRASHED))
    assert [[one.message for one in case.differences] for case in found] == [
        [
            "the run ended before the worker could be killed after a/w; nothing that it did "
            "after that waits",
            "the worker was never killed: a/w did not end for the 2. time",
        ],
        [
            "the worker was never killed: a/e ended without any wait or call",
            "the worker was never killed: a/s was not in progress",
        ],
    ]
