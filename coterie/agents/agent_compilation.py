"""Compile the document of an agent with what the project configures."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from coterie.activities.skills.skill_contracts import known_contracts
from coterie.agents.agent_definition import AgentDefinition
from coterie.agents.agent_documents import AgentDocument, document_of
from coterie.agents.tool_registry import ToolRegistry
from coterie.documents.catalog import Catalog
from coterie.documents.command_reach import finds_sandbox
from coterie.documents.price_lists import known_price
from coterie.documents.product_capabilities import capabilities
from coterie.documents.worker_trust import TrustedConfig, resolved
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.plan import Plan
from coterie.dsl.strict_json import unsound_part
from coterie.settings import Settings

_SCRIPTED = """
llm_config:
  default_provider: scripted
  providers: {scripted: {kind: scripted, mock: schema, default_model: demo}}
"""
"""Beneath all other settings, where a script answers: an agent then needs no model."""


class InvalidAgent(ValueError):
    """An agent cannot run; each line of the message is one problem."""


class CompiledAgent(NamedTuple):
    """An agent that is ready to run."""

    document: AgentDocument
    plan: Plan
    trusted: TrustedConfig


def compile_agent(
    agent: AgentDefinition,
    registry: ToolRegistry,
    settings: Settings,
    *,
    scripted: bool = False,
    max_turns: int | None = None,
    durable: bool = False,
) -> CompiledAgent:
    """Compile the document of an agent.

    Args:
        agent: The agent that is asked.
        registry: The tools that agents name.
        settings: The project and the environment.
        scripted: A script answers, so no provider need be configured.
        max_turns: Of the agent, instead of its own.
        durable: A worker calls its functions, and its configuration says which send nothing out;
            else the program itself says it, by their labels.

    Raises:
        InvalidAgent: With every problem of the agent, its tools and subagents.
        InvalidTool: A tool cannot be used.
    """
    if max_turns is not None:
        agent = replace(agent, settings={**agent.settings, "max_turns": max_turns})
    document = document_of(agent, registry)
    unsound = unsound_part(document.tree)
    if unsound is not None:
        raise InvalidAgent(f"agent {document.name!r}: {unsound}")
    own = {one.found.name: one.found for one in document.functions}
    sources = tuple(_sources(document, settings, scripted=scripted))
    try:
        compiled = compile_sources(
            sources,
            capabilities(
                agent_packages=(),
                provider_packages=(),
                skills={**known_contracts(), **own},
                offline_tools=() if durable else ("*",),
                sandboxed=finds_sandbox(settings, sources),
            ),
            name=document.name,
            pricing=known_price,
        )
    except InvalidDocument as error:
        raise InvalidAgent(_problems(agent, error)) from None
    trusted = resolved(compiled.worker, compiled.providers, compiled.tree, settings)
    return CompiledAgent(document, compiled.plan, trusted)


def _sources(
    document: AgentDocument, settings: Settings, *, scripted: bool
) -> Iterator[SourceText]:
    catalog = Catalog(settings)
    if scripted:
        yield SourceText("script", _SCRIPTED)
    for root in settings.config_roots[:1]:
        yield from catalog.system_source(root)
    yield SourceText(f"agent {document.name}", json.dumps(document.tree, indent=1))
    yield from catalog.override()


def _problems(agent: AgentDefinition, error: InvalidDocument) -> str:
    """Describe the problems by paths of the generated document, which has no file."""
    lines = [
        f"agent {agent.id!r}: {one.path or 'document'}: {one.message} [{one.code}]"
        + (f"; {one.fix}" if one.fix else "")
        for one in error.problems
        if one.severity == "error"
    ]
    return "\n".join(lines)
