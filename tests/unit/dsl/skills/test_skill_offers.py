"""Agent skills in a plan: who offers which, what is refused, and what stays as it was."""

import pytest

from coterie.dsl.compile.compiler import Compiled, SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument, Problem
from coterie.dsl.model.agent_skills import AgentSkill, SkillFile, SkillFolder
from coterie.dsl.model.tools.tool_contract import FunctionTool
from coterie.dsl.model.traversal.code_mode import direct_tools
from tests.support.compiling import CAPABILITIES

DOCUMENT = """
worker: { commands: { share: { run: ["{python}", skills/refunds/scripts/share.py] } } }
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    clerk: { agent_skills: skills, prompts: { user: Answer. } }
    other: { agent_skills: [more, skills], tools: [find], prompts: { system: Be kind., user: Hi. } }
tools: { find: { skill: Discovery.collect } }
orchestration:
  entry_team: desk
  teams:
    desk: { tasks: [{ name: reply, persona_key: clerk }, { name: look, persona_key: other }] }
"""


def skill(name: str, *files: str, text: str = "Do it.", tools: tuple[str, ...] = ()) -> AgentSkill:
    others = {path: SkillFile(size=1, text="x") for path in files}
    return AgentSkill(
        name=name,
        description=f"Does {name}.",
        allowed_tools=tools,
        files={"SKILL.md": SkillFile(size=len(text), text=text), **others},
        file=f"{name}/SKILL.md",
    )


REFUNDS = skill("refunds", "scripts/share.py", "notes.md")
FOLDERS = {"skills": SkillFolder((REFUNDS,)), "more": SkillFolder((skill("poems"),))}


def compiled(text: str = DOCUMENT, folders: dict[str, SkillFolder] = FOLDERS) -> Compiled:
    source = SourceText("team.yml", text, skills=folders)
    return compile_sources([source], CAPABILITIES, name="test")


def problems(text: str = DOCUMENT, folders: dict[str, SkillFolder] = FOLDERS) -> list[Problem]:
    try:
        return list(compiled(text, folders).warnings)
    except InvalidDocument as error:
        return list(error.problems)


def places(found: list[Problem]) -> list[tuple[str, str, int, int]]:
    return [(one.code, one.file, one.line, one.column) for one in found]


def test_each_persona_offers_its_skills_and_the_plan_has_their_texts_once() -> None:
    made = compiled()
    assert made.warnings == ()
    clerk, other = made.plan.personas["clerk"], made.plan.personas["other"]
    assert (clerk.tools, clerk.agent_skills) == (("use_skill",), ("refunds",))
    assert (other.tools, other.agent_skills) == (("find", "use_skill"), ("poems", "refunds"))
    assert clerk.skill_list.endswith("- refunds: Does refunds.")
    assert other.skill_list.endswith("- poems: Does poems.\n- refunds: Does refunds.")
    assert made.plan.skills.keys() == {"poems", "refunds"}
    planned = made.plan.skills["refunds"]
    assert planned.files == REFUNDS.files
    assert planned.commands == {"scripts/share.py": "share"}
    tool = made.plan.tools["use_skill"]
    assert isinstance(tool, FunctionTool)
    assert tool.terms.local_activity
    assert tool.offered_schema is None


def test_an_agent_with_skills_calls_tools_by_default() -> None:
    step = compiled().plan.teams["desk"].steps[0]
    assert step.model_dump()["agent_type"] == "generic_tool_calling"


def test_a_changed_skill_is_another_plan() -> None:
    changed = {**FOLDERS, "skills": SkillFolder((skill("refunds", text="Do it twice."),))}
    plans = [compiled(DOCUMENT, folders).plan for folders in (FOLDERS, changed, FOLDERS)]
    assert plans[0].digest == plans[2].digest != plans[1].digest


def test_a_task_may_replace_the_skills_of_its_persona() -> None:
    text = DOCUMENT.replace(
        "persona_key: clerk }", "persona_key: clerk, config: { agent_skills: more } }"
    )
    personas = compiled(text).plan.personas
    assert personas["clerk@desk.reply"].agent_skills == ("poems",)
    assert "clerk" not in personas


def test_a_persona_may_do_without_the_tool() -> None:
    text = DOCUMENT.replace("agent_skills: skills,", "agent_skills: [],")
    assert compiled(text).plan.personas["clerk"].tools == ()


def test_a_document_may_declare_the_tool_itself() -> None:
    own = "tools: { use_skill: { skill: AgentSkills.use, labels: [untrusted] },"
    tool = compiled(
        DOCUMENT.replace("tools: { find", f"{own} find", 1).replace(
            "tools: [find]", "tools: [find]"
        )
    ).plan.tools["use_skill"]
    assert tool.labels == ("untrusted",)


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        ({"more": FOLDERS["more"]}, [("E601", 7, 28), ("E601", 8, 35)]),
        (
            {**FOLDERS, "skills": SkillFolder(unusable="is not a folder", fix="write it")},
            [("E008", 7, 28), ("E008", 8, 35)],
        ),
        ({**FOLDERS, "more": SkillFolder((skill("refunds", text="Else."),))}, [("E208", 8, 35)]),
        (
            {**FOLDERS, "more": SkillFolder(tuple(skill(f"s{n}") for n in range(100)))},
            [("E008", 7, 28)],
        ),
        (
            {**FOLDERS, "more": SkillFolder((skill("big", text="x" * 1_000_000),))},
            [("E008", 7, 28)],
        ),
    ],
)
def test_unusable_folders_are_refused_where_they_are_named(
    folders: dict[str, SkillFolder], expected: list[tuple[str, int, int]]
) -> None:
    found = [(code, line, column) for code, _, line, column in places(problems(DOCUMENT, folders))]
    assert found == expected


def test_equal_skills_of_two_folders_are_one() -> None:
    folders = {**FOLDERS, "more": SkillFolder((REFUNDS,))}
    assert compiled(DOCUMENT, folders).plan.personas["other"].agent_skills == ("refunds",)


def test_problems_of_its_files_stand_beside_those_of_the_document() -> None:
    broken = Problem("E102", "skills/bad/SKILL.md", 2, 1, "name", "the key 'name' is missing")
    text = DOCUMENT.replace("entry_team: desk", "entry_team: dsk")
    found = problems(text, {**FOLDERS, "more": SkillFolder(problems=(broken,))})
    assert [code for code, *_ in places(found)] == ["E102", "E201"]


def test_a_script_without_a_command_and_tools_that_nobody_offers_are_warnings() -> None:
    own = skill("refunds", "scripts/share.py", "scripts/b.py", tools=("find", "Bash"))
    found = problems(folders={**FOLDERS, "skills": SkillFolder((own,))})
    assert {one.code for one in found} == {"W517", "W536"}
    (script,) = [one for one in found if one.code == "W536"]
    assert (script.file, script.line) == ("refunds/SKILL.md", 1)
    assert "scripts/b.py" in script.message
    assert "share.py" not in script.message


def test_a_persona_that_follows_a_plan_reads_no_skills() -> None:
    text = DOCUMENT.replace(
        "agent_skills: skills,",
        "agent_skills: skills, execution_plan: [{ name: w, type: wait, duration: 1 }],",
    )
    assert "E503" in {one.code for one in problems(text)}


def test_code_of_a_model_reads_no_skills_which_say_what_it_shall_do() -> None:
    text = DOCUMENT.replace("tools: [find]", "tools: [find, code], code_mode: true").replace(
        "tools: { find", "tools: { code: { skill: Python.run }, find"
    )
    plan = compiled(text).plan
    assert direct_tools(plan.personas["other"], plan.tools) == ("code", "use_skill")
