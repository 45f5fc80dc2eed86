"""The terms of a tool that asks a person hold for its question; nobody allows the call."""

import pytest

from coterie.dsl.model.decision_terms import NEVER, CallApproval
from tests.support.compiling import plan_of

PLAN = """
tools: {ask: {skill: TOOL_FUNCTION, requires_approval: TERMS}}
orchestration:
  entry_team: a
  teams: {a: {tasks: [{name: q, type: tool, tool: ask, arguments: ARGUMENTS}]}}
"""


def terms(written: str, function: str = "Person.ask", arguments: str = "{question: x}") -> object:
    text = (
        PLAN.replace("TERMS", written)
        .replace("TOOL_FUNCTION", function)
        .replace("ARGUMENTS", arguments)
    )
    return plan_of(text).tools["ask"].requires_approval


@pytest.mark.parametrize("written", ["{approvers: [ada]}", "{at: before, approvers: [ada]}"])
def test_terms_without_a_condition_are_those_of_the_question(written: str) -> None:
    found = terms(written)
    assert isinstance(found, CallApproval)
    assert (found.when, found.approvers) == (NEVER, ("ada",))


def test_a_written_condition_a_word_and_the_acceptance_of_the_answer_stay() -> None:
    said = terms('{when: "{{ true }}"}')
    after = terms("{at: after}")
    assert isinstance(said, CallApproval)
    assert isinstance(after, CallApproval)
    assert said.when not in (None, NEVER)
    assert after.when is None
    assert terms("true") is True
    assert terms("false") is False


def test_terms_of_other_tools_are_unchanged() -> None:
    found = terms("{approvers: [ada]}", "Calculator.evaluate", "{expression: 1+1}")
    assert isinstance(found, CallApproval)
    assert found.when is None
