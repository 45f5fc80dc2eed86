"""Settings of model calls on personas that only ever follow a plan: no call is made with them."""

from dsl.analysis.bodies import Bodies
from dsl.nodes import Node, Problems
from dsl.personas import ORCHESTRATING
from dsl.steps import AgentStep
from dsl.values import NodePath

_PERSONAS: NodePath = ("llm_config", "personas")
_OF_CALLS = ("temperature", "top_p", "max_tokens", "timeout", "retries")


def check_settings(bodies: Bodies, tree: Node, problems: Problems) -> None:
    """Note each setting that no call has."""
    used: dict[str, bool] = {}
    for body in (*bodies.teams.values(), *bodies.plans.values()):
        for step, _ in body.walked():
            if isinstance(step, AgentStep) and step.persona_key is not None:
                key = step.persona_key.partition("@")[0]
                used[key] = used.get(key, False) or step.agent_type != ORCHESTRATING
    for key, asked in used.items():
        written = tree.find((*_PERSONAS, key)).entries()
        for name in () if asked else _OF_CALLS:
            if name in written:
                place = (*_PERSONAS, key, name)
                problems.add(
                    "W513", written[name].at, place,
                    f"`{name}` has no effect: the persona {key!r} only follows its plan, and asks "
                    "no model itself", fix="move it to the persona of an agent step of the plan",
                )  # fmt: skip
