"""Checks of the names that personas give: tools, subagents, and teams to hand over to."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from coterie.dsl.model.agent_skills import USE_SKILL
from coterie.dsl.model.document import SystemDocument
from coterie.dsl.model.steps import PersonaDocument, PersonaStep, ToolStep
from coterie.dsl.model.tools.tool_groups import tool_groups
from coterie.dsl.model.tools.tool_section import AgentToolSection
from coterie.dsl.model.tools.tool_use import CONSTANT_TOOLS
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import UNREADABLE, NodePath

NAME_OF_A_TOOL = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What every provider accepts; others refuse dots, spaces or longer names."""


def written_personas(document: SystemDocument) -> Iterator[tuple[PersonaDocument, NodePath]]:
    """Yield every persona that the document uses, and every `config` over one, with its place.

    Tools and teams belong to a document, and the personas of a catalog to many: what a persona
    names there counts only in documents that use it.
    """
    used_keys = used_personas(document)
    for key, persona in document.llm_config.personas.items():
        if key in used_keys:
            yield persona, ("llm_config", "personas", key)
    for step, path in document.steps:
        if isinstance(step, PersonaStep) and step.config is not None:
            yield step.config, (*path, "config")


def used_personas(document: SystemDocument) -> set[str]:
    """Return the personas that a step or a tool names, and the subagents that these name."""
    personas = document.llm_config.personas
    ahead = [
        section.agent
        for section in document.tools.values()
        if isinstance(section, AgentToolSection)
    ]
    for step, _ in document.steps:
        if isinstance(step, PersonaStep):
            ahead += [step.persona_key, *step.personas]
            ahead += (step.config.subagents or ()) if step.config is not None else ()
    keys = set[str]()
    while ahead:
        key = ahead.pop()
        if key in personas and key not in keys:
            keys.add(key)
            ahead += personas[key].subagents or ()
    return keys


def subagents_of(document: SystemDocument) -> Iterator[tuple[str, NodePath]]:
    """Yield every persona that is named as a subagent, with the place of the name."""
    for persona, path in written_personas(document):
        for index, key in enumerate(persona.subagents or ()):
            yield key, (*path, "subagents", index)


def check_tool_names(document: SystemDocument, tree: Node, problems: Problems) -> None:
    """Note every unknown or repeated name, and tools whose names no provider accepts."""
    orchestration = document.orchestration
    teams = () if orchestration is None else tuple(orchestration.teams)
    checker = _Known(
        tuple(document.tools), tuple(document.llm_config.personas), teams, tree, problems
    )
    offered: set[str] = set()
    for persona, path in written_personas(document):
        checker.check(persona.tools, (*path, "tools"), "tool", checker.tools)
        subagents = persona.subagents
        checker.check(subagents, (*path, "subagents"), "persona", checker.personas)
        names = (*checker.tools, *(subagents or ()))
        checker.check(persona.exclude_tools, (*path, "exclude_tools"), "tool", names)
        if not isinstance(persona.code_mode, bool):
            by_code = (*checker.tools, *checker.personas)
            checker.check(persona.code_mode, (*path, "code_mode"), "tool", by_code)
        checker.check(persona.always_sent, (*path, "always_sent"), "tool", names)
        checker.check(persona.handoffs, (*path, "handoffs"), "team", checker.teams)
        for index, policy in enumerate(persona.tool_policy or ()):
            key_path = (*path, "tool_policy", index, "tool")
            checker.check_one(policy.tool, key_path, "tool", (*checker.tools, *checker.personas))
        offered.update(persona.tools or ())
    for name in offered & document.tools.keys():
        _check_offered(name, ("tools", name), tree, problems)
    for key, key_path in subagents_of(document):
        if key not in document.tools:
            _check_offered(key, key_path, tree, problems)
    for name, section in document.tools.items():
        reads = section.reads if isinstance(section, AgentToolSection) else ()
        for index, edge in enumerate(reads):
            key_path = ("tools", name, "reads", index, "from")
            checker.check_one(edge.source, key_path, "tool", checker.tools)


@rule("E105")
def tool_name_refused(name: str) -> ProblemText:
    return ProblemText(
        f"model providers refuse the tool name {name!r}",
        "1 to 64 letters, digits, '_' and '-'",
        "rename the tool",
    )


@rule("E105")
def tool_name_reserved(name: str) -> ProblemText:
    return ProblemText(
        f"{name!r} is the name of a tool by which models find others", fix="rename the tool"
    )


def _check_offered(name: str, path: NodePath, tree: Node, problems: Problems) -> None:
    if name in CONSTANT_TOOLS:
        problems.report(tool_name_reserved(name), tree.key_at(path))
    elif name != UNREADABLE and not NAME_OF_A_TOOL.fullmatch(name):
        problems.report(tool_name_refused(name), tree.key_at(path))


@rule("E208")
def tool_named_twice(name: str, key: str) -> ProblemText:
    return ProblemText(f"`{key}` names {name!r} twice", fix="remove one of them")


@dataclass(frozen=True, slots=True)
class _Known:
    """The names that a document declares."""

    tools: tuple[str, ...]
    personas: tuple[str, ...]
    teams: tuple[str, ...]
    tree: Node
    problems: Problems

    def check(
        self,
        names: tuple[str, ...] | None,
        path: NodePath,
        what: str,
        choices: Collection[str],
    ) -> None:
        """Note the names of a list that are not known, or that it has twice."""
        seen_names: set[str] = set()
        for index, name in enumerate(names or ()):
            key_path = (*path, index)
            self.check_one(name, key_path, what, choices)
            if name in seen_names:
                details = tool_named_twice(name, str(path[-1]))
                self.problems.report(details, self.tree.value_at(key_path))
            seen_names.add(name)

    def check_one(self, name: str, path: NodePath, what: str, choices: Collection[str]) -> None:
        """Note a name that is not known."""
        if name not in choices:
            unknown(self.problems, self.tree.value_at(path), what, name, choices)


@rule("W517")
def exclusion_without_effect(name: str) -> ProblemText:
    return ProblemText(
        f"`exclude_tools` has no effect on {name!r}, which is not offered anyway",
        fix=f"remove {name!r}",
    )


def check_exclusions(document: SystemDocument, tree: Node, problems: Problems) -> None:
    """Warn of each tool that `exclude_tools` withholds, and that no use of the persona offers."""
    groups, personas = tool_groups(document.tools), document.llm_config.personas
    offered = {key: _offered_tools(personas[key], None, groups) for key in used_personas(document)}
    configs: list[tuple[PersonaDocument, NodePath, set[str]]] = []
    for step, path in document.steps:
        if isinstance(step, PersonaStep) and step.config is not None:
            keys = offered.keys() & {*step.persona_names}
            configs.append((step.config, (*path, "config"), keys))
            for key in keys:
                offered[key] |= _offered_tools(step.config, personas[key], groups)
    own = [(personas[key], ("llm_config", "personas", key), {key}) for key in offered]
    for persona, path, keys in (*own, *configs):
        offered_names = {name for key in keys for name in offered[key]}
        for index, name in enumerate(persona.exclude_tools or ()):
            here = (*path, "exclude_tools", index)
            is_offered = bool(offered_names & {name, *groups.get(name, ())})
            if keys and not is_offered and not problems.has("E204", here):
                problems.report(exclusion_without_effect(name), tree.value_at(here))


def _offered_tools(
    persona: PersonaDocument, base: PersonaDocument | None, groups: Mapping[str, Collection[str]]
) -> set[str]:
    """Return what a persona, or a `config` over one, offers before it excludes anything."""
    lists = [persona.tools, persona.subagents]
    if base is not None:
        inherited = (base.tools, base.subagents)
        lists = [
            inherited_names if own is None else own
            for own, inherited_names in zip(lists, inherited, strict=True)
        ]
    names = [name for entries in lists for name in entries or ()]
    return {*names, *(member for name in names for member in groups.get(name, ()))}


@rule("W520")
def unused_tool(name: str) -> ProblemText:
    return ProblemText(
        f"nothing calls the tool {name!r}",
        fix="add it to the `tools` of a persona, call it with a step, or remove it",
    )


def check_unused_tools(document: SystemDocument, tree: Node, problems: Problems) -> None:
    """Warn of each tool of the document's own file that no persona offers and no step calls.

    Tools of other files serve any document.
    """
    called_tools = [step.tool for step, _ in document.steps if isinstance(step, ToolStep)]
    if any(map(is_template, called_tools)):
        return  # any tool may be called
    used_names = set(called_tools)
    for persona, _ in written_personas(document):
        used_names |= {*(persona.tools or ()), *(persona.subagents or ())}
        if persona.agent_skills:
            used_names.add(USE_SKILL)
    for group, members in tool_groups(document.tools).items():
        used_names |= (
            {*members, group} if group in used_names or used_names & {*members} else {*members}
        )
    file = tree.find(("orchestration", "entry_team")).mark.file
    for name in document.tools:
        path = ("tools", name)
        if name not in used_names and tree.find(path).at.file == file:
            problems.report(unused_tool(name), tree.key_at(path))
