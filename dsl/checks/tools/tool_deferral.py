"""Decide which tools of a persona its model finds by search: those that would fill its window."""

import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

from coterie.dsl.checks.tools.vendor_tool_checks import Sections, sent_tools, tool_limit
from coterie.dsl.model.agent_skills import USE_SKILL
from coterie.dsl.model.plan import Persona, Plan
from coterie.dsl.model.tools.tool_contract import Tool
from coterie.dsl.model.tools.tool_use import NamedTool
from coterie.dsl.model.traversal.code_mode import code_runners, direct_tools
from coterie.dsl.model_names import split_model
from coterie.dsl.tool_loop.context_room import CHARACTERS_OF_A_TOKEN
from coterie.dsl.tool_loop.tool_search import constant_tools, offered_tool

WindowOf = Callable[[str, str], int | None]
"""Returns the context window of a provider's model in tokens; None if it is not known."""

_SHARE = 10
"""Tools may take one tenth of the window before their models search for them."""
_DEFAULT_WINDOW = 128_000
"""Tokens of the window of a model that nobody knows."""
_ALWAYS_FITS = 400
"""Tokens that fit each model, so that its window is not looked up."""


class ToolRoom(NamedTuple):
    """The tokens that the tools of an agent take in each request, estimated."""

    sent: int
    whole: int
    """With the schemas that the model finds by search."""


def tool_room(persona: Persona, tools: Mapping[str, Tool]) -> ToolRoom:
    """Return what the tools of a persona take in each request."""
    offered = [name for name in direct_tools(persona, tools) if name in tools]
    sizes = {name: _tokens(name, tools) for name in offered}
    own = sum(sizes.get(name, 0) for name in sent_tools(persona, tools))
    return ToolRoom(own + _tokens_of_search(persona.deferred_tools, tools), sum(sizes.values()))


class ToolSearch(NamedTuple):
    """A persona whose model finds tools by search."""

    persona: str
    """Its key in the plan."""
    tools: int
    sent: int
    """Those that each request has."""
    room: ToolRoom


def tool_searches(plan: Plan) -> tuple[ToolSearch, ...]:
    """Return the personas of a plan whose models find tools by search."""
    return tuple(
        ToolSearch(
            key,
            len(direct_tools(persona, plan.tools)),
            len(sent_tools(persona, plan.tools)),
            tool_room(persona, plan.tools),
        )
        for key, persona in plan.personas.items()
        if persona.deferred_tools
    )


def with_deferred_tools(
    personas: Mapping[str, Persona],
    tools: Mapping[str, Tool],
    sections: Sections,
    window_of: WindowOf | None,
) -> dict[str, Persona]:
    """Return the personas with the tools that their models find by search.

    Args:
        personas: Of the plan.
        tools: Of the plan.
        sections: The providers that the document configures.
        window_of: Returns the window of a model; None if windows are not known here.
    """
    return {
        key: _with_deferred(persona, tools, sections, window_of)
        for key, persona in personas.items()
    }


def _with_deferred(
    persona: Persona, tools: Mapping[str, Tool], sections: Sections, window_of: WindowOf | None
) -> Persona:
    if not can_search(persona):
        return persona
    runners = code_runners(persona.tools, tools) if persona.code_mode else ()
    needed = {*needed_tools(persona), *runners}
    offered = direct_tools(persona, tools)
    deferred = tuple(name for name in offered if name not in needed and name in tools)
    if not deferred:
        return persona
    if persona.tool_search == "auto" and not _is_large(
        persona, deferred, tools, sections, window_of
    ):
        return persona
    return persona.model_copy(update={"deferred_tools": deferred})


def can_search(persona: Persona) -> bool:
    """Return whether the model of a persona may search: the run must make its calls."""
    return (
        persona.tool_search != "never"
        and persona.tool_calls == "execute"
        and persona.tool_choice != "none"
    )


def needed_tools(persona: Persona) -> frozenset[str]:
    """Return the tools that every request of the persona has, because the document names them."""
    choice = persona.tool_choice
    chosen = (choice.tool,) if isinstance(choice, NamedTool) else ()
    demanded = (policy.tool for policy in persona.tool_policy if policy.min_calls)
    return frozenset((*persona.always_sent, *chosen, *demanded, USE_SKILL))


def _is_large(
    persona: Persona,
    deferred: tuple[str, ...],
    tools: Mapping[str, Tool],
    sections: Sections,
    window_of: WindowOf | None,
) -> bool:
    """Return whether the tools are too many for the vendor, or for a tenth of the window."""
    limit = tool_limit(persona, sections)
    if limit is not None and len(direct_tools(persona, tools)) + len(persona.handoffs) > limit.most:
        return True
    tokens = tool_room(persona, tools).whole
    if tokens <= _ALWAYS_FITS:
        return False
    if sum(_tokens(name, tools) for name in deferred) <= _tokens_of_search(deferred, tools):
        return False
    return tokens * _SHARE > _window(persona, window_of)


def _window(persona: Persona, window_of: WindowOf | None) -> int:
    """Return the smallest known window of the models that answer."""
    if persona.context_window is not None:
        return persona.context_window
    models = (f"{persona.provider}/{persona.model}", *persona.fallback)
    known = [] if window_of is None else [window_of(*split_model(model)) for model in models]
    return min((window for window in known if window is not None), default=_DEFAULT_WINDOW)


def _tokens(name: str, tools: Mapping[str, Tool]) -> int:
    offered = offered_tool(name, tools[name])
    text = offered.name + offered.description + json.dumps(offered.input_schema)
    return -(-len(text.encode("utf-8", "surrogatepass")) // CHARACTERS_OF_A_TOKEN)


def _tokens_of_search(deferred: tuple[str, ...], tools: Mapping[str, Tool]) -> int:
    texts = (
        tool.name + tool.description + json.dumps(tool.input_schema)
        for tool in constant_tools(deferred, tools)
    )
    return sum(-(-len(text.encode()) // CHARACTERS_OF_A_TOKEN) for text in texts)
