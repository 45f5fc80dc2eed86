"""A suite file: its mistakes at their places, and the ids of its trials."""

from pathlib import Path

import pytest

from coterie.dsl.errors import InvalidDocument
from coterie.evals.suite import case_digest, trials_of
from coterie.evals.suite_document import SuiteDocument
from coterie.evals.suite_reader import read_suite
from coterie.evals.trial_end import FACTS
from coterie.settings import load
from tests.unit.coterie.evals.suites import SUITE, suite_in

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize("name", ["tool_router", "coordinator", "agent_loop", "development"])
def test_read_suite_accepts_each_suite_of_the_shipped_systems(name: str) -> None:
    suite = read_suite(load({}, ROOT), f"evals/{name}.yml")
    ids = [trial.run_id for trial in trials_of(suite)]
    assert len(set(ids)) == len(ids) >= 1


@pytest.mark.parametrize(
    ("old", "new", "code", "line", "message"),
    [
        ("repeats: 3", "repeats: 0", "E106", 4, "repeats"),
        ("repeats: 3", "repeat: 3", "E101", 4, "unknown key 'repeat'"),
        ("team: add.yml", "team: nowhere", "E201", 3, "nowhere"),
        ("name: large", "name: small", "E208", 8, "line 7 already has a case 'small'"),
        ("{{ output.total }}", "{{ outputs.total }}", "E207", 5, "no name 'outputs'"),
        ("{{ output.total }}", "{{ output.total", "E301", 5, ""),
        ('exact: "{{ expected }}"', "schema: { type: number7 }", "E505", 5, "cannot be used"),
        ('exact: "{{ expected }}"', 'exact: 1, expression: "{{ x }}"', "E103", 5, "mapping"),
        ('of: "{{ output.total }}", exact: "{{ expected }}"', "command: chek", "E209", 5, "chek"),
        (
            'of: "{{ output.total }}", exact: "{{ expected }}"',
            "expression: output.total == 2",
            "E105",
            5,
            "is not a template",
        ),
        ('exact: "{{ expected }}"', "rubric: It adds up., arguments: {}", "E103", 5, "mapping"),
        (
            'exact: "{{ expected }}"',
            'rubric: "It says {{ output }}."',
            "E207",
            5,
            "a rubric has no",
        ),
        ('exact: "{{ expected }}"', "rubric: No", "E105", 5, "at least 3 characters"),
        (
            'repeats: 3\ngraders: [{ of: "{{ output.total }}", exact: "{{ expected }}"',
            "judge: { heuristics: true }\ngraders: [{ rubric: It adds up.",
            "E105",
            5,
            "has none",
        ),
        ("repeats: 3", "judge: { override: no.yml }", "E001", 4, "not a file"),
        ("repeats: 3", "judge: { model: claude }", "E103", 4, "provider/model"),
        ("repeats: 3", "workspace: nowhere", "E001", 4, "not a folder"),
        ("repeats: 3", "variants: [{ name: a, override: no.yml }]", "E001", 4, "not a file"),
        ("repeats: 3", "variants: [{ name: a, model: claude }]", "E103", 4, "provider/model"),
        ("context: { left: 100 }", "context: { left: much }", "E405", 8, "cannot start"),
        ("context: { left: 100 }", "context: { left: '{{ seed }}' }", "E405", 8, "seed"),
        ("context: { left: 100 }", "messages: [hello]", "E105", 8, "takes no messages"),
        ("repeats: 3", "files: { ../up.txt: x }", "E105", 4, "not a path within"),
    ],
)
def test_read_suite_reports_a_mistake_at_its_place(
    tmp_path: Path, old: str, new: str, code: str, line: int, message: str
) -> None:
    assert old in SUITE
    with pytest.raises(InvalidDocument) as refused:
        suite_in(tmp_path, SUITE.replace(old, new, 1))
    problem = refused.value.problems[0]
    assert (problem.code, problem.file, problem.line) == (code, "sums.yml", line)
    assert message in f"{problem.message} {problem.allowed}"


def test_read_suite_refuses_a_session_without_messages(tmp_path: Path) -> None:
    (tmp_path / "chat.yml").write_text("name: chat\nteam: tool_router\ncases: [{ name: mute }]\n")
    with pytest.raises(InvalidDocument) as refused:
        read_suite(load({}, tmp_path), "chat.yml")
    assert [problem.code for problem in refused.value.problems] == ["E102"]


def test_trials_come_repeat_by_repeat_so_that_a_stop_leaves_equal_shares(tmp_path: Path) -> None:
    trials = list(trials_of(suite_in(tmp_path)))
    assert [(one.repeat, one.case.name) for one in trials] == [
        (repeat, case) for repeat in (1, 2, 3) for case in ("small", "large")
    ]


def test_run_ids_stay_for_more_repeats_and_other_graders(tmp_path: Path) -> None:
    before = [one.run_id for one in trials_of(suite_in(tmp_path))]
    more = SUITE.replace("repeats: 3", "repeats: 5").replace("output.total", "output")
    after = [one.run_id for one in trials_of(suite_in(tmp_path, more))]
    assert after[: len(before)] == before
    assert len(after) == 10


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("left: 1 }", "left: 2 }"),
        ("repeats: 3", "variants: [{ name: default, context: { right: 2 } }]"),
        ("repeats: 3", "files: { a.txt: x }"),
    ],
)
def test_run_ids_change_with_what_a_run_does(tmp_path: Path, old: str, new: str) -> None:
    before = next(trials_of(suite_in(tmp_path))).run_id
    assert next(trials_of(suite_in(tmp_path, SUITE.replace(old, new, 1)))).run_id != before


RUBRIC = SUITE.replace('exact: "{{ expected }}"', "rubric: The sum is right.")


def test_only_a_suite_with_a_rubric_compiles_the_judge(tmp_path: Path) -> None:
    assert suite_in(tmp_path).judge is None
    judge = suite_in(tmp_path, RUBRIC).judge
    assert judge is not None
    assert judge.compiled.plan.name == "judge"


def test_another_judge_makes_results_of_a_rubric_not_comparable(tmp_path: Path) -> None:
    def digests(text: str) -> list[str]:
        suite = suite_in(tmp_path, text)
        return [case_digest(suite, case) for case in suite.document.cases]

    (tmp_path / "over.yml").write_text(
        "llm_config: { personas: { judge: { prompts: { system: Be strict. } } } }\n"
    )
    plain = digests(RUBRIC)
    for change in ("votes: 3", "override: over.yml", "model: openai/gpt-6.1-sol"):
        changed = f"judge: {{ {change} }}"
        assert set(plain).isdisjoint(digests(RUBRIC.replace("repeats: 3", changed)))
        assert digests(SUITE) == digests(SUITE.replace("repeats: 3", changed))


def test_run_ids_change_with_the_label(tmp_path: Path) -> None:
    suite = suite_in(tmp_path)
    first = {one.run_id for one in trials_of(suite)}
    assert first.isdisjoint(one.run_id for one in trials_of(suite, "again"))


def test_a_variant_takes_its_override_and_its_context(tmp_path: Path) -> None:
    (tmp_path / "over.yml").write_text("orchestration: { max_total_teams: 7 }\n")
    text = SUITE.replace("repeats: 3", "variants: [{ name: a }, { name: b, override: over.yml }]")
    first, second = suite_in(tmp_path, text).variants
    assert second.document.compiled.plan.limits.max_total_teams == 7
    assert first.document.compiled.plan.limits.max_total_teams != 7


def test_a_context_may_name_the_repeat(tmp_path: Path) -> None:
    text = SUITE.replace("left: 100", "left: '{{ repeat }}'")
    lefts = [one.context["left"] for one in trials_of(suite_in(tmp_path, text))]
    assert lefts == [1, 1, 1, 2, 1, 3]


def test_read_suite_accepts_the_suite_of_the_page(tmp_path: Path) -> None:
    page = (ROOT / "docs/evals.md").read_text()
    text = page.split("```yaml\n")[1].split("```")[0]
    suite = suite_in(tmp_path, text)
    for trial in trials_of(suite):
        context, expected = trial.context, trial.case.expected
        assert isinstance(expected, dict)
        right = context.get("right", 1)
        assert expected[trial.variant.name] == int(str(context["left"])) + int(str(right))


def test_the_page_names_every_key_of_a_suite_and_every_fact_of_graders() -> None:
    page = (ROOT / "docs/evals.md").read_text()
    rows = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    assert SuiteDocument.model_fields.keys() <= rows
    assert [name for name in FACTS if f"`{name}`" not in page] == []
