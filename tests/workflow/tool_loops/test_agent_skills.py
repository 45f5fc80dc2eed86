"""Agent skills on a server: what a call writes to the history, what a model gets, and replays."""

from pathlib import Path
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.testing import WorkflowEnvironment

from coterie.activities.contracts import FunctionRequest
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.model.agent_skills import AgentSkill, SkillFile, SkillFolder
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json, JsonValue
from coterie.replay.replay import replay
from coterie.runs.histories.recorded_calls import recorded_calls
from tests.support.engine import CAPABILITIES, engine, trail

DOCUMENT = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    clerk: {agent_skills: skills, prompts: {system: You work., user: "Do {{ context.work }}."}}
    poet: {agent_skills: [poems], prompts: {user: Sing.}}
orchestration:
  entry_team: desk
  teams:
    desk:
      tasks:
        - {name: reply, persona_key: clerk}
        - {name: sing, persona_key: poet}
"""
LONG = "\n".join(f"{number} of many lines, with {{{{ context.work }}}}" for number in range(3_000))


def skill(name: str, text: str) -> AgentSkill:
    files = {"SKILL.md": SkillFile(size=len(text), text=text)}
    return AgentSkill(name=name, description=f"Does {name}.", files=files, file=name)


def plan() -> Plan:
    folders = {
        "skills": SkillFolder((skill("refunds", LONG), skill("letters", "Write."))),
        "poems": SkillFolder((skill("poems", "Rhyme."),)),
    }
    source = SourceText("team.yml", DOCUMENT, skills=folders)
    return compile_sources([source], CAPABILITIES, name="test").plan


def turn(task: str, number: int, *given: Json) -> Json:
    calls: list[JsonValue] = [{"tool": "use_skill", "arguments": one} for one in given]
    return {"task": task, "turn": number, "tool_calls": calls}


async def test_a_model_reads_its_own_skills_at_one_event_a_call(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    answers: list[Json] = [
        turn("reply", 1, {"name": "refunds"}, {"name": "letters"}, {"name": "poems"}),
        turn("reply", 2, {"name": "refunds", "start_line": 2_900}),
        {"task": "reply", "turn": 3, "contains": "2999 of many", "answer": "Done."},
        turn("sing", 1, {"name": "poems"}),
        {"task": "sing", "turn": 2, "contains": "Rhyme.", "answer": "La."},
    ]
    async with engine(env, tmp_path, answers) as running:
        handle: Any = await running.start(plan(), {"work": "it"})
        result = await handle.result()
        history = await handle.fetch_history()
        entries = await trail(handle)
    assert result["output"] == {"reply": {"text": "Done."}, "sing": {"text": "La."}}
    calls = [call for call in recorded_calls(history) if "use_skill" in call.path]
    given = [call.request.input for call in calls if isinstance(call.request, FunctionRequest)]
    assert given == [
        {"name": "refunds"},
        {"name": "letters"},
        {"name": "refunds", "start_line": 2_900},
        {"name": "poems"},
    ]
    assert all(call.is_local for call in calls)
    events = [event.event_type for event in history.events]
    assert events.count(EventType.EVENT_TYPE_MARKER_RECORDED) == 4
    assert events.count(EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED) == 5
    texts = [entry.because or "" for entry in entries if entry.status in ("turn", "refused")]
    assert "of the skills refunds, letters" in texts[0]
    assert 'arguments.name is "poems"' in texts[1]
    assert (await replay(history)).differences == ()
