"""What a model sees of agent skills: the list of them, and the part of one that a call reads."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import JsonValue

from coterie.dsl.errors import listed, nearest
from coterie.dsl.model.agent_skills import (
    MAIN_FILE,
    SCRIPTS,
    USE_SKILL,
    AgentSkill,
    PlannedSkill,
    SkillExcerpt,
    SkillFile,
)
from coterie.dsl.sizes import json_size
from coterie.dsl.values import Json
from coterie.dsl.visible import one_line, shortened_text

MAX_EXCERPT = 40_000
"""Bytes of JSON of the lines that one call returns."""

_INTRODUCTION = (
    "You have skills: instructions for particular kinds of work. Before work that one of them "
    f"describes, read it with the tool {USE_SKILL}, and follow it.\n\n"
)


def skill_list(skills: Iterable[AgentSkill]) -> str:
    """Return what a system prompt says of the skills of a persona; empty without any."""
    lines = [f"- {skill.name}: {one_line(skill.description)}" for skill in skills]
    return _INTRODUCTION + "\n".join(lines) if lines else ""


def narrowed(schema: Json, skills: Sequence[str]) -> Json:
    """Return the schema of the arguments of `use_skill` for a persona with these skills."""
    properties = schema.get("properties")
    name = properties.get("name") if isinstance(properties, dict) else None
    if not skills or not isinstance(properties, dict) or not isinstance(name, dict):
        return schema
    return {**schema, "properties": {**properties, "name": {**name, "enum": [*skills]}}}


def skill_excerpt(skills: Mapping[str, PlannedSkill], given: JsonValue) -> SkillExcerpt:
    """Return the part of a skill that a call names, or why there is none."""
    arguments = given if isinstance(given, dict) else {}
    name, path = arguments.get("name"), arguments.get("file") or MAIN_FILE
    start = arguments.get("start_line")
    if not skills:
        return SkillExcerpt(refusal="no agent of this run has skills; add `agent_skills` to one")
    skill = skills.get(name) if isinstance(name, str) else None
    if skill is None:
        return SkillExcerpt(refusal=_unknown_text("skill", str(name), skills))
    file = skill.files.get(path) if isinstance(path, str) else None
    if file is None:
        return SkillExcerpt(
            refusal=_unknown_text(f"file of the skill {name!r}", str(path), skill.files)
        )
    if file.text is None:
        return SkillExcerpt(
            refusal=f"{path} of the skill {name!r} is not a text to read: it has {file.size:,} "
            "bytes; only a command of the project can use it"
        )
    first = start if isinstance(start, int) and start > 1 else 1
    lines = file.text.split("\n")
    if first > len(lines):
        return SkillExcerpt(
            refusal=f"{path} of the skill {name!r} has {len(lines)} lines; start_line is {first}"
        )
    whole = path == MAIN_FILE and first == 1
    return SkillExcerpt(text="\n\n".join((_lines(lines, first), *(_files(skill) if whole else ()))))


def _unknown_text(what: str, name: str, known: Iterable[str]) -> str:
    names = tuple(known)
    hint = nearest(name, names)
    wanted = shortened_text(name, 100)
    return f"there is no {what} {wanted!r}; there are: {listed(names)}" + (
        f"; {hint}" if hint else ""
    )


def _lines(lines: Sequence[str], first: int) -> str:
    """Return the lines from the first one on, as far as they fit, and say what follows."""
    size, end = 0, first - 1
    while end < len(lines):
        size += json_size(lines[end]) + 2
        if size > MAX_EXCERPT:
            break
        end += 1
    if end == len(lines):
        return "\n".join(lines[first - 1 :])
    if end == first - 1:  # one long line
        end, text = first, shortened_text(lines[first - 1], MAX_EXCERPT // 7)
    else:
        text = "\n".join(lines[first - 1 : end])
    more = f"; continue with start_line: {end + 1}" if end < len(lines) else ""
    return f"{text}\n[lines {first} to {end} of {len(lines)}{more}]"


def _files(skill: PlannedSkill) -> Iterator[str]:
    """Say what else the skill has: files to read, files that no model can read, and scripts."""
    if skill.compatibility:
        yield f"This skill needs: {one_line(skill.compatibility)}"
    others = {path: file for path, file in skill.files.items() if path != MAIN_FILE}
    if readable := [path for path, file in others.items() if file.text is not None]:
        rows = "\n".join(f"- {path}" for path in readable)
        yield f"Its files, to read with {USE_SKILL} and `file`:\n{rows}"
    if binary := [_file_line(path, file) for path, file in others.items() if file.text is None]:
        yield "Its files that are not texts to read:\n" + "\n".join(f"- {row}" for row in binary)
    scripts = [path for path in others if path.startswith(SCRIPTS)]
    if scripts:
        rows = "\n".join(f"- {path}: {_how_to_run(path, skill)}" for path in scripts)
        yield f"Its scripts run only as commands of this project:\n{rows}"


def _file_line(path: str, file: SkillFile) -> str:
    return f"{path} ({file.size:,} bytes)"


def _how_to_run(path: str, skill: PlannedSkill) -> str:
    command = skill.commands.get(path)
    return f"the command {command!r}" if command else "no command runs it, so do not try to"
