"""Keys without effect where they are written, like prompts of an agent that asks no model."""

from coterie.dsl.checks.tools.tool_use_checks import TOOL_KEYS
from coterie.dsl.model.document import SystemDocument
from coterie.dsl.model.sections.provider_document import provider_kind
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING
from coterie.dsl.model.steps import (
    LegacyAgentStep,
    ParallelStep,
    PersonaDocument,
    PersonaStep,
    TeamStep,
)
from coterie.dsl.model.vendors.vendors import BUILT_IN_KINDS
from coterie.dsl.problem_details import ProblemText, Remove, rule
from coterie.dsl.problem_texts import called
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.values import NodePath

_PERSONAS: NodePath = ("llm_config", "personas")

OF_ANSWERS = (
    "prompts",
    "prompt",
    "prompt_syntax",
    "output_schema",
    "max_reasks",
    "flags",
    "stream",
    "batch",
    "fallback",
    "context_window",
    "compaction",
)
"""Keys of a persona that form a question or read its answer."""

_OF_TOOLS = ("tools", "subagents", "exclude_tools", "handoffs", "agent_skills", *TOOL_KEYS)
"""Keys of a persona that say what its model may call."""

_OF_STEPS = ("prompt", "max_turns")
"""Keys of a step for the model of its persona."""


def check_without_effect(document: SystemDocument, tree: Node, problems: Problems) -> None:
    """Note keys for questions and answers where no model is asked."""
    _steps(document, tree, problems)
    asked_personas = _asked_personas(document)
    followed = {
        key
        for step, _ in document.steps
        if isinstance(step, PersonaStep) and step.agent_type == ORCHESTRATING
        for key in step.persona_names
    }
    tool_personas = {tool.made_of for tool in document.tools.values() if tool.kind == "agent"}
    for key, persona in document.llm_config.personas.items():
        runs_plan = persona.execution_plan is not None
        if key in asked_personas or not (key in followed or key in tool_personas):
            continue
        path = (*_PERSONAS, key)
        if runs_plan:
            _persona(problems, tree, persona, path)
        if runs_plan or key not in tool_personas:  # a tool asks the persona that has no plan itself
            _hooks(problems, tree, persona, path, key)


def _steps(document: SystemDocument, tree: Node, problems: Problems) -> None:
    for step, path in document.steps:
        match step:
            case LegacyAgentStep():
                for key in _OF_STEPS:
                    _refuse(problems, tree, (*path, key), getattr(step, key), is_legacy=True)
            case PersonaStep(agent_type=agent_type) if agent_type == ORCHESTRATING:
                for key in _OF_STEPS:
                    _refuse(problems, tree, (*path, key), getattr(step, key))
                if step.config is not None:
                    _persona(problems, tree, step.config, (*path, "config"))
                    _hooks(problems, tree, step.config, (*path, "config"), step.persona_name)
            case _:
                pass


def _persona(problems: Problems, tree: Node, persona: PersonaDocument, path: NodePath) -> None:
    for key in (*OF_ANSWERS, *_OF_TOOLS):
        _refuse(problems, tree, (*path, key), getattr(persona, key))


@rule("E510")
def hook_of_plan(key: str) -> ProblemText:
    return ProblemText(
        f"`hooks` of {key!r} have no effect: its agent runs an execution plan, and asks no model",
        fix="move the hooks to the personas of the plan's steps, or to `orchestration.hooks`",
    )


def _hooks(
    problems: Problems, tree: Node, persona: PersonaDocument, path: NodePath, key: str
) -> None:
    """Note hooks where an agent runs an execution plan, and makes no calls itself."""
    if persona.hooks:
        path = (*path, "hooks")
        problems.report(hook_of_plan(key), tree.key_at(path))


@rule("E503")
def without_effect(key: str, *, is_legacy: bool) -> ProblemText:
    if is_legacy:
        return ProblemText(
            f"`{key}` has no effect here: it belongs to a persona, and a legacy agent has none",
            fix="pass it in the task's `input`",
        )
    return ProblemText(
        f"`{key}` has no effect here: an agent that follows a plan asks no model itself",
        fix=MOVE_TO_PLAN,
    )


MOVE_TO_PLAN = "move it to the persona of an agent step of the plan"


def _refuse(
    problems: Problems, tree: Node, path: NodePath, value: object, *, is_legacy: bool = False
) -> None:
    if value is not None and value != {}:
        problems.report(without_effect(str(path[-1]), is_legacy=is_legacy), tree.key_at(path))


def _asked_personas(document: SystemDocument) -> set[str]:
    """Return the personas with which some task, or an agent class of the worker, asks a model."""
    return {
        key
        for step, _ in document.steps
        if isinstance(step, PersonaStep) and step.agent_type != ORCHESTRATING
        for key in step.persona_names
    }


_READERS = {
    "answers": "scripted",
    "log": "scripted",
    "mock": "scripted",
    "api": "openai",
    "reasoning": "openai",
    "organization": "openai",
    "cloud": "anthropic",
}
"""`{key: the only kind of provider that reads it}`; kinds of packages read `options`."""


def check_unread_keys(document: SystemDocument, tree: Node, problems: Problems) -> None:
    """Warn of each key that changes nothing."""
    _sections(document, tree, problems)
    _outputs(document, tree, problems)
    _providers(document, tree, problems)
    for step, path in document.steps:
        if isinstance(step, ParallelStep):
            _losers(step, path, tree, problems)


@rule("W517")
def key_of_another_kind(key: str, provider: str, kind: str, reader: str) -> ProblemText:
    return ProblemText(
        f"`{key}` has no effect: only a provider of kind {reader!r} reads it, and {provider!r} is "
        f"of kind {kind!r}",
        fix=f"write it under a provider with `kind: {reader}`",
    )


@rule("W517")
def options_unread(provider: str, kind: str) -> ProblemText:
    return ProblemText(
        f"`options` has no effect: {provider!r} is of kind {kind!r}, and only kinds of packages "
        "read it",
        fix="remove it, or name the package's kind in `kind`",
        edit=Remove("options"),
    )


def _providers(document: SystemDocument, tree: Node, problems: Problems) -> None:
    for name, section in document.llm_config.providers.items():
        kind = provider_kind(name, section)
        for key, reader in _READERS.items():
            if kind != reader and getattr(section, key) is not None:
                path = ("llm_config", "providers", name, key)
                problems.report(key_of_another_kind(key, name, kind, reader), tree.key_at(path))
        if section.project is not None and section.cloud is None and kind != "openai":
            path = ("llm_config", "providers", name, "project")
            problems.report(key_of_another_kind("project", name, kind, "openai"), tree.key_at(path))
        if section.options and kind in BUILT_IN_KINDS:
            path = ("llm_config", "providers", name, "options")
            problems.report(options_unread(name, kind), tree.key_at(path))


@rule("W517")
def unread_section(name: str) -> ProblemText:
    return ProblemText(
        f"no task with an `agent_class` is called {name!r}, so no agent reads this section",
        fix="rename it to the task that needs it, or remove it",
    )


def _sections(document: SystemDocument, tree: Node, problems: Problems) -> None:
    """Warn of sections that no team uses; a file without teams may serve any team."""
    classes = {step.name for step, _ in document.steps if isinstance(step, LegacyAgentStep)}
    agents = [step for step, _ in document.steps if isinstance(step, PersonaStep)]
    personas = {key for step in agents for key in step.persona_names}
    teams = tree.find(("orchestration", "teams")).entries().values()
    files = {team.mark.file for team in teams}
    for name, section in document.llm_config.agents.items():
        named = section.get("persona_key") if isinstance(section, dict) else None
        path: NodePath = ("llm_config", "agents", name)
        if name in classes or named in personas or tree.find(path).at.file not in files:
            continue
        if not problems.has("E202", (*path, "persona_key")):
            problems.report(unread_section(name), tree.key_at(path))


@rule("W517")
def unread_output(team: str) -> ProblemText:
    return ProblemText(
        f"no step and no tool runs the team {team!r}, so nothing reads its output",
        fix="run it with `team:` in a step, or write `orchestration.output` for the whole run",
    )


def _outputs(document: SystemDocument, tree: Node, problems: Problems) -> None:
    """Warn of outputs of teams that no step and no tool runs; included ones serve any document."""
    orchestration = document.orchestration
    if orchestration is None:
        return
    called_teams = {step.team for step, _ in document.steps if isinstance(step, TeamStep)}
    called_teams |= {tool.made_of for tool in document.tools.values() if tool.kind == "team"}
    file = tree.find(("orchestration", "entry_team")).mark.file
    for name, team in orchestration.teams.items():
        path: NodePath = ("orchestration", "teams", name, "output")
        if team.output is None or name in called_teams or tree.find(path).at.file != file:
            continue
        problems.report(unread_output(name), tree.key_at(path))


@rule("W517")
def losers_without_effect(step: str) -> ProblemText:
    return ProblemText(
        f"`losers` has no effect: {called(step)} needs all its branches, so none is left over",
        fix="write `join: any`, or how many are enough, or remove `losers`",
    )


def _losers(step: ParallelStep, path: NodePath, tree: Node, problems: Problems) -> None:
    is_written = "losers" in tree.find(path).entries()
    if is_written and step.join in ("all", len(step.branches)):
        problems.report(losers_without_effect(step.name), tree.key_at((*path, "losers")))
