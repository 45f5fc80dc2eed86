"""Compiles tools: what each is made of, the contract of its calls, and the digest that pins it."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import assert_never

from coterie.dsl.checks.agents.edited_value_schemas import checked_by
from coterie.dsl.checks.contracts.command_checks import check_command
from coterie.dsl.checks.contracts.contract_checks import check_input
from coterie.dsl.checks.tools.memory_checks import check_memory_terms
from coterie.dsl.checks.tools.section_checks import (
    check_attempts,
    check_function_tool,
    check_grants,
    check_memory,
    check_schema,
    check_tool_condition,
)
from coterie.dsl.checks.tools.tool_names import written_personas
from coterie.dsl.compile.agent_resolver import AgentResolver
from coterie.dsl.egress.channel_labels import call_labels
from coterie.dsl.errors import listed
from coterie.dsl.json_schema.argument_schemas import (
    arguments_schema,
    declared_arguments,
)
from coterie.dsl.json_schema.offered_schema import offered_schema
from coterie.dsl.model.capabilities import Capabilities, FunctionContract
from coterie.dsl.model.decision_terms import NEVER, Approval, CallApproval
from coterie.dsl.model.document import SystemDocument
from coterie.dsl.model.memory_terms import MemorySection
from coterie.dsl.model.step_kinds.step_base import FunctionTerms, terms_of
from coterie.dsl.model.tools.local_activities import is_local
from coterie.dsl.model.tools.tool_contract import (
    ActivityTool,
    AgentTool,
    ApiTool,
    FunctionTool,
    McpTool,
    NestedTool,
    NexusTool,
    TeamTool,
    Tool,
    WorkflowTool,
)
from coterie.dsl.model.tools.tool_section import (
    ActivityToolSection,
    AgentToolSection,
    ApiGroupSection,
    ApiToolSection,
    FunctionToolSection,
    McpGroupSection,
    McpToolSection,
    NestedToolSection,
    NexusToolSection,
    OneCallSection,
    OwnCallSection,
    TeamToolSection,
    ToolSection,
    ToolSectionBase,
    WorkflowToolSection,
)
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.tool_loop.function_stubs import result_type
from coterie.dsl.values import Json, NodePath


@rule("E102")
def description_missing(name: str) -> ProblemText:
    return ProblemText(
        f"the key 'description' is missing: a model chooses the tool {name!r} by it",
        fix="add `description:`",
    )


@rule("E213")
def fixed_unknown(name: str, argument: str, known: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"`fixed` sets {argument!r}, which the tool {name!r} does not take",
        listed(known),
        "add it to `input_schema`, or remove it",
    )


_ON_TEMPORAL: Mapping[str, str] = {
    "activity": "activity",
    "workflow": "workflow",
    "nexus": "Nexus operation",
}


@dataclass(frozen=True)
class ToolCompiler:
    """Compiles and checks the tools of one document, with those made of its subagents."""

    document: SystemDocument
    capabilities: Capabilities
    agents: AgentResolver
    paths: Mapping[str, NodePath]
    """`{tool: where it is written}`."""
    tree: Node
    problems: Problems

    def tools(self) -> dict[str, Tool]:
        """Compile every tool; those with a problem of their own are left out."""
        compiled = {
            name: self._tool(name, section) for name, section in self.document.tools.items()
        }
        tools = {name: tool for name, tool in compiled.items() if tool is not None}
        if any(persona.code_mode for persona, _ in written_personas(self.document)):
            return {name: self._with_result(tool) for name, tool in tools.items()}
        return tools

    def _with_result(self, tool: Tool) -> Tool:
        """Return a tool with the type of its result, which code wants to know."""
        if isinstance(tool, NestedTool):
            schema = tool.output_schema
        else:
            capabilities = self.capabilities
            known = (
                capabilities.functions,
                capabilities.server_tools,
                capabilities.temporal_calls,
            )
            contracts = (contracts.get(tool.made_of) for contracts in known)
            contract = next((contract for contract in contracts if contract is not None), None)
            schema = None if contract is None else contract.output_schema
        return tool.model_copy(update={"returns": result_type(schema)}) if schema else tool

    def _tool(self, name: str, section: ToolSection) -> Tool | None:
        path = self.paths[name]
        match section:
            case FunctionToolSection():
                return self._function(name, section, path)
            case AgentToolSection():
                return self._agent(name, section, path)
            case TeamToolSection():
                return self._team(name, section, path)
            case McpToolSection() | ApiToolSection():
                return self._of_server(name, section, path)
            case ActivityToolSection() | WorkflowToolSection() | NexusToolSection():
                return self._on_temporal(name, section, path)
            case McpGroupSection() | ApiGroupSection():
                return None  # its members are tools
            case _:
                assert_never(section)

    def _function(self, name: str, section: FunctionToolSection, path: NodePath) -> Tool | None:
        functions = self.capabilities.functions
        contract = functions.get(section.skill)
        if contract is None:
            self._unknown("tool function", section.skill, functions, (*path, "skill"))
            return None
        fixed: NodePath = (*path, "fixed")
        check_command(
            self.capabilities, self.problems, self.tree, section.skill, section.fixed, fixed
        )
        make = partial(FunctionTool, skill=section.skill)
        return self._tool_of_contract(name, section, contract, path, make)

    def _of_server(
        self, name: str, section: McpToolSection | ApiToolSection, path: NodePath
    ) -> Tool | None:
        contract = self.capabilities.server_tools.get(section.made_of)
        if contract is None:
            return None  # already noted
        if isinstance(section, McpToolSection):
            make = partial(McpTool, mcp=section.mcp, listing=contract.listing)
        else:
            make = partial(ApiTool, api=section.api, listing=contract.listing)
        return self._tool_of_contract(name, section, contract, path, make)

    def _on_temporal(
        self,
        name: str,
        section: ActivityToolSection | WorkflowToolSection | NexusToolSection,
        path: NodePath,
    ) -> Tool | None:
        calls, made_of = self.capabilities.temporal_calls, section.made_of
        contract = calls.get(made_of)
        if contract is None or contract.kind != section.kind:
            names = [known for known, call in calls.items() if call.kind == section.kind]
            self._unknown(_ON_TEMPORAL[section.kind], made_of, names, (*path, section.kind))
            return None
        make: Callable[..., Tool]
        match section:
            case ActivityToolSection():
                make = partial(ActivityTool, activity=made_of, target=contract.target)
            case WorkflowToolSection():
                make = partial(WorkflowTool, workflow=made_of, target=contract.target)
            case NexusToolSection():
                make = partial(NexusTool, nexus=made_of, target=contract.target)
            case _:
                assert_never(section)
        return self._tool_of_contract(name, section, contract, path, make)

    def _tool_of_contract(
        self,
        name: str,
        section: OneCallSection,
        contract: FunctionContract,
        path: NodePath,
        make: Callable[..., Tool],
    ) -> Tool:
        """Return a tool whose call is one activity."""
        tree, problems = self.tree, self.problems
        check_function_tool(name, section, contract, path, tree, problems)
        self._approval(name, section, contract.input_schema, contract.output_schema)
        if isinstance(section, FunctionToolSection) and section.memory is not None:
            self._memory(section, section.memory, path)
        own = call_labels(contract, section.fixed, self.capabilities.reach)
        labels = tuple(dict.fromkeys((*own, *section.labels)))
        check_grants(name, section, labels, path, tree, problems)
        fixed: NodePath = (*path, "fixed")
        check_input(tree, problems, contract, section.fixed, fixed, whole=False)
        approval = checked_by(
            section.requires_approval,
            contract.input_schema,
            contract.output_schema,
            (*path, "requires_approval"),
            tree,
            problems,
            fixed=section.fixed,
        )
        return _pin_tool(
            make(
                description=section.description or contract.description,
                fixed=section.fixed,
                requires_approval=_terms_of_question(approval) if contract.asks else approval,
                terms=_terms(section, contract),
                input_schema=arguments_schema(contract.input_schema, section.fixed),
                max_result=section.max_result,
                labels=labels,
                grants=section.grants,
                cache=section.cache,
            ),
            name,
            contract.output_schema,
        )

    def _memory(self, section: FunctionToolSection, memory: MemorySection, path: NodePath) -> None:
        orchestration = self.document.orchestration
        has_user = orchestration is None or orchestration.user is not None
        check_memory_terms(
            section.skill, memory, (*path, "memory"), self.tree, self.problems, has_user=has_user
        )

    def _agent(self, name: str, section: AgentToolSection, path: NodePath) -> Tool | None:
        agent, personas = section.agent, self.document.llm_config.personas
        if agent not in personas:
            self._unknown("persona", agent, personas, (*path, "agent"))
            return None
        schema = self._arguments(name, section, path)
        if schema is None:
            return None
        check_memory(name, section, self.document.tools, path, self.tree, self.problems)
        inputs = schema.get("properties")
        argument_names = tuple(inputs) if isinstance(inputs, dict) else ()
        persona = self.agents.tool_agent(name, agent, argument_names, path)
        own = section.output_schema or (None if persona is None else persona.output_schema)
        described = section.description or personas[agent].description or ""
        make = partial(AgentTool, agent=agent, stateful=section.stateful, reads=section.reads)
        return self._nested_tool(name, section, schema, own, described, path, make)

    def _team(self, name: str, section: TeamToolSection, path: NodePath) -> Tool | None:
        team, orchestration = section.team, self.document.orchestration
        teams = {} if orchestration is None else orchestration.teams
        if team not in teams:
            self._unknown("team", team, teams, (*path, "team"))
            return None
        schema = self._arguments(name, section, path)
        if schema is None:
            return None
        described = section.description or teams[team].description or ""
        make = partial(TeamTool, team=team)
        result = section.output_schema
        return self._nested_tool(name, section, schema, result, described, path, make)

    def _nested_tool(
        self,
        name: str,
        section: AgentToolSection | TeamToolSection,
        schema: Json,
        result: Json | None,
        description: str,
        path: NodePath,
        make: Callable[..., AgentTool | TeamTool],
    ) -> Tool:
        """Return a tool made of an agent or a team."""
        tree, problems = self.tree, self.problems
        check_attempts(name, section, path, tree, problems)
        check_schema(name, "output_schema", section.output_schema, path, tree, problems)
        self._approval(name, section, schema, result or {})
        if not description:
            where = (*path, "description")
            problems.report(description_missing(name), Place(tree.find(path).at, where))
        reads = section.reads if isinstance(section, AgentToolSection) else ()
        approval = checked_by(
            section.requires_approval,
            schema,
            result,
            (*path, "requires_approval"),
            tree,
            problems,
            fixed=section.fixed,
        )
        return _pin_tool(
            make(
                description=with_sources(
                    description, [source_read.source for source_read in reads]
                ),
                fixed=section.fixed,
                requires_approval=approval,
                timeout=section.timeout,
                retries=section.retries or 0,
                on_error=section.on_error or "surface",
                input_schema=arguments_schema(schema, section.fixed),
                output_schema=section.output_schema,
                max_result=section.max_result,
                labels=section.labels,
                grants=section.grants,
            ),
            name,
            result,
        )

    def _arguments(self, name: str, section: NestedToolSection, path: NodePath) -> Json | None:
        """Return the schema of the arguments of an agent or a team; None if it is unusable."""
        schema = declared_arguments(section.input_schema)
        if not check_schema(name, "input_schema", schema, path, self.tree, self.problems):
            return None
        properties = schema.get("properties")
        argument_names = tuple(properties) if isinstance(properties, dict) else ()
        for argument in section.fixed:
            if argument not in argument_names and schema.get("additionalProperties") is False:
                key_path = (*path, "fixed", argument)
                details = fixed_unknown(name, argument, argument_names)
                self.problems.report(details, self.tree.key_at(key_path))
        return schema

    def _approval(self, name: str, section: ToolSectionBase, schema: Json, result: Json) -> None:
        check_tool_condition(
            name, section, schema, result, self.capabilities, self.tree, self.problems
        )

    def _unknown(self, what: str, name: str, names: Collection[str], path: NodePath) -> None:
        unknown(self.problems, self.tree.value_at(path), what, name, names)


def _terms_of_question(approval: Approval) -> Approval:
    """Return the terms of the question alone: a call that only asks needs no approval.

    `at: after` and a written `when` stay: then a person also accepts the answer, or allows it.
    """
    if (
        not isinstance(approval, CallApproval)
        or approval.when is not None
        or approval.at == "after"
    ):
        return approval
    return approval.model_copy(update={"when": NEVER})


def _terms(section: OneCallSection, contract: FunctionContract) -> FunctionTerms:
    """Return the terms of a tool function's contract with the values that the tool overrides.

    The labels are the tool's own.
    """
    terms = terms_of(contract, timeout=section.timeout, retries=section.retries)
    asked = section.local_activity if isinstance(section, OwnCallSection) else None
    is_local_call = is_local(asked, contract)
    memory = section.memory if isinstance(section, FunctionToolSection) else None
    update = {"labels": (), "local_activity": is_local_call, "memory": memory}
    return terms.model_copy(update=update)


def _pin_tool(tool: Tool, name: str, result: Json | None) -> Tool:
    """Return the tool with the digest of all that its callers rely on."""
    relied = {
        "name": name,
        "origin": [tool.kind, tool.made_of],
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": result,
        "effect": tool.effect,
        "labels": sorted(tool.labels),
    }
    text = json.dumps(relied, sort_keys=True, separators=(",", ":"))
    update: dict[str, object] = {"contract": sha256(text.encode()).hexdigest()}
    if tool.input_schema is not None:
        offered = offered_schema(tool.input_schema)
        if offered.rules:
            update["offered_schema"] = offered.schema
    return tool.model_copy(update=update)


def with_sources(description: str, sources: Sequence[str]) -> str:
    """Say whose work a tool sees, so that an orchestrator calls tools in a useful order."""
    if not sources:
        return description
    names = ", ".join(sources)
    return f"{description}\nIt sees the work of {names}; call {names} before it."
