"""Compiles tools: the skill exists and accepts what the tool fixes."""

from dsl.checks.steps.command_checks import check_command
from dsl.checks.steps.consent_checks import checked_by, of_contract
from dsl.checks.steps.contract_checks import check_input
from dsl.checks.tool_conditions import check_tool_condition
from dsl.model.capabilities import Capabilities, SkillContract
from dsl.model.document import ToolSection
from dsl.model.step_kinds.step_base import SkillTerms
from dsl.model.tools.tool_contract import Tool
from dsl.source.nodes import Node, Problems
from dsl.source.unknown_names import unknown
from dsl.values import NodePath


class ToolCompiler:
    """Compiles and checks the tools of one document."""

    def __init__(self, capabilities: Capabilities, tree: Node, problems: Problems) -> None:
        self.capabilities = capabilities
        self.tree = tree
        self.problems = problems

    def tool(self, name: str, section: ToolSection) -> Tool | None:
        """Compile the tool; None, and a problem, if its skill is not known."""
        contract = self.capabilities.skills.get(section.skill)
        if contract is None:
            place: NodePath = ("tools", name, "skill")
            mark = self.tree.find(place).mark
            known = self.capabilities.skills
            unknown(self.problems, mark, place, "E204", "skill", section.skill, known)
            return None
        return self._tool(name, section, contract)

    def _tool(self, name: str, section: ToolSection, contract: SkillContract) -> Tool:
        tree, problems = self.tree, self.problems
        fixed: NodePath = ("tools", name, "fixed")
        consent: NodePath = ("tools", name, "requires_approval")
        shown = of_contract(section.requires_approval, contract, section.fixed)
        approval = checked_by(section.requires_approval, shown, consent, tree, problems)
        check_tool_condition(name, section, contract, self.capabilities, tree, problems)
        check_command(self.capabilities, problems, tree, section.skill, section.fixed, fixed)
        check_input(tree, problems, contract, section.fixed, fixed, whole=False)
        return Tool(
            skill=section.skill,
            description=section.description or contract.description,
            fixed=section.fixed,
            requires_approval=approval,
            terms=SkillTerms(
                effect=contract.effect, timeout=contract.timeout, retries=contract.retries
            ),
        )
