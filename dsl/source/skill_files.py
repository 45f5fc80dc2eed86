"""Read a SKILL.md: its front matter, by the specification of agentskills.io, and its text."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from coterie.dsl.errors import InvalidDocument, Problem, closest
from coterie.dsl.problem_details import Details, ProblemText, rule
from coterie.dsl.problem_texts import DidYouMean, UnknownKey
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Mark, Node, Place
from coterie.dsl.source.yaml_reader import read
from coterie.dsl.values import NodePath

MAX_NAME = 64
MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_FENCE = "---"
_MAXIMA = {"name": MAX_NAME, "description": MAX_DESCRIPTION, "compatibility": MAX_COMPATIBILITY}
_TEXTS = ("name", "description", "license", "compatibility")
_KEYS = (*_TEXTS, "metadata", "allowed-tools")
_TOOL = re.compile(r"[^\s(]+(\([^)]*\))?")


class SkillHead(NamedTuple):
    """What the front matter of a SKILL.md says."""

    name: str
    description: str
    compatibility: str = ""
    allowed_tools: tuple[str, ...] = ()


class SkillText(NamedTuple):
    """A SKILL.md as it was read."""

    head: SkillHead | None
    """None if a problem keeps it from being offered."""
    body: str
    problems: tuple[Problem, ...]


@rule("E102")
def front_matter_missing(ends: bool) -> ProblemText:
    what = "never ends" if ends else "is missing"
    return ProblemText(
        f"the front matter of the skill {what}",
        fix="begin the file with a line `---`, `name:`, `description:`, and another line `---`",
    )


@rule("E102")
def skill_key_missing(key: str) -> ProblemText:
    why = {
        "name": "its folder has the same name",
        "description": "a model chooses the skill by it",
    }[key]
    return ProblemText(f"the key {key!r} is missing: {why}", fix=f"add `{key}:`")


@rule("E103")
def skill_value_form(key: str) -> ProblemText:
    allowed = {
        "metadata": "a mapping of texts",
        "allowed-tools": "a text with spaces between the tools, or a list of texts",
    }.get(key, "a text that is not empty")
    return ProblemText(f"{key!r} of a skill has another form", allowed)


@rule("E106")
def skill_value_long(key: str, length: int, maximum: int) -> ProblemText:
    return ProblemText(
        f"{key!r} of the skill has {length:,} characters, and {maximum:,} are allowed",
        fix="move details into the text below, which is read only when it is needed",
    )


@rule("E105")
def skill_name_form(name: str) -> ProblemText:
    return ProblemText(
        f"a skill cannot have the name {name!r}",
        "1 to 64 lower-case letters a-z, digits and single hyphens, with no hyphen at an end",
        "rename the skill and its folder",
    )


@rule("E105")
def skill_name_folder(name: str, folder: str) -> ProblemText:
    return ProblemText(
        f"the skill is called {name!r}, and its folder {folder!r}",
        fix="give both the same name",
    )


@rule("W517")
def skill_key_unread(key: str) -> ProblemText:
    return ProblemText(
        f"the key {key!r} of a skill has no effect: its specification does not have it",
        ", ".join(_KEYS),
        "move it below `metadata`, or keep it for other programs",
    )


def read_skill(text: str, file: str, folder: str) -> SkillText:
    """Read a SKILL.md.

    Args:
        text: Of the file.
        file: As problems name it.
        folder: The name of its folder.
    """
    problems = Problems()
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    fences = [number for number, line in enumerate(lines) if line.rstrip() == _FENCE]
    if not fences or fences[0] != 0 or len(fences) == 1:
        starts = bool(fences) and fences[0] == 0
        problems.report(front_matter_missing(starts), Place(Mark(file, 1, 1), ()))
        return SkillText(None, "", problems.found())
    end = fences[1]
    body = "\n".join(lines[end + 1 :]).strip("\n")
    written = "\n".join(("", *lines[1:end]))  # an empty line, so that lines keep their numbers
    tree = _tree(written, file, problems)
    head = None if tree is None else _head(tree, folder, problems)
    return SkillText(None if problems.errors else head, body, problems.found())


def _tree(text: str, file: str, problems: Problems) -> Node | None:
    if not text.strip():
        return Node({}, Mark(file, 1, 1))
    try:
        return read(text, file)
    except InvalidDocument as error:
        problems.take(error.problems)
        return None


def _head(tree: Node, folder: str, problems: Problems) -> SkillHead:
    entries = tree.entries()
    for key, node in entries.items():
        if key not in _KEYS:
            meant = closest(key, _KEYS)
            unknown = None if meant is None else UnknownKey(key, _KEYS, DidYouMean(meant))
            problems.report(unknown or skill_key_unread(key), Place(node.at, (key,)))
    texts = {key: _text(key, entries, problems) for key in _TEXTS}
    for key in ("name", "description"):
        if key not in entries:
            problems.report(skill_key_missing(key), Place(tree.at, (key,)))
    metadata = entries.get("metadata")
    if metadata is not None and not isinstance(metadata.value, dict):
        _refuse(skill_value_form("metadata"), metadata, ("metadata",), problems)
    if texts["name"]:
        _check_name(texts["name"], folder, entries["name"], problems)
    return SkillHead(
        texts["name"],
        " ".join(texts["description"].split()),
        " ".join(texts["compatibility"].split()),
        tuple(_tools(entries.get("allowed-tools"), problems)),
    )


def _text(key: str, entries: dict[str, Node], problems: Problems) -> str:
    node = entries.get(key)
    if node is None:
        return ""
    if not isinstance(node.value, str) or not node.value.strip():
        _refuse(skill_value_form(key), node, (key,), problems)
        return ""
    text, maximum = node.value.strip(), _MAXIMA.get(key)
    if maximum is not None and len(text) > maximum:
        _refuse(skill_value_long(key, len(text), maximum), node, (key,), problems)
        return ""
    return text


def _check_name(name: str, folder: str, node: Node, problems: Problems) -> None:
    if _NAME.fullmatch(name) is None:
        _refuse(skill_name_form(name), node, ("name",), problems)
    elif name != folder:
        _refuse(skill_name_folder(name, folder), node, ("name",), problems)


def _tools(node: Node | None, problems: Problems) -> Iterator[str]:
    """Yield the names in `allowed-tools`, without what stands in their parentheses."""
    if node is None or node.value is None:
        return
    texts = [item.value for item in node.items()] if isinstance(node.value, list) else [node.value]
    if not all(isinstance(text, str) for text in texts):
        _refuse(skill_value_form("allowed-tools"), node, ("allowed-tools",), problems)
        return
    found = (match for text in texts for match in _TOOL.finditer(str(text)))
    yield from dict.fromkeys(match.group().partition("(")[0].rstrip(",") for match in found)


def _refuse(details: Details, node: Node, path: NodePath, problems: Problems) -> None:
    problems.report(details, Place(node.mark, path))
