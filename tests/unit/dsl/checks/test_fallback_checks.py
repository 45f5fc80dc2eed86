"""The models that take over: refused where they are written, and counted in the worst case."""

import pytest

from tests.support.compiling import plan_of, problems_of
from tests.unit.dsl.tools.documents import document

PLACE = "llm_config.personas.planner.fallback"


def test_fallbacks_reach_the_plan_in_written_order() -> None:
    plan = plan_of(document("fallback: [scripted/a/b, scripted/c]"))
    assert plan.personas["planner"].fallback == ("scripted/a/b", "scripted/c")


@pytest.mark.parametrize(
    ("written", "code", "index"),
    [
        ("[opus]", "E105", 0),
        ("[/opus]", "E105", 0),
        ("[scripted/]", "E105", 0),
        ("[scripted/a, scriptd/b]", "E205", 1),
        ("[scripted/m]", "E208", 0),
        ("[scripted/a, scripted/a]", "E208", 1),
    ],
)
def test_a_mistake_is_refused_where_it_is_written(written: str, code: str, index: int) -> None:
    found = [(one.code, one.path) for one in problems_of(document(f"fallback: {written}"))]
    assert found == [(code, f"{PLACE}[{index}]")]


def test_a_secret_in_the_clear_is_refused_as_a_fallback() -> None:
    written = document("fallback: [scripted/sk-ant-no-real-key-of-anyone-0000]")
    assert "E602" in [one.code for one in problems_of(written)]


def test_an_agent_with_a_plan_has_no_fallback() -> None:
    keys = "execution_plan: [{ name: a, type: set, values: { b: 1 } }]\nfallback: [scripted/a]"
    prompts = '      prompts: { user: "Plan {{ input.query }}." }\n'
    text = document(keys).replace(prompts, "")
    assert [(one.code, one.path) for one in problems_of(text)] == [("E503", PLACE)]
