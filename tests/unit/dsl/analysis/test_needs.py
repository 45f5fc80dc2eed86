"""A start gives what every run reads; what only some runs read refuses no start."""

import asyncio
from pathlib import Path

import pytest

from coterie.activities.contracts import CompileRequest
from coterie.cli import main
from coterie.documents.worker_trust import TrustedConfig
from coterie.dsl.analysis.findings import with_needs
from coterie.dsl.errors import RunRefused
from coterie.settings import load
from coterie.worker.compile_activity import CompileActivities
from coterie.workflows.core.state import RunState
from coterie.workflows.handlers.start_checks import begin
from tests.unit.dsl.analysis.documents import compiled

NOTE = "{ name: note, type: set, values: { n: '{{ context.order.id }}' } }"
PLAIN = f"a:\n  tasks: [{NOTE}]\n"
BOTH = f"""
a:
  tasks: [{NOTE}]
  routing: {{ rules: [{{ condition: all_success, next_team: b }}], default: c }}
b:
  tasks: [{{ name: say, type: set, values: {{ n: '{{{{ context.topic }}}}' }} }}]
c:
  tasks: [{{ name: help, type: set, values: {{ n: '{{{{ context.helper }}}}' }} }}]
"""


def needs(teams: str) -> dict[str, str]:
    return with_needs(compiled(teams)).plan.needs


def test_input_that_every_run_reads_is_needed_with_its_first_reader() -> None:
    assert needs(BOTH) == {"order.id": "a/note", "topic": "b/say"}


def test_a_path_within_one_that_is_needed_is_not_named_as_well() -> None:
    inside = "{ name: in, type: set, values: { n: '{{ context.order.id.local }}' } }"
    beside = "{ name: by, type: set, values: { n: '{{ context.ordered }}' } }"
    assert needs(f"a:\n  tasks: [{inside}, {NOTE}, {beside}]\n") == {
        "order.id": "a/note",
        "ordered": "a/by",
    }


@pytest.mark.parametrize(
    "task",
    [
        NOTE.replace("context.order.id", "context.order.id | default(1)"),
        NOTE.replace("type:", "when: { context_field: full, operator: equals, value: 1 }, type:"),
        NOTE.replace("type:", "on_failure: continue, type:"),
        "{ name: b, branches: [{ condition: '{{ 1 == 2 }}', steps: [NOTE] }] }",
        "{ name: t, type: try, steps: [NOTE], catch: [{ steps: [] }] }",
        "{ name: l, iterate_on: '{{ [] }}', loop_variable: i, body: [NOTE] }",
        "{ name: p, branches: { x: [NOTE], y: [{ name: z, type: set, values: {} }] }, join: any }",
        "{ name: r, type: return, value: 1 }, NOTE",
    ],
)
def test_input_that_only_some_runs_read_is_not_needed(task: str) -> None:
    assert needs(f"a:\n  tasks: [{task.replace('NOTE', NOTE)}]\n") == {}


@pytest.mark.parametrize(
    "task",
    [
        "{ name: l, iterate_on: [1], loop_variable: i, body: [NOTE] }",
        "{ name: l, until: '{{ 1 == 1 }}', max_iterations: 2, body: [NOTE] }",
        "{ name: p, branches: { x: [NOTE], y: [{ name: z, type: set, values: {} }] }, join: all }",
        "{ name: t, type: try, steps: [{ name: f, type: wait, duration: 1 }], finally: [NOTE],"
        " catch: [] }",
        "{ name: c, team: b }",
    ],
)
def test_input_that_every_run_reads_in_a_block_is_needed(task: str) -> None:
    called = f"b:\n  tasks: [{NOTE}]\n" if "team: b" in task else ""
    tasks = task.replace("NOTE", NOTE)
    assert list(needs(f"a:\n  tasks: [{tasks}]\n{called}")) == ["order.id"]


RETURN = "{ name: r, type: return, value: 1 }"
WHEN = "when: { context_field: full, operator: equals, value: 1 }"


@pytest.mark.parametrize(
    ("task", "goes_on"),
    [
        (f"{RETURN[:-1]}, {WHEN} }}", False),
        (f"{{ name: s, type: set, values: {{ a: 1 }}, {WHEN} }}", True),
        ("{ name: f, type: fail, message: no, on_failure: continue }", False),
        ("{ name: s, type: set, values: { a: 1 }, on_failure: continue }", True),
        (
            f"{{ name: b, branches: [{{ condition: '{{{{ 1 == 2 }}}}', steps: [{RETURN}] }}] }}",
            False,
        ),
        (
            "{ name: b, branches: [{ condition: '{{ 1 == 2 }}', steps: [{ name: s, type: set, "
            "values: { a: 1 } }] }] }",
            True,
        ),
        (f"{{ name: l, iterate_on: '{{{{ [] }}}}', loop_variable: i, body: [{RETURN}] }}", False),
        (
            f"{{ name: t, type: try, steps: [{RETURN}], catch: [{{ steps: [] }}], finally: [] }}",
            False,
        ),
        (
            "{ name: t, type: try, steps: [{ name: s, type: wait, duration: 1 }], "
            "catch: [{ steps: [] }], finally: [] }",
            True,
        ),
    ],
)
def test_what_comes_after_a_step_that_may_end_the_team_is_not_needed(
    task: str, goes_on: bool
) -> None:
    found = needs(f"a:\n  tasks: [{task}, {NOTE}]\n")
    assert ("order.id" in found) is goes_on


def test_a_condition_is_needed_though_its_step_may_not_run() -> None:
    condition = "when: '{{ context.full == 1 }}'"
    assert needs(f"a:\n  tasks: [{NOTE.replace('type:', condition + ', type:')}]\n") == {
        "full": "a/note"
    }


def test_a_team_that_only_some_routes_lead_to_needs_nothing() -> None:
    route = "{ condition: { context_field: x, operator: equals, value: 1 }, next_team: b }"
    other = f"b:\n  tasks: [{NOTE}]\n"
    start = "a:\n  tasks: [{ name: t, type: wait, duration: 1 }]\n"
    assert needs(f"{start}  routing: {{ rules: [{route}], default: null }}\n{other}") == {}
    assert needs(f"{start}  routing: {{ rules: [{route}], default: b }}\n{other}") != {}


def test_a_run_is_refused_before_anything_runs_and_each_path_is_named() -> None:
    plan = with_needs(compiled(BOTH)).plan
    with pytest.raises(RunRefused, match=r"order\.id \(read by a/note\), topic \(read by b/say\)"):
        begin(plan, RunState())
    state = RunState()
    state.main.context = {"order": {"id": None}, "topic": "x"}
    begin(plan, state)
    assert state.main.team == "a"


def test_the_digest_of_a_plan_that_needs_nothing_is_the_same() -> None:
    made = compiled("a:\n  tasks: [{ name: t, type: wait, duration: 1 }]\n")
    assert with_needs(made).plan == made.plan


DOCUMENT = f"""
llm_config: {{ default_provider: scripted, default_model: m, providers: {{ scripted: {{}} }} }}
orchestration:
  entry_team: a
  teams:
    a: {{ tasks: [{NOTE}] }}
"""


@pytest.mark.parametrize("command", ["run", "start"])
def test_a_start_that_lacks_a_path_is_refused_with_the_way_to_give_it(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "team.yml").write_text(DOCUMENT)
    monkeypatch.chdir(tmp_path)
    assert main([command, "team.yml", "--set", "order.name=x"]) == 2
    output = capsys.readouterr().err
    assert "the context lacks what the plan needs: order.id (read by a/note)" in output
    assert "--set PATH=VALUE" in output
    assert not (tmp_path / ".coterie").exists()


def test_a_plan_that_the_worker_compiles_says_what_a_start_has_to_give() -> None:
    trusted = {"workspace": ".", "commands": {"test": {"run": ["true"]}}}
    worker = CompileActivities(load(environ={}), TrustedConfig.model_validate(trusted))
    document = DOCUMENT.replace(", providers: { scripted: {} }", "")
    answer = asyncio.run(worker.compile_team(CompileRequest(document=document)))
    assert answer.plan is not None
    assert answer.plan.needs == {"order.id": "a/note"}
