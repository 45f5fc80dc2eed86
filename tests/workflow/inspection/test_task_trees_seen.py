"""`coterie graph RUN` shows the tasks of a task graph while it runs, and as it ended."""

from pathlib import Path
from typing import Any

from pydantic import JsonValue
from temporalio.testing import WorkflowEnvironment

from coterie.graph.run_graph import seen_run
from coterie.inspection.trace import Trace
from coterie.inspection.why_text import run_text
from coterie.replay.rebuilt_run import Rebuilt, rebuilt
from tests.support.engine import engine
from tests.support.runs import asked, decide
from tests.support.servers.temporal_server import suggesting_after

HEAD = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    worker: {prompts: {user: "Do {{ task.id }}."}}
orchestration:
  entry_team: project
  teams:
    project:
      tasks:
"""
ASKING = (
    HEAD
    + """
        - name: work
          type: task_graph
          tasks:
            - {id: draw}
            - {id: code, dependencies: [draw]}
            - {id: test, dependencies: [code]}
            - {id: break}
            - {id: mend, dependencies: [break]}
          task_variable: task
          concurrency: 2
          on_failure: continue
          body:
            - {name: bad, type: fail, error: Bad, message: no, when: "{{ task.id == 'break' }}"}
            - {name: sign, type: approval, prompt: Good?, when: "{{ task.id == 'code' }}"}
"""
)
LONG = (
    HEAD
    + """
        - name: first
          type: task_graph
          tasks: "{{ context.tasks }}"
          task_variable: task
          max_tasks: 100
          body: [{name: act, agent_type: generic_single_shot, persona_key: worker}]
        - name: second
          type: task_graph
          tasks: "{{ context.tasks }}"
          task_variable: task
          max_tasks: 100
          max_iterations: 30
          body: [{name: redo, agent_type: generic_single_shot, persona_key: worker}]
"""
)


async def test_the_tasks_of_a_run_are_seen_while_it_waits_and_after_its_end(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as here:
        handle: Any = await here.start(ASKING)
        await asked(handle)
        (tree,) = (await seen_run(env.client, handle.id)).walk.trees
        assert tree.step == "project/work"
        assert {node.id: node.status for node in tree.nodes.values()} == {
            "draw": "completed",
            "code": "in_progress",
            "test": "pending",
            "break": "failed",
            "mend": "blocked",
        }
        assert tree.nodes["mend"].because == "'mend' depends on 'break', which failed"
        assert tree.nodes["test"].dependencies == ("code",)
        await decide(handle, "project/work/1/sign#1")
        await handle.result()
        (tree,) = (await seen_run(env.client, handle.id)).walk.trees
        assert [node.status for node in tree.nodes.values()][:3] == ["completed"] * 3
        seen = await rebuilt(await handle.fetch_history())
        assert isinstance(seen, Rebuilt)
        shown = run_text(Trace(handle.id, seen.trail, tuple(seen.visits.values())), handle.id)
        assert "project#1/work/4: blocked, because 'mend' depends on 'break'" in shown


async def test_graphs_of_earlier_histories_are_seen_too(tmp_path: Path) -> None:
    answers: list[Any] = [{"task": one, "answer": "done"} for one in ("act", "redo")]
    tasks: list[JsonValue] = [{"id": f"t{number}"} for number in range(40)]
    async with suggesting_after(60) as env, engine(env, tmp_path, answers) as here:
        handle: Any = await here.start(LONG, {"tasks": tasks})
        await handle.result()
        first, second = (await seen_run(env.client, handle.id)).walk.trees
    assert (first.step, first.counts) == ("project/first", {"completed": 40})
    assert second.counts == {"completed": 30, "pending": 10}
    assert "max_iterations" in list(second.nodes.values())[-1].because
