"""What asking the hooks of a point gives: which rule, what they change, and what the trail says."""

import pytest

from coterie.activities.contracts import FunctionRequest
from coterie.dsl.hooks.hook_rulings import HookRuling
from coterie.dsl.model.hooks import Hook, HookPoint
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.agents.hook_points import HookVerdict, ask_hooks
from coterie.workflows.core.causes.agent_causes import HookDecided
from coterie.workflows.core.location import Location, Skipped
from coterie.workflows.core.messages import SkipInput
from coterie.workflows.core.state_keys import MAIN
from tests.support.simulation.egress_runs import PeopleScope
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import READ, ExtendingScope, ModelWorld, answer, persona, tool_plan

PLAN = tool_plan({}, {"actor": persona()}, egress_approval={})
HERE = Location.of_visit(MAIN, "work", 1).at("act")
CHECKED: Json = {"skill": "Check.it", "terms": READ, "input": {"n": 1}}


def hook(on: str, decide: str, name: JsonValue = "h", **more: JsonValue) -> Hook:
    when = more.pop("when", None)
    condition: Json = {} if when is None else {"when": {"expression": when}}
    given: Json = {"name": name, "on": on, "decide": decide, **condition, **more}
    return Hook.model_validate(given)


def scope_of(found: JsonValue = None) -> PeopleScope:
    """A scope whose tool function finds this, and in which ann rejects what sends data."""
    state = fresh(PLAN, {"x": 1})
    world = ModelWorld(lambda _, __: answer("done"), lambda _: found)
    scope = PeopleScope(PLAN, state, world, None)
    scope.decide, scope.asked = lambda _: "reject", []
    return scope


async def asked(
    scope: PeopleScope, point: HookPoint, *hooks: Hook, facts: Json | None = None
) -> HookVerdict:
    return await ask_hooks(hooks, point, facts or {}, HERE, scope)


def decided(scope: PeopleScope) -> list[HookDecided]:
    causes = [entry.cause for entry in scope.state.trail]
    return [one for one in causes if isinstance(one, HookDecided)]


async def test_a_hook_whose_condition_does_not_hold_leaves_the_next_ones_to_decide() -> None:
    scope = scope_of()
    hooks = (
        hook("before_turn", "fail", "first", when="{{ context.x == 2 }}"),
        hook("before_turn", "reject", "second"),
        hook("before_turn", "fail", "third"),
    )
    verdict = await asked(scope, "before_turn", *hooks)
    assert verdict.stop == HookRuling("second", "reject")
    assert [one.hook for one in decided(scope)] == ["second"]


@pytest.mark.parametrize(
    ("found", "decision"),
    [({"bad": True}, "reject"), ({"bad": False}, None), ({}, "fail"), (None, "fail")],
    ids=["it holds", "it does not hold", "a field without a value", "no result"],
)
async def test_a_condition_that_reads_the_check_is_decided_after_the_function_of_the_hook(
    found: JsonValue, decision: str | None
) -> None:
    scope = scope_of(found)
    one = hook("before_turn", "reject", when="{{ check.bad }}", **CHECKED)
    verdict = await asked(scope, "before_turn", one)
    assert (None if verdict.stop is None else verdict.stop.decision) == decision
    assert len(scope.world.calls) == 1
    assert [one.condition for one in decided(scope)] == [None] * (decision is not None)


@pytest.mark.parametrize(
    ("when", "calls"), [("{{ context.x == 1 }}", 1), ("{{ context.x > 1 }}", 0)]
)
async def test_a_condition_of_the_run_decides_whether_the_function_of_a_hook_is_called(
    when: str, calls: int
) -> None:
    scope = scope_of({"bad": False})
    verdict = await asked(scope, "before_turn", hook("before_turn", "reject", when=when, **CHECKED))
    assert (verdict.stop is not None, len(scope.world.calls)) == (calls == 1, calls)
    assert [one.condition is not None for one in decided(scope)] == [True] * calls


@pytest.mark.parametrize(
    ("point", "value", "notes", "writes"),
    [
        ("before_turn", "Be brief.", ["Be brief."], {}),
        ("before_model_call", "Be brief.", ["Be brief."], {}),
        ("after_model_call", "brief", [], {}),
        ("after_model_call", {"n": 2}, [], {}),
        ("after_tool_call", "brief", [], {}),
        ("after_run", {"n": 2}, [], {}),
        ("before_run", {"n": 2}, [], {"n": 2}),
    ],
)
async def test_what_a_hook_changes_is_a_note_a_write_or_a_fact_of_its_point(
    point: HookPoint, value: JsonValue, notes: list[str], writes: Json
) -> None:
    verdict = await asked(scope_of(), point, hook(point, "modify", value=value))
    assert (verdict.notes, verdict.writes, verdict.changed_by) == (notes, writes, ["h"])
    assert verdict.stop is None


@pytest.mark.parametrize(
    ("point", "kind"),
    [("before_run", "run"), ("after_run", "run"), ("before_turn", "step")],
)
async def test_the_trail_has_the_hooks_of_a_run_beside_its_steps(
    point: HookPoint, kind: str
) -> None:
    scope = scope_of()
    await asked(scope, point, hook(point, "fail"))
    [entry] = scope.state.trail
    assert (entry.kind == "step", entry.step) == (
        kind == "step",
        "act" if kind == "step" else None,
    )
    assert [one.point for one in decided(scope)] == [point]


@pytest.mark.parametrize(("skipped", "ends"), [("work/act", True), ("work/other", False)])
async def test_a_step_that_is_skipped_while_its_hook_is_checked_ends(
    skipped: str, ends: bool
) -> None:
    scope = scope_of()

    def skips(_: FunctionRequest) -> JsonValue:
        scope.state.skips[skipped] = SkipInput(task=skipped, value=7, by="ann")
        return {}

    scope.world = ModelWorld(lambda _, __: answer("done"), skips)
    one = hook("before_turn", "reject", **CHECKED)
    if ends:
        with pytest.raises(Skipped) as left:
            await asked(scope, "before_turn", one)
        assert (left.value.value, scope.state.skips) == (7, {})
    else:
        assert (await asked(scope, "before_turn", one)).stop is not None
        assert list(scope.state.skips) == [skipped]


def labelled(name: str, *labels: str) -> Hook:
    terms: Json = {**READ, "labels": list(labels)}
    return hook("before_turn", "modify", name, value="x", skill=name, terms=terms)


async def test_the_labels_of_a_check_stay_with_the_run_and_guard_what_sends_data() -> None:
    scope = scope_of({})
    await asked(scope, "before_turn", labelled("Files.read", "private"))
    await asked(scope, "before_turn", labelled("Web.page", "untrusted"))
    assert [one.label for one in scope.state.labels.met] == ["private", "untrusted"]
    verdict = await asked(scope, "before_turn", labelled("Mail.send", "egress"))
    assert verdict.stop is not None
    assert verdict.stop.decision == "fail"
    assert "Mail.send" in verdict.reason
    assert len(scope.asked) == 1
    assert len(scope.world.calls) == 2


async def test_a_run_does_not_continue_as_new_while_a_budget_asks_about_a_check() -> None:
    """What the hook looks at is not recorded yet."""
    budgets: list[JsonValue] = [{"kind": "tool_calls", "limit": 1, "on_exceeded": "ask"}]
    plan = tool_plan({}, {"actor": persona()}, budgets=budgets)
    world = ModelWorld(lambda _, __: answer("done"), lambda _: {})
    scope = ExtendingScope(plan, fresh(plan, {}), world, None)
    one = hook("before_turn", "modify", value="x", **CHECKED)
    for _ in range(2):
        await ask_hooks((one,), "before_turn", {}, HERE, scope)
    assert (scope.boundaries, len(world.calls)) == ([False], 2)
