"""A limit of N means exactly N team visits, counted when a team starts; and what progress is."""

import pytest
from pydantic import JsonValue

from coterie.dsl.errors import LimitExceeded
from coterie.dsl.evaluate.limits import check, depth_allowed, fingerprint, non_progressing
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Limits, Team
from tests.support.compiling import plan_of


def team(depth: int | None = None, reads: tuple[str, ...] = ()) -> Team:
    return Team(id="review", name="Review", steps=(), max_recursion_depth=depth, reads=reads)


LIMITS = Limits(max_total_teams=4, max_recursion_depth=3)


def allowed(one: Team, teams_run: int, visits: int) -> bool:
    try:
        check(LIMITS, one, teams_run, {"review": visits, "other": 99})
    except LimitExceeded:
        return False
    return True


@pytest.mark.parametrize(("ran", "more"), [(0, True), (3, True), (4, False), (5, False)])
def test_the_run_as_a_whole_has_exactly_so_many_visits(ran: int, more: bool) -> None:
    assert allowed(team(9), ran, 0) is more


@pytest.mark.parametrize(
    ("own", "ran", "more"),
    [(None, 2, True), (None, 3, False), (1, 0, True), (1, 1, False), (5, 4, True), (5, 5, False)],
)
def test_a_team_has_exactly_so_many_visits_by_its_own_bound_or_the_runs(
    own: int | None, ran: int, more: bool
) -> None:
    assert allowed(team(own), 0, ran) is more


def test_the_messages_begin_with_the_words_that_were_asked_for() -> None:
    with pytest.raises(LimitExceeded) as total:
        check(LIMITS, team(), 4, {})
    assert str(total.value) == (
        "Max total teams exceeded: 4 of 4 team visits are used and 'review' would be the next"
    )
    assert (total.value.limit, total.value.allowed) == ("max_total_teams", 4)
    with pytest.raises(LimitExceeded) as depth:
        check(LIMITS, team(2), 3, {"review": 2})
    assert str(depth.value) == ("Max recursion depth for team review exceeded: it ran 2 of 2 times")
    assert (depth.value.limit, depth.value.allowed) == ("max_recursion_depth", 2)
    assert str(non_progressing(team(reads=("a.b", "")))) == (
        "Non-progressing loop detected: team review is entered again and nothing that it reads "
        "has changed (a.b, the whole context)"
    )


def test_the_defaults_are_thirty_and_five() -> None:
    plan = plan_of("orchestration: {entry_team: a, teams: {a: {tasks: [{name: s}]}}}")
    assert (plan.limits.max_total_teams, plan.limits.max_recursion_depth) == (30, 5)
    assert plan.limits.no_progress == "ignore"
    assert depth_allowed(plan.limits, plan.teams["a"]) == 5


DOCUMENT = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {system: "For {{ context.reader }}.", user: "{{ input.text }}"}}
orchestration:
  entry_team: a
  no_progress: fail
  teams:
    a:
      tasks:
        - name: write
          agent_type: generic_single_shot
          persona_key: writer
          input: {text: "{{ context.draft.text }}"}
          when: {context_field: wanted, operator: exists}
      routing:
        rules:
          - condition: "{{ context.round < 3 }}"
            next_team: a
            context_updates: {copy: "{{ context.source }}"}
        default: null
    b:
      tasks: [{name: note, type: set, values: {x: "{{ teams.a.tasks.write.data.text }}"}}]
    c:
      tasks: [{name: old, agent_class: legacy.agents.Old}]
    d:
      tasks: [{name: note, type: set, values: {x: "{{ context['teams:w'] }}"}}]
"""
TEAMS = plan_of(DOCUMENT).teams


def test_reads_of_a_team_are_known_before_it_runs() -> None:
    assert sorted(TEAMS["a"].reads) == ["draft.text", "reader", "round", "source", "wanted"]
    assert TEAMS["b"].reads == ()
    assert TEAMS["b"].reads_teams == ("a.tasks.write.data.text",)
    assert TEAMS["c"].reads == ("",), "a legacy agent is given everything"


def test_a_context_key_that_looks_like_a_mark_is_read_from_the_context() -> None:
    assert (TEAMS["d"].reads, TEAMS["d"].reads_teams) == (("teams:w",), ())


@pytest.mark.parametrize(
    ("changed", "progress"),
    [
        ({"draft": {"text": "new"}}, True),
        ({"round": 2}, True),
        ({"wanted": None}, True),
        ({"draft": {"text": "old", "other": 1}}, False),
        ({"unrelated": 1}, False),
    ],
)
def test_progress_is_a_change_of_what_the_team_looks_at(
    changed: dict[str, JsonValue], progress: bool
) -> None:
    context: dict[str, JsonValue] = {"draft": {"text": "old"}, "round": 1}
    before = fingerprint(TEAMS["a"], context, {})
    assert (fingerprint(TEAMS["a"], {**context, **changed}, {}) != before) is progress


def test_the_order_of_keys_is_no_progress() -> None:
    one = team(reads=("x",))
    before = fingerprint(one, {"x": {"a": 1, "b": 2}}, {})
    assert fingerprint(one, {"x": {"b": 2, "a": 1}}, {}) == before


def test_a_missing_field_is_not_a_null() -> None:
    one = team(reads=("x",))
    assert fingerprint(one, {}, {}) != fingerprint(one, {"x": None}, {})


def test_results_of_earlier_teams_count_as_progress() -> None:
    def marked(text: str, other: str = "") -> str:
        outcomes = {"write": Outcome.succeeded({"text": text, "other": other})}
        return fingerprint(TEAMS["b"], {}, {"a": outcomes})

    assert marked("one") == marked("one", other="seen by nobody")
    assert marked("one") != marked("two")
    assert marked("one") != fingerprint(TEAMS["b"], {}, {})
