"""What a model sees of agent skills: the list in its prompt, and what each call reads."""

import pytest

from coterie.dsl.model.agent_skills import AgentSkill, PlannedSkill, SkillFile
from coterie.dsl.tool_loop.skill_texts import MAX_EXCERPT, narrowed, skill_excerpt, skill_list
from coterie.dsl.values import Json


def file(text: str | None, size: int = 5) -> SkillFile:
    return SkillFile(size=size, text=text)


REFUNDS = PlannedSkill(
    digest="d",
    compatibility="Needs\x1b[31m a till.",
    files={
        "SKILL.md": file("Read on.\n{{ context.secret }}"),
        "references/limits.md": file("one\ntwo\nthree"),
        "assets/logo.png": file(None, 70_000),
        "scripts/share.py": file("print(1)"),
        "scripts/other.py": file("print(2)"),
    },
    commands={"scripts/share.py": "share"},
)
SKILLS = {"refunds": REFUNDS}


def read(given: Json, skills: dict[str, PlannedSkill] = SKILLS) -> str:
    excerpt = skill_excerpt(skills, given)
    assert excerpt.refusal == ""
    return excerpt.text


def refused(given: Json, skills: dict[str, PlannedSkill] = SKILLS) -> str:
    excerpt = skill_excerpt(skills, given)
    assert excerpt.text == ""
    return excerpt.refusal


def test_the_instructions_come_with_what_else_the_skill_has() -> None:
    assert read({"name": "refunds"}) == (
        "Read on.\n{{ context.secret }}\n\n"
        "This skill needs: Needs\\u001b[31m a till.\n\n"
        "Its files, to read with use_skill and `file`:\n"
        "- references/limits.md\n- scripts/share.py\n- scripts/other.py\n\n"
        "Its files that are not texts to read:\n- assets/logo.png (70,000 bytes)\n\n"
        "Its scripts run only as commands of this project:\n"
        "- scripts/share.py: the command 'share'\n"
        "- scripts/other.py: no command runs it, so do not try to"
    )


def test_a_file_is_read_alone_and_from_a_line_on() -> None:
    limits: Json = {"name": "refunds", "file": "references/limits.md"}
    assert read(limits) == "one\ntwo\nthree"
    assert read({**limits, "start_line": 2}) == "two\nthree"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"name": "refund"}, "did you mean 'refunds'?"),
        ({"name": "refunds", "file": "../../secret"}, "there is no file of the skill 'refunds'"),
        ({"name": "refunds", "file": "/etc/passwd"}, "there is no file of the skill 'refunds'"),
        ({"name": "refunds", "file": "assets/logo.png"}, "is not a text to read"),
        ({"name": "refunds", "file": "SKILL.md", "start_line": 3}, "has 2 lines"),
        ({"name": ["refunds"]}, "there is no skill"),
    ],
)
def test_what_the_plan_lacks_is_refused_by_name(given: Json, reason: str) -> None:
    assert reason in refused(given)


def test_a_run_without_skills_says_so() -> None:
    assert "no agent of this run has skills" in refused({"name": "refunds"}, {})


@pytest.mark.parametrize("line", ["x" * 99, "ü" * 99, '"' * 99, "\x01" * 99])
def test_a_long_text_is_read_whole_in_parts(line: str) -> None:
    lines = [f"{number} {line}" for number in range(2_000)]
    skills = {"long": PlannedSkill(digest="d", files={"SKILL.md": file("\n".join(lines))})}
    start, seen = 1, list[str]()
    while start:
        text, _, mark = read({"name": "long", "start_line": start}, skills).rpartition("\n[")
        part = text if mark.startswith("lines") else f"{text}\n[{mark}" if text else mark
        assert len(part.encode()) <= MAX_EXCERPT
        seen += part.split("\n")
        start = int(mark.rpartition(": ")[2].rstrip("]")) if "start_line" in mark else 0
    assert seen == lines


def test_a_line_that_is_too_long_is_cut_with_a_mark() -> None:
    skills = {"long": PlannedSkill(digest="d", files={"SKILL.md": file("x" * 100_000 + "\nend")})}
    text = read({"name": "long"}, skills)
    assert len(text) < MAX_EXCERPT
    assert text.endswith("[lines 1 to 1 of 2; continue with start_line: 2]")
    assert read({"name": "long", "start_line": 2}, skills) == "end"


def test_the_list_has_one_line_for_each_skill() -> None:
    skills = [AgentSkill(name=name, description=f"Does\u2028{name}.") for name in ("a", "b")]
    lines = skill_list(skills).split("\n")
    assert lines[-2:] == ["- a: Does\\u2028a.", "- b: Does\\u2028b."]
    assert skill_list([]) == ""


def test_a_persona_reads_its_own_skills_only() -> None:
    schema: Json = {"type": "object", "properties": {"name": {"type": "string"}}}
    narrow = narrowed(schema, ["a"])
    assert narrow["properties"] == {"name": {"type": "string", "enum": ["a"]}}
    assert narrowed(schema, []) == schema
    assert narrowed({"type": "object"}, ["a"]) == {"type": "object"}
