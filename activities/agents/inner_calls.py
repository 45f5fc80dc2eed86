"""What the own code of an agent may call within its turn, where the run asks nobody."""

from activities.agents.refusals import AgentRefused
from activities.contracts import InnerCall
from dsl.model.capabilities import SkillContract


def inner_call(contract: SkillContract) -> InnerCall:
    """Return what the run learns of a call: the labels that it brings, and its effect.

    Raises:
        AgentRefused: The skill sends data out: the run may have to ask a person first.
    """
    if "egress" in contract.labels:
        raise AgentRefused(
            f"an agent type cannot call {contract.name}: it sends data out (egress), and only the "
            "run can ask a person first. Call it in a step, with `tool:` or `skill:`, and give "
            "its result to the agent"
        )
    return InnerCall(skill=contract.name, effect=contract.effect, labels=contract.labels)
