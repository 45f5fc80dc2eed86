"""Checks of the tools that a persona offers, by what its vendors refuse of tools."""

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from coterie.dsl.errors import listed
from coterie.dsl.json_schema.offered_schema import offered_schema
from coterie.dsl.model.agent_skills import USE_SKILL
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.sections.provider_document import ProviderSection
from coterie.dsl.model.tools.tool_contract import Tool
from coterie.dsl.model.tools.tool_use import CONSTANT_TOOLS, NamedTool
from coterie.dsl.model.traversal.code_mode import code_runners, direct_tools
from coterie.dsl.model.vendors.vendor_rules import TOOL_SCHEMA_RULES, ToolSchemaRule
from coterie.dsl.model.vendors.vendors import APIS, VendorApi, refusing_apis, vendor_names
from coterie.dsl.model_names import split_model
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.values import NodePath

Sections = Mapping[str, ProviderSection]


@rule("W527")
def schemas_rewritten(
    tools: Sequence[str], vendors: Sequence[str], findings: Sequence[str]
) -> ProblemText:
    verb = "refuses" if len(vendors) == 1 else "refuse"
    whose = "a schema with" if len(tools) == 1 else "schemas with"
    return ProblemText(
        f"{' and '.join(vendors)} {verb} {whose} {', '.join(findings)}: {listed(tools)}; models "
        "see them rewritten, and calls get the tool's own names",
        fix="keep it, change the tool, or leave it out with `include` or `exclude_tools`",
    )


def check_offered_schemas(
    tools: Mapping[str, Tool],
    personas: Mapping[str, Persona],
    sections: Sections,
    paths: Mapping[str, NodePath],
    tree: Node,
    problems: Problems,
) -> None:
    """Warn of schemas that a vendor of a persona refuses as they are, once for each written tool.

    Args:
        tools: Of the plan.
        personas: Of the plan.
        sections: The providers that the document configures.
        paths: `{tool: where it is written}`.
        tree: The document.
        problems: Collects the findings.
    """
    refusals: dict[NodePath, dict[str, _Refused]] = {}
    for persona in personas.values():
        own = frozenset(_apis_of(persona, sections))
        for name in sent_tools(persona, tools):
            refused = _find_refusal(tools.get(name), own)
            if refused.rules:
                group = _written_as(name, paths, tree)
                of_tools = refusals.setdefault(group, {})
                of_tools[name] = refused.with_apis(of_tools.get(name))
    for path, of_tools in refusals.items():
        broken: set[ToolSchemaRule] = set()
        apis: set[VendorApi] = set()
        for refusal in of_tools.values():
            broken |= refusal.rules
            apis |= refusal.apis
        rules: list[ToolSchemaRule] = [rule for rule in TOOL_SCHEMA_RULES if rule in broken]
        findings = [TOOL_SCHEMA_RULES[rule] for rule in rules]
        details = schemas_rewritten(sorted(of_tools), vendor_names(apis), findings)
        problems.report(details, tree.key_at(path))


class _Refused(NamedTuple):
    """Why vendors refuse the schema of a tool."""

    rules: frozenset[ToolSchemaRule]
    apis: frozenset[VendorApi]

    def with_apis(self, other: "_Refused | None") -> "_Refused":
        if other is None:
            return self
        return _Refused(self.rules | other.rules, self.apis | other.apis)


def _written_as(name: str, paths: Mapping[str, NodePath], tree: Node) -> NodePath:
    """Return where a tool is written; the members of a group share the place of the group."""
    at = tree.find(paths[name]).at
    return next(path for path in paths.values() if tree.find(path).at == at)


def within_vendor_limits(
    personas: Mapping[str, Persona],
    tools: Mapping[str, Tool],
    sections: Sections,
    tree: Node,
    problems: Problems,
) -> dict[str, Persona]:
    """Return the personas without the tools beyond what their vendors take; warn of these."""
    return {
        key: _within_limit(key, persona, tools, sections, tree, problems)
        for key, persona in personas.items()
    }


@rule("W527")
def tools_left_out(persona: str, vendor: str, most: int, left_out: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"{vendor} takes {most} tools in a request, so {persona!r} does not offer "
        f"{len(left_out)} of its own: {listed(left_out)}",
        fix="name fewer tools, or choose from a group with `include`",
    )


class ToolLimit(NamedTuple):
    """The most tools that a request of an agent may have."""

    most: int
    vendor: str


def tool_limit(persona: Persona, sections: Sections) -> ToolLimit | None:
    """Return the strictest limit of the vendors of a persona; None if none has one."""
    apis = (APIS[name] for name in _apis_of(persona, sections))
    limits = [ToolLimit(api.max_tools, api.vendor) for api in apis if api.max_tools is not None]
    return min(limits, key=itemgetter(0), default=None)


def _within_limit(
    key: str,
    persona: Persona,
    tools: Mapping[str, Tool],
    sections: Sections,
    tree: Node,
    problems: Problems,
) -> Persona:
    limit = tool_limit(persona, sections)
    if limit is None:
        return persona
    sent = sent_tools(persona, tools)
    others = len(persona.handoffs) + (len(CONSTANT_TOOLS) if persona.deferred_tools else 0)
    over = len(sent) - (limit.most - others)
    if over <= 0:
        return persona
    needed = {policy.tool for policy in persona.tool_policy}
    needed.update(code_runners(persona.tools, tools) if persona.code_mode else ())
    if persona.agent_skills:
        needed.add(USE_SKILL)
    if isinstance(persona.tool_choice, NamedTool):
        needed.add(persona.tool_choice.tool)
    left_out = [name for name in reversed(sent) if name not in needed][:over][::-1]
    path: NodePath = ("llm_config", "personas", key.partition("/")[0], "tools")
    path = path if tree.has(path) else ("llm_config", "personas")
    problems.report(tools_left_out(key, limit.vendor, limit.most, left_out), tree.key_at(path))
    names = tuple(name for name in persona.tools if name not in left_out)
    return persona.model_copy(update={"tools": names})


def sent_tools(persona: Persona, tools: Mapping[str, Tool]) -> tuple[str, ...]:
    """Return the tools of a persona whose schemas every request has.

    Neither those that its code calls, nor those that it finds by search.
    """
    deferred = frozenset(persona.deferred_tools)
    return tuple(name for name in direct_tools(persona, tools) if name not in deferred)


def _find_refusal(tool: Tool | None, apis: frozenset[VendorApi]) -> _Refused:
    if tool is None or tool.offered_schema is None or tool.input_schema is None:
        return _Refused(frozenset(), frozenset())
    schema_rules = offered_schema(tool.input_schema).rules
    rules = {rule: apis & refusing_apis(rule) for rule in schema_rules}
    broken: list[ToolSchemaRule] = [rule for rule in schema_rules if rules[rule]]
    return _Refused(frozenset(broken), frozenset[VendorApi]().union(*rules.values()))


def _apis_of(persona: Persona, sections: Sections) -> Iterator[VendorApi]:
    """Yield the APIs of a persona's model and of its fallbacks, where they are known."""
    if not persona.provider:
        return
    for name in (persona.provider, *(split_model(model)[0] for model in persona.fallback)):
        section = sections.get(name) or ProviderSection()
        api = section.vendor_api(name)
        if api is not None:
            yield api
