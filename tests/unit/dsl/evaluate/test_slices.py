"""An agent is sent what its prompts name, and its own input: nothing else, and nothing shared."""

import json
from typing import Any

import pytest
from hypothesis import given
from pydantic import JsonValue

from coterie.dsl.errors import TemplateFailed
from coterie.dsl.evaluate.prompt_choice import snapshot
from coterie.dsl.evaluate.prompt_facts import slice_for
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.templates.template_filling import fill_text
from tests.support.documents.strategies import json_objects

FACTS = Facts(
    context={
        "order": {"id": 1, "secret": "s", "lines": [{"n": 1}, {"n": 2}]},
        "goal": "g",
        "unused": "x" * 100,
    },
    tasks={
        "check": Outcome.succeeded({"status": "FAIL", "why": "w"}),
        "bad": Outcome.failed("Timeout", "slow"),
    },
    teams={"fix": {"plan": Outcome.succeeded({"steps": [1, 2]})}},
    run={"id": "r", "visit": 2},
    routing={"reason": "rule", "from": "fix", "error": None},
    variables={"item": {"a": 1, "b": 2}},
    input={"outer": 1},
)


def persona(**prompts: str) -> Persona:
    return Persona(provider="scripted", model="m", prompts=prompts)


def step(given: JsonValue = None) -> PersonaStep:
    return PersonaStep(
        name="x", kind="agent", agent_type="generic_single_shot", persona_key="p", input=given
    )


def sliced(prompt: str, given: JsonValue = None) -> Any:
    return slice_for(persona(user=prompt), step(given), FACTS)


@pytest.mark.parametrize(
    ("prompt", "inputs"),
    [
        ("nothing", {}),
        ("{{ context.order.id }}", {"context": {"order": {"id": 1}}}),
        (
            "{{ context.order.id }}{{ context.goal }}",
            {"context": {"order": {"id": 1}, "goal": "g"}},
        ),
        ("{{ context.order }}", {"context": {"order": FACTS.context["order"]}}),
        (
            "{{ context.order.id }}{{ context.order }}",
            {"context": {"order": FACTS.context["order"]}},
        ),
        (
            "{{ context.order }}{{ context.order.id }}",
            {"context": {"order": FACTS.context["order"]}},
        ),
        ("{{ context.order.lines[1].n }}", {"context": {"order": {"lines": [{"n": 1}, {"n": 2}]}}}),
        ("{{ context.missing.deep | default('x') }}", {"context": {}}),
        ("{{ context.order.missing | default('x') }}", {"context": {"order": {}}}),
        ("{{ tasks.check.data.status }}", {"tasks": {"check": {"data": {"status": "FAIL"}}}}),
        ("{{ tasks.bad.error.message }}", {"tasks": {"bad": {"error": {"message": "slow"}}}}),
        ("{{ tasks.bad.success }}", {"tasks": {"bad": {"success": False}}}),
        (
            "{{ teams.fix.tasks.plan.data.steps[0] }}",
            {"teams": {"fix": {"tasks": {"plan": {"data": {"steps": [1, 2]}}}}}},
        ),
        ("{{ item.a }}", {"item": {"a": 1}}),
        (
            "{{ run.visit }}{{ routing.reason }}",
            {"run": {"visit": 2}, "routing": {"reason": "rule"}},
        ),
        (
            "{% for l in context.order.lines %}{{ l.n }}{% endfor %}",
            {"context": {"order": {"lines": [{"n": 1}, {"n": 2}]}}},
        ),
        ("{% set g = context.goal %}{{ g }}{{ flags.tone }}", {"context": {"goal": "g"}}),
    ],
)
def test_a_request_holds_what_its_prompts_name_and_no_more(prompt: str, inputs: Any) -> None:
    assert sliced(prompt) == inputs


def test_the_tasks_own_input_is_filled_and_the_surrounding_one_is_not_sent() -> None:
    assert sliced("{{ input.goal }}", {"goal": "{{ context.goal }}!"}) == {"input": {"goal": "g!"}}
    assert sliced("{{ input }}") == {}
    with pytest.raises(TemplateFailed, match=r"context\.nope has no value"):
        sliced("x", "{{ context.nope }}")


def test_single_braces_name_inputs_first_and_then_the_context() -> None:
    old = Persona(
        provider="s",
        model="m",
        prompt_syntax="braces",
        prompts={"user": "{goal} {order.id} {{literal}}"},
    )
    assert slice_for(old, step({"goal": "own"}), FACTS) == {
        "input": {"goal": "own"},
        "context": {"order": {"id": 1}},
    }


@given(json_objects)
def test_a_prompt_reads_the_same_from_its_slice_as_from_all_the_facts(
    context: dict[str, JsonValue],
) -> None:
    facts = Facts(context={"a": context, "b": context})
    prompt = "{{ context.a }}|{{ context.b.id | default('-') }}|{{ context.b.a.c | default('?') }}"
    before = json.dumps(context)
    inputs = slice_for(persona(user=prompt), step(), facts)
    assert fill_text(prompt, inputs) == fill_text(prompt, facts.names())
    scribbled: Any = inputs["context"]
    scribbled["a"]["scribbled"] = True
    assert json.dumps(context) == before, "what is sent shares nothing with the facts"


def test_a_snapshot_has_the_system_prompt_and_the_one_that_is_asked() -> None:
    whole = persona(system="s", outline="o", text="t")
    chosen = PersonaStep(name="x", kind="agent", persona_key="p", prompt="text")
    assert snapshot(whole, chosen).prompts == {"system": "s", "text": "t"}
    assert set(whole.prompts) == {"system", "outline", "text"}
