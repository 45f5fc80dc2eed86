"""A2A clients get an output in chunks while the model writes it."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from a2a.server.tasks.task_manager import append_artifact_to_task
from a2a.types import Task

from tests.e2e.gateway.test_a2a_door import address, token
from tests.support.programs.a2a_client import BINDINGS, DONE, a2a_client, sent, task_of
from tests.support.project import Project
from tests.support.servers.streamed_model import StreamedModel, streamed_model

ESSAY = """
llm_config:
  default_provider: desk
  default_model: m
  providers: {{desk: {{kind: openai, api_base: "{url}"}}}}
  personas: {{writer: {{stream: true, prompts: {{user: "{{{{ context.topic }}}}"}}}}}}
orchestration:
  entry_team: work
  context: {{topic: {{type: string}}}}
  teams: {{work: {{tasks: [{{name: draft, persona_key: writer}}], routing: {{default: null}}}}}}
"""


@pytest.fixture(scope="module")
def model(served: Project) -> Iterator[StreamedModel]:
    with streamed_model() as made:
        (served.folder / "config/teams/chunks.yml").write_text(ESSAY.format(url=made.url))
        yield made


@pytest.mark.parametrize(
    ("binding", "is_lost"),
    [(BINDINGS[0], False), (BINDINGS[1], True)],
    ids=["one attempt", "a lost attempt"],
)
async def test_the_chunks_of_an_output_join_to_its_text(
    served: Project, model: StreamedModel, binding: str, is_lost: bool
) -> None:
    whole = "The sun shines." if is_lost else "It rains, Ümlaut 雨."
    seen = Task()
    flags: list[tuple[bool, bool]] = []
    model.say("It ")
    async with a2a_client(
        address(served), "chunks", token(served, f"chunks-{uuid4().hex[:8]}"), binding
    ) as client:
        async for event in client.send_message(sent("rain")):
            if event.HasField("task"):
                seen.CopyFrom(event.task)
            if not event.HasField("artifact_update"):
                continue
            update = event.artifact_update
            append_artifact_to_task(seen, update)  # as the SDK itself puts them together
            if update.artifact.name != "work/draft":
                continue
            flags.append((update.append, update.last_chunk))
            if len(flags) == 1:
                assert text_of(seen) == "It "
                if is_lost:
                    model.break_off()
                else:
                    model.say("rains, ")
            if text_of(seen) == "It rains, " or (is_lost and len(flags) == 1):
                model.end(whole.removeprefix("It rains, "))
        assert text_of(seen) == whole
        assert flags[0] == (False, False)
        assert flags[-1][1], "the last chunk says so"
        ended = await task_of(client, seen.id)
        assert ended.status.state == DONE
        assert text_of(ended) == whole
        assert all(append for append, _ in flags[1:]) != is_lost


def text_of(task: Task) -> str:
    """The text of the only output."""
    (artifact,) = [it for it in task.artifacts if it.name == "work/draft"]
    return "".join(part.text for part in artifact.parts)
