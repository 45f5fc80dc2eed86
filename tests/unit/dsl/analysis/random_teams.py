"""Random small documents: random conditions, routes, fan-outs, loops, calls, bounds of visits."""

import json
from typing import Any

from hypothesis import strategies as st

from coterie.dsl.compile.compiler import Compiled, SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.values import Json
from tests.unit.dsl.analysis.documents import CAPABILITIES

Strategy = st.SearchStrategy[Any]
TEAMS = ("a", "b", "c", "d")
MEET = "meet"
PERSONAS: dict[str, Any] = {"writer": {"prompts": {"user": "Write."}, "max_reasks": 1}}


def task_conditions(team: str) -> Strategy:
    """Conditions that are decided by the team's own tasks alone, each visit anew."""
    names = st.sampled_from([f"{team}1", f"{team}2"])
    leaf: Strategy = st.one_of(
        st.fixed_dictionaries(
            {"task": names, "status": st.sampled_from(["success", "failure", "skipped"])}
        ),
        st.fixed_dictionaries(
            {
                "task": names,
                "output_field": st.just("v"),
                "operator": st.sampled_from(["equals", "not_equals"]),
                "value": st.sampled_from([0, 1]),
            }
        ),
        st.fixed_dictionaries(
            {"task": names, "output_field": st.just("v"), "operator": st.just("exists")}
        ),
        st.sampled_from(["all_success", "any_success", "any_failure", "all_failure"]),
    )
    return _joined(leaf)


def context_conditions() -> Strategy:
    """Conditions on the context, which earlier teams may have set."""
    return st.fixed_dictionaries(
        {
            "context_field": st.just("x"),
            "operator": st.sampled_from(["equals", "not_equals"]),
            "value": st.sampled_from([0, 1]),
        }
    )


def _joined(leaf: Strategy) -> Strategy:
    two = st.lists(leaf, min_size=2, max_size=2)
    return st.one_of(
        leaf, two, two.map(lambda parts: {"or": parts}), leaf.map(lambda part: {"not": part})
    )


@st.composite
def documents(draw: st.DrawFn, *, simple: bool) -> Json:
    """A document; a simple one has no fan-outs, no called teams and asks nothing of the context."""
    names = TEAMS[: draw(st.integers(1, len(TEAMS)))]
    there = [*names] if simple else [*names, MEET]
    bounded = (
        not simple and draw(st.integers(0, 3)) == 3
    )  # in place of called teams, which have no bound
    teams: dict[str, Any] = {
        name: draw(_team(name, there, simple=simple, bounded=bounded)) for name in names
    }
    if not simple:
        teams[MEET] = {"type": "concentrator", "routing": draw(_routing(MEET, there, simple=False))}
    return {
        "llm_config": {
            "default_provider": "scripted",
            "default_model": "demo",
            "personas": PERSONAS,
        },
        "orchestration": {
            "entry_team": "a",
            "max_total_teams": draw(st.integers(1, 6)),
            "max_recursion_depth": draw(st.integers(1, 3)),
            "teams": teams,
        },
    }


@st.composite
def _team(draw: st.DrawFn, name: str, there: list[str], *, simple: bool, bounded: bool) -> Json:
    tasks: list[Any] = [_agent(f"{name}1"), _agent(f"{name}2")]
    if not simple and not bounded:
        tasks += draw(st.lists(_block(name, there), max_size=1))
    routing = draw(st.none() | _routing(name, there, simple=simple))
    team: Json = {"tasks": tasks, "stop_on_failure": draw(st.booleans())}
    others = [other for other in there if other != name]
    if bounded and draw(st.booleans()):
        per, then = (draw(st.sampled_from(others)) for _ in range(2))
        team["max_visits"] = {"per": per, "limit": draw(st.integers(1, 2)), "then": then}
    return team if routing is None else {**team, "routing": routing}


def _agent(name: str) -> Json:
    return {"name": name, "agent_type": "generic_single_shot", "persona_key": "writer"}


def _block(name: str, there: list[str]) -> Strategy:
    body = [_agent(f"{name}3")]
    return st.sampled_from(
        [
            {"name": f"{name}4", "team": there[-2]},
            {"name": f"{name}4", "iterate_on": [1, 2], "loop_variable": "one", "body": body},
            {
                "name": f"{name}4",
                "until": {"task": f"{name}3", "status": "success"},
                "max_iterations": 2,
                "body": body,
            },
            {"name": f"{name}4", "branches": {"one": body, "two": [_agent(f"{name}5")]}},
            {
                "name": f"{name}4",
                "retry": {"retries": 1},
                "steps": body,
                "catch": [{"steps": [_agent(f"{name}5")]}],
            },
        ]
    )


@st.composite
def _routing(draw: st.DrawFn, name: str, there: list[str], *, simple: bool) -> Json:
    task = st.just("any_success") if name == MEET else task_conditions(name)
    asked = task if simple else st.one_of(task, context_conditions())
    target: Strategy = st.none() | st.sampled_from(there)
    if not simple:
        several = st.lists(st.sampled_from(there), min_size=2, max_size=2, unique=True)
        target = st.one_of(target, several)
    rule = st.fixed_dictionaries(
        {"next_team": target, "context_updates": st.sampled_from([{}, {"x": 0}, {"x": 1}])},
        optional={"condition": asked},
    )
    rules = draw(st.lists(rule, max_size=3))
    routing: dict[str, Any] = {"rules": [_meeting(one) for one in rules]}
    if draw(st.booleans()):
        routing["default"] = draw(st.none() | st.sampled_from(there))
    return routing


def _meeting(rule: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(rule["next_team"], list):
        return rule
    return {**rule, "concentrator": MEET, "merge": {"x": "replace"}}


def compiled(document: Json) -> Compiled | None:
    """The document compiled; None where the compiler refuses it."""
    try:
        return compile_sources(
            [SourceText("team.yml", json.dumps(document))],
            CAPABILITIES,
            name="test",
        )
    except InvalidDocument:
        return None
