"""Join an included file with the files around it: check its sections, and refuse repeated names."""

from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from coterie.dsl.model.document import Orchestration, SystemDocument
from coterie.dsl.model.sections.provider_document import LlmConfig
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place, overlaid
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
    return isinstance(node.value, list) and all(isinstance(one.value, str) for one in node.items())


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
