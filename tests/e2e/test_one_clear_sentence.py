"""What goes wrong in the world ends in one clear sentence; nothing is half written."""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from coterie.dsl.values import JsonValue
from tests.support.project import Project, project
from tests.support.servers.model_server import ModelServer

TEAM = """
llm_config:
  personas:
    asked:
      prompts: {user: "What is {{ context.question | default('it') }}?"}
      retries: 1
      max_reasks: 1
      max_tokens: 50
    schooled:
      prompts: {user: "Answer in JSON."}
      max_reasks: 1
      output_schema:
        type: object
        properties: {status: {type: string}}
        required: [status]
        additionalProperties: false
    mender:
      prompts: {user: "Write the change."}
    applier:
      execution_plan:
        - {name: read, skill: SemanticIterator.initialize, input: "{{ input.answer }}",
           output_variable: changes}
        - {name: apply, skill: AssetManager.apply_changes, input: "{{ changes }}"}
orchestration:
  entry_team: only
  teams:
    only:
      tasks:
TASKS
"""
ASK = "        - {name: ask, agent_type: generic_single_shot, persona_key: PERSONA}"
APPLY = """        - {name: write, agent_type: generic_single_shot, persona_key: mender}
        - name: apply
          agent_type: generic_orchestrating
          persona_key: applier
          input: {answer: "{{ tasks.write.data.text }}"}"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    server = ModelServer.start(tmp_path_factory.mktemp("model"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("sentences") / "shop"
    environment = {"OPENAI_API_KEY": "of-the-stand-in", "ANTHROPIC_API_KEY": "of-the-stand-in"}
    with project(folder, environment) as made:
        openai: JsonValue = {"api_base": model.openai_url, "default_model": "stand-in"}
        anthropic: JsonValue = {"api_base": model.anthropic_url, "default_model": "stand-in"}
        nowhere: JsonValue = {
            "kind": "openai",
            "api_base": "http://127.0.0.1:9/v1",
            "default_model": "stand-in",
        }
        providers: JsonValue = {"openai": openai, "anthropic": anthropic, "nowhere": nowhere}
        made.configure(llm_config={"default_provider": "openai", "providers": providers})
        yield made


@pytest.fixture(autouse=True)
def forgotten(model: ModelServer) -> None:
    model.reset()


def run(shop: Project, tasks: str, *arguments: str) -> tuple[int, str]:
    """Run a team of these tasks; its exit code and all that it said."""
    (shop.folder / "team.yml").write_text(TEAM.replace("TASKS", tasks))
    done = shop.coterie("run", "team.yml", *arguments)
    return done.returncode, done.stdout + done.stderr


def asking(persona: str) -> str:
    return ASK.replace("PERSONA", persona)


def snapshot(shop: Project) -> dict[str, bytes]:
    files = (path for path in shop.folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(shop.folder)): path.read_bytes()
        for path in files
        if ".coterie" not in path.parts and path.name != "team.yml"
    }


def test_a_missing_api_key(tmp_path: Path) -> None:
    with project(tmp_path / "shop") as bare:
        done = bare.coterie("run", "development", "--model", "anthropic/claude-sonnet-5-5")
    assert done.returncode == 2
    assert "ANTHROPIC_API_KEY" in done.stderr
    assert "export it" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unreachable_model_server(shop: Project) -> None:
    code, said = run(shop, asking("asked"), "--model", "nowhere/stand-in")
    assert code == 1
    assert "could not reach nowhere" in said
    assert "127.0.0.1:9" in said


def test_a_model_that_answers_rubbish(shop: Project, model: ModelServer) -> None:
    model.answer("I would rather talk about the weather.")
    code, said = run(shop, asking("schooled"), "--model", "anthropic/stand-in")
    assert code == 1
    assert "AnswerUnusable" in said
    assert "JSON" in said
    assert len(model.requests()) == 2, "the question, and one bounded re-ask"


def test_too_many_requests_wait_as_long_as_they_are_reported(
    shop: Project, model: ModelServer
) -> None:
    model.fail(429, "slow down", retry_after=2, nth=0)
    model.answer("forty-two")
    code, said = run(shop, asking("asked"), "--model", "openai/stand-in")
    assert code == 0, said
    assert "forty-two" in said
    assert len(model.requests()) == 2


def test_a_server_that_stays_overloaded(shop: Project, model: ModelServer) -> None:
    model.fail(529, "Overloaded")
    code, said = run(shop, asking("asked"), "--model", "anthropic/stand-in")
    assert code == 1
    assert "overloaded" in said.lower()
    assert len(model.requests()) == 2, "one attempt and one retry, as the persona says"


def test_a_cut_answer(shop: Project, model: ModelServer) -> None:
    model.answer("It was the best of times, it was the", finishReason="length")
    code, said = run(shop, asking("asked"), "--model", "openai/stand-in")
    assert code == 1
    assert "AnswerTruncated" in said
    assert "max_tokens (50)" in said


def test_a_change_that_escapes_the_project(shop: Project, model: ModelServer) -> None:
    changes = [
        (file, f"--- /dev/null\n+++ b/{file}\n@@ -0,0 +1 @@\n+text\n")
        for file in ("invoicing/fine.txt", "../outside.txt")
    ]
    blocks = "\n".join(
        f"===CHANGE_BEGIN===\nFILE: {file}\nTYPE: create\nDESCRIPTION: d\nDIFF:\n{diff}"
        f"===CHANGE_END==="
        for file, diff in changes
    )
    model.answer(cast("JsonValue", blocks))
    before = snapshot(shop)
    code, said = run(shop, APPLY)
    assert code == 1
    assert "'../outside.txt' has '..'" in " ".join(said.split())
    assert snapshot(shop) == before
    assert not (shop.folder.parent / "outside.txt").exists()
