"""Compile documents into a Plan: read and merge, normalise, shape, check, compile.

This happens before a run, and a run never changes its plan. Each phase collects every problem of
every file; a phase runs only if the earlier phases left it something to work on.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from pydantic import BaseModel

from coterie.dsl.checks.agents.streaming_checks import check_streamed_replies
from coterie.dsl.checks.document_checks import check_document
from coterie.dsl.checks.triggers.trigger_checks import check_triggers
from coterie.dsl.compile.document_expansion import (
    with_declarations,
    with_server_tools,
    with_subagents,
)
from coterie.dsl.compile.plan_compiler import PlanCompiler
from coterie.dsl.compile.shapes import parse_document
from coterie.dsl.compile.skill_offers import Folders, skills_of, with_skill_tool
from coterie.dsl.errors import InvalidDocument, Problem
from coterie.dsl.model.agent_skills import SkillFolder
from coterie.dsl.model.capabilities import Capabilities
from coterie.dsl.model.document import Orchestration, SystemDocument
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.price import Price
from coterie.dsl.model.sections.provider_document import LlmConfig, ProviderSection
from coterie.dsl.model.sections.triggers import Trigger
from coterie.dsl.model.sections.worker_document import WorkerSection
from coterie.dsl.normalise.forms import normalised
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.dialects import dialect_of, other_system
from coterie.dsl.source.nodes import Mark, Node, Place, overlaid
from coterie.dsl.source.yaml_events import document_events, not_a_mapping
from coterie.dsl.source.yaml_reader import document_tree, partial_tree
from coterie.dsl.values import NodePath

_SECTIONS: Mapping[NodePath, str] = {
    ("llm_config", "personas"): "persona",
    ("orchestration", "teams"): "team",
    ("orchestration", "settings"): "setting",
    ("tools",): "tool",
}
"""`{section that an included file may have: the noun for one of its entries}`."""

_OWN: Mapping[NodePath, tuple[type[BaseModel], tuple[str, ...]]] = {
    (): (SystemDocument, ("name", "description", "include")),
    ("llm_config",): (LlmConfig, ()),
    ("orchestration",): (Orchestration, ("entry_team",)),
}
"""`{other section: its model, and its keys that count only when the file runs by itself}`."""


@rule("E110")
def key_of_including(key: str) -> ProblemText:
    return ProblemText(
        f"the key {key!r} has no effect in an included file: it belongs to the document that "
        "includes it",
        "llm_config.personas, orchestration.teams, orchestration.settings, tools, include",
        f"move {key!r} to the document that includes this file, or remove it",
    )


@rule("E103")
def include_form() -> ProblemText:
    return ProblemText("'include' is not a list of strings", "[workflows/*.yml]")


def included_part(tree: Node, problems: Problems) -> Node:
    """Return what an included file brings; every key that would have no effect is a problem."""
    for path, (model, own) in _OWN.items():
        names = {info.alias or name for name, info in model.model_fields.items()}
        for key, node in _section(tree, path).items():
            key_path = (*path, key)
            if key not in names or key_path in _SECTIONS or key_path in _OWN:
                continue  # the shape check reports an unknown key
            if key not in own:
                problems.report(key_of_including(key), Place(node.at, key_path))
            if key == "include" and not _is_list_of_texts(node):
                problems.report(include_form(), Place(node.mark, key_path))
            tree = _without(tree, key_path)
    return tree


@rule("E208")
def defined_twice(what: str, name: str, at: str) -> ProblemText:
    return ProblemText(
        f"the {what} {name!r} is also defined at {at}",
        fix=f"rename one {what}, or remove one",
    )


def joined(base: Node, added: Node, problems: Problems) -> Node:
    """Join two files of one document; each name that both define is a problem.

    Settings that both define as mappings are one mapping with the keys of both.
    """
    for path, what in _SECTIONS.items():
        earlier, later = _section(base, path), _section(added, path)
        for below, there, node in _clashes(earlier, later, deep=what == "setting"):
            at = f"{there.at.file}:{there.at.line}"
            problem = defined_twice(what, ".".join(below), at)
            problems.report(problem, Place(node.at, (*path, *below)))
            added = _without(added, (*path, *below))
    return overlaid(base, added)


def _clashes(
    earlier: Mapping[str, Node], later: Mapping[str, Node], *, deep: bool
) -> Iterator[tuple[tuple[str, ...], Node, Node]]:
    """Yield what both define: its path, the earlier node and the later one."""
    for key, node in later.items():
        there = earlier.get(key)
        if there is None or there.value is None or node.value is None:
            continue
        if deep and isinstance(there.value, dict) and isinstance(node.value, dict):
            within = _clashes(there.entries(), node.entries(), deep=True)
            yield from (((key, *path), first, second) for path, first, second in within)
        else:
            yield (key,), there, node


def _is_list_of_texts(node: Node) -> bool:
    return isinstance(node.value, list) and all(
        isinstance(item.value, str) for item in node.items()
    )


def _section(tree: Node, path: NodePath) -> dict[str, Node]:
    section = tree.get(path)
    return {} if section is None else section.entries()


def _without(tree: Node, path: NodePath) -> Node:
    first, *rest = path
    entries = dict(tree.entries())
    if rest:
        entries[str(first)] = _without(entries[str(first)], tuple(rest))
    else:
        del entries[str(first)]
    return tree.with_value(entries)


_UNMERGED = ("E001", "E002", "E004", "E005", "E006", "E111")
"""Codes of files that cannot be read: other problems may only follow from these."""

PriceLookup = Callable[[Mapping[str, ProviderSection], str, str], Price | None]
"""Returns the price of a model, given the document's providers, a provider and a model."""


WindowLookup = Callable[[Mapping[str, ProviderSection], str, str], int | None]
"""Returns the context window of a model in tokens, given the same."""


class SourceText(NamedTuple):
    """One file of a document."""

    file: str
    text: str
    trusted: bool = True
    """False for a file that came with a run: it must not configure the worker's access to the
    world.
    """
    persona: str | None = None
    """The key of the persona, if the file is one."""
    included: bool = False
    """Whether another file includes it: the next source with `included=False`, maybe indirectly."""
    overrides: bool = False
    """Whether it only changes the document that the other files make, like `coterie.yml`."""
    problems: tuple[Problem, ...] = ()
    """Found while reading the files that this one includes."""
    whole: bool = False
    """Of a file that is not trusted: whether the files that it includes come with it."""
    skills: Mapping[str, SkillFolder] = {}
    """`{entry of agent_skills: what its folder has}`."""


class Compiled(NamedTuple):
    """The plan for the run, and what stays on the worker."""

    plan: Plan
    worker: WorkerSection
    providers: dict[str, ProviderSection]
    warnings: tuple[Problem, ...]
    tree: Node
    """The merged document, each value with its position."""
    unanswered: Mapping[NodePath, int] = {}
    """`{team: how many questions about its routing the compiler left out}`."""
    triggers: Mapping[str, Trigger] = {}
    """What starts or signals runs of the document from outside."""


@rule("E102")
def orchestration_missing() -> ProblemText:
    return ProblemText(
        "the key 'orchestration' is missing",
        fix="add `orchestration:` with `entry_team` and `teams`",
    )


def compile_sources(
    sources: Sequence[SourceText],
    capabilities: Capabilities,
    *,
    name: str,
    model: str | None = None,
    pricing: PriceLookup | None = None,
    windows: WindowLookup | None = None,
) -> Compiled:
    """Compile the sources into one plan; later sources override earlier ones.

    Args:
        sources: in merge order.
        capabilities: of the worker.
        name: the plan's name, if the document gives none.
        model: `provider/model` for every persona instead of its own.
        pricing: called only if the document has a budget of money.
        windows: called only if a persona has tools of more than a few hundred tokens.

    Raises:
        InvalidDocument: with every problem of every source.
    """
    problems = Problems()
    tree = normalised(merged_sources(sources, problems), problems)
    section = tree.child("orchestration")
    document, tree = parse_document(tree, problems)
    orchestration = None if document is None else document.orchestration
    if document is None or orchestration is None:
        if section is None or section.value is None:
            problems.report(orchestration_missing(), Place(tree.at, ("orchestration",)))
        raise InvalidDocument(problems.errors)
    capabilities = with_declarations(capabilities, document)
    document, tree = with_server_tools(document, capabilities, tree, problems)
    skills = skills_of(document, _folders_of_skills(sources), tree, problems)
    document = with_skill_tool(document, skills)
    check_document(document, orchestration, tree, problems, capabilities)
    document, tool_paths = with_subagents(document, tree, problems)
    compiler = PlanCompiler(
        document, orchestration, tree, problems, capabilities, model, tool_paths, skills
    )
    check_triggers(document, compiler.context, tree, problems, capabilities)
    price_of = None if pricing is None else partial(pricing, document.llm_config.providers)
    window_of = None if windows is None else partial(windows, document.llm_config.providers)
    plan = compiler.plan(name, price_of, window_of)
    if plan is not None and any(persona.stream for persona in plan.personas.values()):
        check_streamed_replies(plan, tree, problems)
    if plan is None or problems.errors:
        raise InvalidDocument(problems.errors)
    worker = document.worker or WorkerSection()
    providers = dict(document.llm_config.providers)
    return Compiled(
        plan,
        worker,
        providers,
        tuple(problems.warnings),
        tree,
        compiler.routes.effort.unanswered,
        document.triggers,
    )


@rule("E004")
def no_document() -> ProblemText:
    return ProblemText("there is no document", fix="name a file that has one")


def _folders_of_skills(sources: Sequence[SourceText]) -> Folders:
    return {(source.file, entry): one for source in sources for entry, one in source.skills.items()}


def merged_sources(sources: Sequence[SourceText], problems: Problems) -> Node:
    """Read every file and merge it over the earlier ones.

    Raises:
        InvalidDocument: a file is not readable YAML, or there is no file.
    """
    merged: Node | None = None
    layer: Node | None = None
    for source in sources:
        tree = _read_source(source, problems)
        if tree is None:
            continue
        layer = tree if layer is None else joined(layer, tree, problems)
        if not source.included:
            merged = layer if merged is None else _merge_layer(merged, layer, source)
            layer = None
    if merged is None and not problems.errors:
        problems.report(no_document(), Place(Mark("document", 1, 1), ()))
    if merged is None or any(problem.code in _UNMERGED for problem in problems.errors):
        raise InvalidDocument(problems.errors)
    return merged


def _merge_layer(document: Node, layer: Node, source: SourceText) -> Node:
    """Return the document with one file over it; what only overrides is not where it stands."""
    merged = overlaid(document, layer)
    if not source.overrides:
        return merged
    return Node(merged.value, document.mark, document.key_mark, document.indent)


def _read_source(source: SourceText, problems: Problems) -> Node | None:
    """Return the part of the document in a file; None, and a problem, if it is unreadable."""
    syntax_problems = Problems()
    may_be_list = source.persona is None  # a playbook is one, and then its problem names it
    events = document_events(source.text, source.file, syntax_problems, may_be_list=may_be_list)
    tree = None if events is None else document_tree(events, syntax_problems)
    if events is not None and source.persona is None:
        root = partial_tree(events, Problems()) if tree is None else tree
        dialect = dialect_of(root)
        if dialect is not None:  # what else is wrong there is right in the other system
            first = next(iter(root.entries()), 0)
            problems.report(other_system(dialect.system), Place(root.at, (first,)))
            return None
        if isinstance(root.value, list):
            problems.report(not_a_mapping(), Place(Mark(source.file, 1, 1), ()))
            return None
    problems.take((*source.problems, *syntax_problems.found()))
    if tree is None:
        return None
    if source.persona is not None:
        for key in (source.persona, "personas", "llm_config"):
            tree = Node({key: tree}, tree.mark)
    if not source.trusted:
        _refuse_untrusted(tree, problems, whole=source.whole)
    if not source.overrides and not source.included:
        tree = _without_access(tree, problems)
    if source.overrides:
        tree = _without_triggers(tree, problems)
    return included_part(tree, problems) if source.included else tree


@rule("E601")
def decided_by_worker(section: str) -> ProblemText:
    return ProblemText(
        f"only the worker decides {section}: a run may name a provider or a command, and cannot "
        "say how to reach it",
        fix="move the section to the worker's own configuration",
    )


@rule("E601")
def include_inline() -> ProblemText:
    return ProblemText(
        "an inline document cannot use `include`: the worker gets only its text, without the "
        "other files",
        fix="start the run by the name of a team that the worker has, or by its file with "
        "`coterie run FILE`",
    )


@rule("E601")
def access_elsewhere() -> ProblemText:
    return ProblemText(
        "`access` has no effect in this file: only the project's `coterie.yml` says who may use "
        "`coterie serve`",
        fix="move `access` to coterie.yml",
    )


def _without_access(tree: Node, problems: Problems) -> Node:
    access = tree.child("access")
    if access is None:
        return tree
    problems.report(access_elsewhere(), Place(access.at, ("access",)))
    return _without(tree, ("access",))


@rule("E601")
def triggers_elsewhere() -> ProblemText:
    return ProblemText(
        "`triggers` has no effect in this file: triggers belong to the team that they start",
        fix="move `triggers` to the file of that team",
    )


def _without_triggers(tree: Node, problems: Problems) -> Node:
    triggers = tree.child("triggers")
    if triggers is None:
        return tree
    problems.report(triggers_elsewhere(), Place(triggers.at, ("triggers",)))
    return _without(tree, ("triggers",))


def _refuse_untrusted(tree: Node, problems: Problems, *, whole: bool) -> None:
    for path in (("worker",), ("llm_config", "providers")):
        node = tree.get(path)
        if node is not None:
            problems.report(decided_by_worker(".".join(path)), Place(node.at, path))
    include = tree.child("include")
    if include is not None and not whole:
        problems.report(include_inline(), Place(include.at, ("include",)))
