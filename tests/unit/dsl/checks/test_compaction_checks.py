"""Compaction in a document: refused where it is wrong, and counted in the worst case."""

import pytest

from coterie.dsl.analysis.findings import analysed
from coterie.dsl.analysis.worst_case import Figures, worst_case
from coterie.dsl.analysis.worst_case_of_models import Terms
from coterie.dsl.model.compaction import Compaction
from coterie.dsl.model.price import Price
from tests.support.compiling import compiled, plan_of, problems_of
from tests.unit.dsl.tools.documents import document

PLACE = "llm_config.personas.planner.compaction"


def test_a_policy_reaches_the_plan() -> None:
    plan = plan_of(document("compaction: { at: 0.5, keep_turns: 2, prompt: Sum up. }"))
    assert plan.personas["planner"].compaction == Compaction(at=0.5, keep_turns=2, prompt="Sum up.")


def test_an_empty_policy_is_that_of_the_defaults() -> None:
    plan = plan_of(document("compaction: {}\ncontext_window: 32000"))
    assert plan.personas["planner"].compaction == Compaction(at=0.8, keep_turns=4)
    assert plan.personas["planner"].context_window == 32_000


@pytest.mark.parametrize("at", ["0", "1.5", "999", "-1", "half", "true"])
def test_a_point_that_is_neither_a_share_nor_tokens_is_refused(at: str) -> None:
    assert problems_of(document(f"compaction: {{ at: {at} }}"))


@pytest.mark.parametrize(
    ("written", "code"), [("opus", "E105"), ("scriptd/a", "E205"), ("/a", "E105")]
)
def test_a_model_that_is_none_is_refused_where_it_is_written(written: str, code: str) -> None:
    found = [
        (one.code, one.path) for one in problems_of(document(f"compaction: {{ model: {written} }}"))
    ]
    assert found == [(code, f"{PLACE}.model")]


@pytest.mark.parametrize("key", ["conversation_turns", "conversation_characters"])
def test_a_window_beside_it_is_refused(key: str) -> None:
    text = document("compaction: {}", step=f", conversation: talk, {key}: 5")
    (found,) = problems_of(text)
    assert (found.code, found.path.rpartition(".")[2]) == ("E107", key)
    without = document(
        "compaction: {}", step=f", conversation: talk, {key}: 5, config: {{ compaction: null }}"
    )
    assert "E107" not in [one.code for one in problems_of(without)]


def test_an_agent_with_a_plan_has_no_compaction() -> None:
    keys = "execution_plan: [{ name: a, type: set, values: { b: 1 } }]\ncompaction: { at: 0.5 }"
    prompts = '      prompts: { user: "Plan {{ input.query }}." }\n'
    text = document(keys).replace(prompts, "")
    assert [(one.code, one.path) for one in problems_of(text)] == [("E503", PLACE)]


def total(text: str) -> Figures:
    found = compiled(text)
    terms = Terms({"scripted/m": Price(input=1, output=1)}, 1_000)
    return worst_case(found, analysed(found), terms).total


@pytest.mark.parametrize(
    ("keys", "step", "more"),
    [
        ("max_reasks: 0, tools: [read_files], max_turns: 5", "", 5),
        ("max_reasks: 0, tools: [read_files], max_turns: 5", ", conversation: talk", 6),
        ("max_reasks: 2", ", conversation: talk", 3),
        ("max_reasks: 2", "", 0),
    ],
)
def test_the_worst_case_has_a_summary_before_each_turn(keys: str, step: str, more: int) -> None:
    lines = keys.replace("], ", "]\n").replace("0, ", "0\n")
    without = total(document(lines, step=step))
    with_it = total(document(f"{lines}\ncompaction: {{}}", step=step))
    assert with_it.model_calls == without.model_calls + more
    assert with_it.cost is not None
    assert without.cost is not None
    assert (with_it.cost > without.cost) is (more > 0)
