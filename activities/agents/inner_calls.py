"""What the own code of an agent may call within its turn, where the run asks nobody."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from activities.agents.refusals import AgentRefused
from activities.contracts import InnerCall, SkillRequest
from dsl.egress.channel_labels import call_labels, kind_of_call
from dsl.model.capabilities import Reach, SkillContract


@dataclass(frozen=True, slots=True)
class InnerCalls:
    """What a worker knows of the skills that an agent's own code calls."""

    contracts: Mapping[str, SkillContract]
    reach: Reach = field(default_factory=Reach)

    def of(self, request: SkillRequest) -> InnerCall | None:
        """Return what the run learns of a call: the labels that it brings, and its effect.

        Raises:
            AgentRefused: The call sends data out: the run may have to ask a person first.
        """
        contract = self.contracts.get(request.skill)
        if contract is None:
            return None
        labels = call_labels(contract, request.input, self.reach)
        if "egress" in labels:
            offline = (
                "; if the function uses no network, name it in `worker.offline_tools`"
                if kind_of_call(contract.name) == "function"
                else ""
            )
            raise AgentRefused(
                f"an agent type cannot call {contract.name}: it sends data out (egress), and only "
                "the run can ask a person first. Call it in a step, with `tool:` or `skill:`, and "
                f"give its result to the agent{offline}"
            )
        return InnerCall(skill=contract.name, effect=contract.effect, labels=labels)
