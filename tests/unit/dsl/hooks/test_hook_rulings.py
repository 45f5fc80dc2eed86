"""What a hook decides, and what it changes: pure, and closed when it cannot decide."""

import pytest

from coterie.dsl.hooks.hook_costs import function_calls, maximum_retries
from coterie.dsl.hooks.hook_reads import hooks_at, matches_tool, reads_check, reads_result
from coterie.dsl.hooks.hook_rulings import (
    HookRuling,
    applies,
    modified,
    retried_too_often,
    ruling_of,
)
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.hooks import DECISIONS_AT, FACTS_AT, HOOK_DECISIONS, Hook
from coterie.dsl.values import Json, JsonValue


def hook(**keys: JsonValue) -> Hook:
    given = {"name": "h", "on": "before_tool_call", "decide": "reject", **keys}
    return Hook.model_validate(given)


def facts(**known: JsonValue) -> Facts:
    return Facts({"goal": "x"}, variables=known)


@pytest.mark.parametrize(
    ("pattern", "tool", "matches"),
    [
        ("git_*", "git_push", True),
        ("git_*", "agit_push", False),
        ("*", "any", True),
        ("a?", "ab", False),
        ("[ab]", "a", False),
        ("search", "search", True),
        ("*_push", "git_push", True),
    ],
)
def test_a_pattern_knows_only_the_star(pattern: str, tool: str, matches: bool) -> None:
    assert matches_tool(pattern, tool) is matches


def test_the_hooks_of_a_point_come_in_written_order() -> None:
    hooks = [hook(name="a"), hook(name="b", on="before_turn"), hook(name="c", tool="git_*")]
    assert [one.name for one in hooks_at(hooks, "before_tool_call", "search")] == ["a"]
    assert [one.name for one in hooks_at(hooks, "before_tool_call", "git_log")] == ["a", "c"]


def test_a_hook_without_a_condition_applies() -> None:
    assert applies(hook(), facts()) is True


def test_a_condition_that_cannot_be_evaluated_fails_closed() -> None:
    found = applies(hook(when={"expression": "{{ arguments.branch == 'main' }}"}), facts())
    assert isinstance(found, HookRuling)
    assert found.decision == "fail"
    assert found.message.startswith("it cannot decide: `when`: ")


def test_a_ruling_fills_its_message_from_the_facts() -> None:
    ruling = ruling_of(hook(message="not {{ arguments.a }}"), facts(arguments={"a": 1}))
    assert ruling == HookRuling("h", "reject", "not 1")


@pytest.mark.parametrize("decision", HOOK_DECISIONS)
def test_a_template_may_decide_what_its_point_allows(decision: str) -> None:
    ruling = ruling_of(hook(decide="{{ tool }}", value={}), facts(tool=decision))
    allowed = decision in DECISIONS_AT["before_tool_call"]
    assert ruling.decision == (decision if allowed else "fail")


@pytest.mark.parametrize("given", ["no such word", 3, None])
def test_a_template_that_gives_no_decision_fails_closed(given: JsonValue) -> None:
    ruling = ruling_of(hook(decide="{{ tool }}"), facts(tool=given))
    assert ruling.decision == "fail"
    assert "allowed: continue, fail, modify, reject" in ruling.message


@pytest.mark.parametrize(
    ("point", "value", "before", "after"),
    [
        ("before_tool_call", {"b": 2}, {"arguments": {"a": 1}}, {"arguments": {"a": 1, "b": 2}}),
        ("after_tool_call", "r", {"result": 1, "error": {}}, {"result": "r", "error": None}),
        ("after_model_call", {"text": "t"}, {"answer": 1}, {"answer": {"text": "t"}}),
        ("after_run", [1], {"output": 1}, {"output": [1]}),
        ("before_turn", "a note", {"turn": 1}, {"turn": 1}),
        ("before_run", {"goal": "y"}, {}, {}),
    ],
)
def test_a_modification_changes_the_facts_of_its_point(
    point: str, value: JsonValue, before: Json, after: Json
) -> None:
    ruling = HookRuling("h", "modify", value=value)
    assert modified(hook(on=point), ruling, before) == after


@pytest.mark.parametrize(
    ("point", "value"),
    [
        ("before_tool_call", "text"),
        ("before_turn", {"a": 1}),
        ("before_model_call", " "),
        ("before_run", ["a"]),
        ("after_turn", 1),
    ],
)
def test_a_modification_of_the_wrong_kind_fails_closed(point: str, value: JsonValue) -> None:
    ruling = HookRuling("h", "modify", value=value)
    found = modified(hook(on=point), ruling, {"arguments": {}})
    assert isinstance(found, HookRuling)
    assert found.decision == "fail"


def test_the_last_retry_becomes_a_failure_that_says_how_often_it_was_tried() -> None:
    one = hook(on="after_model_call", decide="retry", max_retries=2)
    ruling = retried_too_often(one, HookRuling("h", "retry", "too short"))
    assert ruling == HookRuling("h", "fail", "too short; 2 retries did not help")


def test_a_condition_over_the_check_waits_for_the_function() -> None:
    function = {"skill": "Calculator.evaluate"}
    assert reads_check(hook(**function, when={"expression": "{{ check.value > 1 }}"}))
    assert not reads_check(hook(**function, when={"expression": "{{ tool == 'a' }}"}))


@pytest.mark.parametrize(
    ("keys", "reads"),
    [
        ({"when": {"expression": "{{ result.a }}"}}, True),
        ({"input": {"text": ["{{ result }}"]}, "skill": "A.b"}, True),
        ({"message": "{{ result }}"}, True),
        ({"when": {"expression": "{{ error }}"}}, False),
        ({"tool": "other", "when": {"expression": "{{ result.a }}"}}, False),
    ],
)
def test_a_result_is_kept_out_of_the_run_unless_a_hook_reads_it(keys: Json, reads: bool) -> None:
    assert reads_result([hook(on="after_tool_call", **keys)], "search") is reads


def test_every_point_has_facts_and_decisions() -> None:
    assert FACTS_AT.keys() == DECISIONS_AT.keys()


def test_the_cost_of_hooks_is_bounded_by_point_and_tool() -> None:
    hooks = [
        hook(on="after_tool_call", decide="retry", max_retries=3, tool="search"),
        hook(on="after_tool_call", decide="{{ 'retry' }}", skill="A.b"),
        hook(skill="A.b"),
    ]
    assert maximum_retries(hooks, "after_tool_call", "search") == 4
    assert maximum_retries(hooks, "after_tool_call", "write") == 1
    assert function_calls(hooks, "before_tool_call", "after_tool_call", tool="search") == 2
