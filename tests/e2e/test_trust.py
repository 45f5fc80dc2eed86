"""A run's input is untrusted: what only the worker decides is refused, readably."""

import json
from collections.abc import Iterator

import pytest

from coterie.dsl.values import Json
from tests.support.project import Project, project, until

PERSONA: Json = {"provider": "scripted", "model": "demo", "prompts": {"user": "Hello."}}
TASK: Json = {
    "kind": "agent",
    "name": "ask",
    "agent_type": "generic_single_shot",
    "persona_key": "p",
}


def plan(**changes: object) -> Json:
    """A plan as anybody could write one by hand."""
    team: Json = {"id": "t", "name": "t", "steps": [TASK]}
    made: Json = {"name": "x", "entry_team": "t", "teams": {"t": team}, "personas": {"p": PERSONA}}
    return {**made, **changes}  # type: ignore[dict-item]  # JSON by construction


def legacy(path: str) -> Json:
    task: Json = {"kind": "agent", "name": "ask", "agent_class": path}
    return plan(teams={"t": {"id": "t", "name": "t", "steps": [task]}})


def command(argv: object) -> Json:
    step: Json = {
        "kind": "skill",
        "name": "go",
        "skill": "CommandRunner.run",
        "input": argv,  # type: ignore[dict-item]
    }
    task: Json = {**TASK, "agent_type": "generic_orchestrating"}
    persona: Json = {**PERSONA, "execution_plan": [step]}
    return plan(personas={"p": persona}, teams={"t": {"id": "t", "name": "t", "steps": [task]}})


INLINE = """
llm_config:
  default_provider: evil
  default_model: m
  providers: {evil: {kind: openai, api_base: "http://127.0.0.1:1", api_key_env: OPENAI_API_KEY}}
  personas: {p: {prompts: {user: Hello.}}}
orchestration:
  entry_team: t
  teams: {t: {tasks: [{name: ask, agent_type: generic_single_shot, persona_key: p}]}}
"""
INCLUDING = """
include: [config/teams/*.yml]
orchestration:
  entry_team: t
  teams: {t: {tasks: [{name: a, type: set, values: {x: 1}}]}}
"""
OWN_ROOT = """
worker: {workspace: /, commands: {sh: {run: [sh]}}}
orchestration:
  entry_team: t
  teams: {t: {tasks: [{name: a, type: set, values: {x: 1}}]}}
"""

REFUSED: dict[str, tuple[Json, str]] = {
    "a plan with its own api_base": ({"plan": plan(api_base="http://127.0.0.1:1")}, "api_base"),
    "a persona with its own api_base": (
        {"plan": plan(personas={"p": {**PERSONA, "api_base": "http://127.0.0.1:1"}})},
        "api_base",
    ),
    "a plan with its own workspace root": ({"plan": plan(workspace="/")}, "workspace"),
    "a plan with its own command": ({"plan": command({"command": "sh"})}, "unknown command"),
    "a plan with a command line": (
        {"plan": command({"command": "test", "run": ["sh", "-c", "id"]})},
        "run",
    ),
    "an agent class of another package": ({"plan": legacy("os.system")}, "worker.agent_packages"),
    "a provider that the worker has not": (
        {"plan": plan(personas={"p": {**PERSONA, "provider": "evil"}})},
        "evil",
    ),
    "inline YAML with providers": ({"document": INLINE}, "E601"),
    "inline YAML with a workspace": ({"document": OWN_ROOT}, "E601"),
    "inline YAML with an include": ({"document": INCLUDING}, "cannot use `include`"),
    "a team that is a path": ({"team": "../../etc/passwd"}, "passwd"),
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with project(tmp_path_factory.mktemp("trust") / "shop") as made:
        assert made.coterie("server").returncode == 0
        made.begin("worker")
        yield made


@pytest.mark.parametrize("what", REFUSED)
def test_the_temporal_cli_cannot_start(shop: Project, what: str) -> None:
    given, result = REFUSED[what]
    run = f"refused-{list(REFUSED).index(what)}"
    shop.temporal(
        "workflow",
        "start",
        "--type",
        "TeamWorkflow",
        "--task-queue",
        "coterie",
        "--workflow-id",
        run,
        "--input",
        json.dumps(given),
    )

    def ended() -> str | None:
        shown = shop.temporal("workflow", "describe", "-w", run, "-o", "json")
        status = json.loads(shown)["workflowExecutionInfo"]["status"]
        return status if status != "WORKFLOW_EXECUTION_STATUS_RUNNING" else None

    assert until(ended, "the end of the run", 30) == "WORKFLOW_EXECUTION_STATUS_FAILED"
    history = shop.temporal("workflow", "show", "-w", run, "-o", "json")
    assert result in history


def test_the_yaml_may_change_while_a_run_waits(shop: Project) -> None:
    """What entered the run is its own."""
    text = """
llm_config: {personas: {p: {prompts: {user: hello}}}}
orchestration:
  entry_team: first
  teams:
    first:
      tasks: [{name: sign, type: approval, prompt: "Go on?", deadline: 1h}]
      routing: {rules: [{condition: all_success, next_team: second}], default: null}
    second:
      tasks: [{name: mark, type: set, values: {said: AS_STARTED}}]
"""
    file = shop.folder / "edited.yml"
    file.write_text(text)
    assert shop.coterie("start", "edited.yml", "--id", "edited").returncode == 0
    until(lambda: "first/sign#1" in shop.coterie("pending", "edited").stdout, "the approval")
    file.write_text(text.replace("AS_STARTED", "AS_EDITED").replace("second", "third"))
    assert shop.coterie("approve", "edited", "--by", "ann").returncode == 0
    result = shop.coterie("result", "edited", "--json")
    assert result.returncode == 0, result.stderr
    assert "AS_STARTED" in result.stdout
    assert "AS_EDITED" not in result.stdout
