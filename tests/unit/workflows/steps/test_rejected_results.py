"""Which calls may be repeated when `fail_when` rejects their result: none that must happen once."""

import pytest

from dsl.model.capabilities import Effect
from dsl.model.step_kinds.step_base import SkillTerms
from dsl.model.steps import FailStep, SkillStep, Step, ToolStep
from dsl.values import Json
from tests.support.simulation.stopping import StoppingScope, World, fresh
from tests.support.tool_agents import READ, skill_tool, tool_plan
from workflows.result_checks import RESULT_REJECTED, may_repeat

HELPER: Json = {"provider": "scripted", "model": "demo", "prompts": {"user": "x"}}
TOOLS: dict[str, Json] = {
    "reads": skill_tool("Clock.now"),
    "acts": skill_tool("Act.once", terms={**READ, "effect": "once"}),
    "again": skill_tool("Act.again", terms={**READ, "effect": "idempotent"}),
    "helper": {"agent": "helper"},
}


def scope(*tools: str) -> StoppingScope:
    step: Json = {"agent_type": "generic_single_shot"}
    plan = tool_plan(
        {name: TOOLS[name] for name in tools}, {"actor": HELPER, "helper": HELPER}, step=step
    )
    return StoppingScope(plan, fresh(plan, {}), World(lambda _: {}), None)


def skill(effect: Effect | None) -> Step:
    terms = None if effect is None else SkillTerms(effect=effect, timeout=1, retries=0)
    return SkillStep(kind="skill", name="s", skill="A.b", terms=terms)


@pytest.mark.parametrize(
    ("step", "tools", "may"),
    [
        (skill("read"), (), True),
        (skill("idempotent"), (), True),
        (skill("once"), (), False),
        (skill(None), (), False),
        (ToolStep(kind="tool", name="s", tool="reads"), ("reads", "acts"), True),
        (ToolStep(kind="tool", name="s", tool="again"), ("again", "acts"), True),
        (ToolStep(kind="tool", name="s", tool="acts"), ("reads", "acts"), False),
        (ToolStep(kind="tool", name="s", tool="helper"), ("helper", "reads"), False),
        (ToolStep(kind="tool", name="s", tool="{{ context.tool }}"), ("reads", "acts"), False),
        (ToolStep(kind="tool", name="s", tool="{{ context.tool }}"), ("acts", "reads"), False),
        (ToolStep(kind="tool", name="s", tool="{{ context.tool }}"), ("reads", "again"), True),
        (FailStep(kind="fail", name="s", error="E", message="m"), (), True),
    ],
)
def test_a_rejected_result_is_asked_for_again_unless_its_call_must_happen_once(
    step: Step, tools: tuple[str, ...], may: bool
) -> None:
    assert may_repeat(step, RESULT_REJECTED, scope(*tools)) is may
    assert may_repeat(step, "ProviderUnavailable", scope(*tools)) is True
