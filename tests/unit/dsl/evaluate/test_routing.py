"""Routing is pure: the first rule that holds, with its updates and its because."""

from typing import Any

import pytest
from hypothesis import given

from coterie.dsl.errors import ContextConflict, NoRoute, TeamFailed, TemplateFailed
from coterie.dsl.evaluate.context import apply, replacing
from coterie.dsl.evaluate.context_writes import shown_writes
from coterie.dsl.evaluate.routing import Route, choose
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Plan, Team
from coterie.dsl.paths import MISSING, get, parse, put
from tests.support.documents.strategies import json_values
from tests.support.engine import plan_of

DOCUMENT = """
orchestration:
  entry_team: review
  teams:
    review:
      tasks:
        - {name: impl_evaluator, type: set, values: {x: 1}}
        - {name: other, type: set, values: {x: 1}}
      routing:
        rules: RULES
        default: DEFAULT
    correction: {tasks: [{name: t, type: set, values: {x: 1}}]}
    manual_approval: {tasks: [{name: t, type: set, values: {x: 1}}]}
    handle_error: {tasks: [{name: t, type: set, values: {x: 1}}]}
"""
SEED_RULES = """
          - condition: {task: impl_evaluator, output_field: status, operator: equals, value: FAIL}
            next_team: correction
            context_updates:
              current_work_order_id: "{{ tasks.impl_evaluator.data.order.id }}"
              review.count: "{{ context.review.count + 1 }}"
          - condition:
              - {task: impl_evaluator, status: success}
              - {context_field: review_outcome.needs_rework, operator: equals, value: false}
            next_team: null
          - condition: {task: impl_evaluator, status: success}
            next_team: manual_approval"""
CONTEXT: dict[str, Any] = {"review": {"count": 1}, "review_outcome": {"needs_rework": True}}


def team(rules: str = SEED_RULES, default: str = "handle_error") -> Team:
    plan: Plan = plan_of(DOCUMENT.replace("RULES", rules).replace("DEFAULT", default))
    return plan.teams["review"]


def facts(evaluated: Outcome, context: dict[str, Any] = CONTEXT) -> Facts:
    tasks = {"impl_evaluator": evaluated, "other": Outcome.succeeded({})}
    return Facts(context=context, tasks=tasks)


FAIL = Outcome.succeeded({"status": "FAIL", "order": {"id": "wo-7"}})
PASS = Outcome.succeeded({"status": "PASS"})
BROKEN = Outcome.failed("Timeout", "too slow")


def test_updates_of_a_rule_win_over_those_of_its_routing() -> None:
    document = DOCUMENT.replace(
        "        default: DEFAULT",
        """        default: null
        context_updates: {same: routing, more: routing}""",
    )
    rules = """
          - condition: {task: other, status: success}
            next_team: correction
            context_updates: {same: rule}"""
    review = plan_of(document.replace("RULES", rules)).teams["review"]
    tasks = {"impl_evaluator": Outcome.succeeded(), "other": Outcome.succeeded()}
    assert shown_writes(choose(review, Facts({}, tasks)).writes) == {
        "same": "rule",
        "more": "routing",
    }
    assert shown_writes(choose(review, Facts({}, {})).writes) == {
        "same": "routing",
        "more": "routing",
    }


def test_a_field_of_a_tasks_data_decides() -> None:
    route = choose(team(), facts(FAIL))
    assert route.next_team == "correction"
    assert route.because == 'rule 1: impl_evaluator.status is "FAIL" (equals "FAIL")'
    assert route.reason == "rule"


def test_updates_are_filled_from_the_facts_and_make_a_new_context() -> None:
    route = choose(team(), facts(FAIL))
    assert shown_writes(route.writes) == {"current_work_order_id": "wo-7", "review.count": 2}
    after = apply(CONTEXT, route.writes)
    assert after["review"] == {"count": 2}
    assert CONTEXT["review"] == {"count": 1}, "the earlier context keeps its value"


@pytest.mark.parametrize(
    ("evaluated", "needs_rework", "next_team"),
    [
        (PASS, False, None),
        (PASS, True, "manual_approval"),
        (BROKEN, False, "handle_error"),
        (BROKEN, True, "handle_error"),
    ],
)
def test_a_list_of_conditions_means_all_of_them(
    evaluated: Outcome, needs_rework: bool, next_team: str | None
) -> None:
    context = {**CONTEXT, "review_outcome": {"needs_rework": needs_rework}}
    assert choose(team(), facts(evaluated, context)).next_team == next_team


def test_the_first_rule_that_holds_decides() -> None:
    swapped = """
          - {condition: {task: impl_evaluator, status: success}, next_team: manual_approval}
          - {condition: {task: impl_evaluator, output_field: status, value: X}, next_team: null}"""
    assert choose(team(swapped), facts(FAIL)).next_team == "manual_approval"


def test_the_default_tells_whether_no_rule_matched_or_a_task_failed() -> None:
    rules = "[{condition: {context_field: nothing, operator: exists}, next_team: null}]"
    assert choose(team(rules), facts(PASS)).reason == "no_rule_matched"
    failed = choose(team(rules), facts(BROKEN))
    assert failed.reason == "team_failed"
    assert "task 'impl_evaluator' of team 'review' failed: Timeout: too slow" in failed.because


def test_a_default_of_null_ends_a_success_and_not_a_failure() -> None:
    rules = "[{condition: {context_field: nothing, operator: exists}, next_team: null}]"
    assert choose(team(rules, "null"), facts(PASS)).next_team is None
    with pytest.raises(TeamFailed, match="too slow"):
        choose(team(rules, "null"), facts(BROKEN))


def test_without_a_default_it_is_reported_what_every_rule_found() -> None:
    plan = plan_of(DOCUMENT.replace("RULES", SEED_RULES).replace("        default: DEFAULT\n", ""))
    skipped = Facts(context=CONTEXT, tasks={"impl_evaluator": Outcome.skipped()})
    with pytest.raises(NoRoute) as error:
        choose(plan.teams["review"], skipped)
    assert "no route matched" in str(error.value)
    assert "rule 3: impl_evaluator is skipped, not success" in str(error.value)


def test_a_missing_field_matches_nothing_and_breaks_nothing() -> None:
    assert choose(team(), facts(Outcome.succeeded("just text"))).next_team == "manual_approval"


def test_an_update_that_names_what_is_not_there_is_an_error() -> None:
    with pytest.raises(TemplateFailed, match=r"order\.id has no value"):
        choose(team(), facts(Outcome.succeeded({"status": "FAIL"})))


FAILED = Outcome.failed("ProviderRefused", "no such model")
EXPRESSIONS = [
    '"{{ tasks.impl_evaluator.data.score > 3 }}"',
    '"{{ tasks.impl_evaluator.data > 3 }}"',
    '["{{ tasks.impl_evaluator.data.score > 3 }}", all_failure]',
]


@pytest.mark.parametrize("condition", EXPRESSIONS)
@pytest.mark.parametrize("outcome", [FAILED, Outcome.skipped()])
def test_condition_on_data_that_no_task_brought_does_not_hold(
    condition: str, outcome: Outcome
) -> None:
    rules = f"\n          - {{condition: {condition}, next_team: correction}}"
    route = choose(team(rules), facts(outcome))
    assert route.next_team == "handle_error"
    if outcome is FAILED:
        assert route.because == (
            "default: task 'impl_evaluator' of team 'review' failed: ProviderRefused: no such model"
        )


def test_condition_beside_one_on_missing_data_still_decides() -> None:
    either = f"{{or: [{EXPRESSIONS[0]}, any_failure]}}"
    rules = f"\n          - {{condition: {either}, next_team: correction}}"
    assert choose(team(rules), facts(FAILED)).next_team == "correction"


def test_error_of_a_failed_team_leads_where_its_routing_finds_no_way() -> None:
    rules = f"\n          - {{condition: {EXPRESSIONS[0]}, next_team: correction}}"
    document = DOCUMENT.replace("RULES", rules).replace("        default: DEFAULT\n", "")
    with pytest.raises(TeamFailed, match=r"ProviderRefused: no such model$"):
        choose(plan_of(document).teams["review"], facts(FAILED))
    wrong = rules.replace("tasks.impl_evaluator.data.score", "context.none.score")
    with pytest.raises(
        TeamFailed, match=r"no such model; its routing could not be evaluated: .*none"
    ):
        choose(team(wrong), facts(FAILED))


def test_update_from_data_that_no_task_brought_is_left_out_and_reported() -> None:
    rules = """
          - condition: any_failure
            next_team: correction
            context_updates: {why: "{{ tasks.impl_evaluator.error.message }}",
                              found: {at: ["{{ tasks.impl_evaluator.data.order.id }}"]}}"""
    route = choose(team(rules), facts(FAILED))
    assert shown_writes(route.writes) == {"why": "no such model"}
    assert route.because.endswith("'found' is not updated, impl_evaluator did not succeed")


def test_condition_on_data_that_a_task_brought_otherwise_is_an_error() -> None:
    rules = f"\n          - {{condition: {EXPRESSIONS[0]}, next_team: correction}}"
    with pytest.raises(TemplateFailed, match="score has no value"):
        choose(team(rules), facts(Outcome.succeeded({"scores": 3})))


def test_model_output_is_never_a_template() -> None:
    said = Outcome.succeeded({"status": "FAIL", "order": {"id": "{{ context.review }}"}})
    written = shown_writes(choose(team(), facts(said)).writes)
    assert written["current_work_order_id"] == "{{ context.review }}"


@given(json_values)
def test_the_same_facts_give_the_same_route(data: Any) -> None:
    def route() -> Route | str:
        try:
            return choose(team_once, facts(Outcome.succeeded(data)))
        except TemplateFailed as error:
            return str(error)

    assert route() == route()


team_once = team()


@given(json_values, json_values)
def test_context_update_changes_its_path_and_nothing_else(value: Any, other: Any) -> None:
    tree = {"a": {"b": other}, "c": other}
    changed = put(tree, parse("a.x.y"), value)
    assert get(changed, parse("a.x.y")) == value
    assert get(changed, parse("a.b")) == other
    assert tree == {"a": {"b": other}, "c": other}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a.0.b", 1),
        ("a[0].b", 1),
        ("a[1].b", MISSING),
        ("a.b", MISSING),
        ("", {"a": [{"b": 1}]}),
        ("a.0.b.c", MISSING),
    ],
)
def test_a_dotted_path(path: str, found: Any) -> None:
    assert get({"a": [{"b": 1}]}, parse(path)) == found


def test_an_update_through_a_text_is_a_conflict_with_its_path() -> None:
    with pytest.raises(ContextConflict, match=r"'a\.b' cannot be set: 'a' holds str"):
        apply({"a": "text"}, replacing({"a.b": 1}))


def test_a_team_has_the_name_tasks_routes_and_depth_that_are_written() -> None:
    text = DOCUMENT.replace("RULES", SEED_RULES).replace("DEFAULT", "handle_error")
    text = text.replace(
        "    review:\n", "    review:\n      name: Review\n      max_recursion_depth: 3\n"
    )
    review = plan_of(text).teams["review"]
    assert (review.name, review.max_recursion_depth) == ("Review", 3)
    assert [one.name for one in review.steps] == ["impl_evaluator", "other"]
    assert review.routing is not None
    assert [rule.next_team for rule in review.routing.rules] == [
        "correction",
        None,
        "manual_approval",
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [("total", "{{ 1 / 0 }}"), ("totals.{{ 1 / 0 }}", 1), ("n", {"increment": "{{ 1 / 0 }}"})],
)
@pytest.mark.parametrize("place", ["rule", "routing"])
def test_a_template_of_an_update_that_fails_names_the_update(
    key: str, value: Any, place: str
) -> None:
    rule: dict[str, Any] = {"condition": None, "next_team": None}
    given: dict[str, Any] = {"rules": [rule]}
    (rule if place == "rule" else given)["context_updates"] = {key: value}
    team = Team.model_validate({"id": "t", "steps": [], "routing": given})
    with pytest.raises(TemplateFailed) as failed:
        choose(team, Facts({}))
    assert str(failed.value).startswith(f"the context update {key!r}: ")
