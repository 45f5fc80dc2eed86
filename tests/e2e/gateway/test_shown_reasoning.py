"""What people may read of a model's thinking comes to AG-UI, the stream and the command line."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.gateway.test_agui import body, said, streamed
from tests.support.gateway import ALL, client_of
from tests.support.project import Project
from tests.support.servers.streamed_model import StreamedModel, streamed_model

THINKER = """
llm_config:
  default_provider: desk
  default_model: m
  providers: {{desk: {{kind: openai, api_base: "{url}"}}}}
  personas:
    thinker:
      stream: true
      reasoning: {reasoning}
      prompts: {{user: "{{{{ context.message }}}}"}}
orchestration:
  entry_team: work
  context: {{message: {{type: string}}}}
  teams: {{work: {{tasks: [{{name: act, persona_key: thinker}}], routing: {{default: null}}}}}}
"""
KEY = "sk-ant-" + "api03-" + "a1B2" * 20
"""In the form of a key: the worker masks it."""


@pytest.fixture(scope="module")
def model(served: Project) -> Iterator[StreamedModel]:
    with streamed_model() as made:
        for name, reasoning in (("open", "auto"), ("quiet", "'off'")):
            text = THINKER.format(url=made.url, reasoning=reasoning)
            (served.folder / f"config/teams/{name}.yml").write_text(text)
        yield made


async def events(app: object, model: StreamedModel, team: str) -> tuple[str, list[dict[str, Any]]]:
    """The run of a question, and its events for a client of AG-UI."""
    run = f"{team}-{uuid4().hex[:8]}"
    model.think("3 + 4 is ")
    model.think(f"7, by {KEY}.")
    model.end("Seven.")
    found = await streamed(app, team, body(run, "t", messages=said("3 + 4?")))
    return run, [event.data for event in found]


async def test_what_a_model_shows_of_its_thinking_is_told_once(
    app: object, served: Project, model: StreamedModel
) -> None:
    run, told = await events(app, model, "open")
    thoughts = [it for it in told if it["type"].startswith("REASONING")]
    assert [it["type"] for it in thoughts] == [
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
    ]
    (text,) = [it["delta"] for it in thoughts if "delta" in it]
    assert text.startswith("3 + 4 is 7, by ")
    assert KEY not in text
    assert len({it["messageId"] for it in thoughts}) == 1
    late = [event.data for event in await streamed(app, "open", body(run, "t"))]
    (snapshot,) = [it["messages"] for it in late if it["type"] == "MESSAGES_SNAPSHOT"]
    assert [(it["role"], it["content"]) for it in snapshot[-2:]] == [
        ("reasoning", text),
        ("assistant", "Seven."),
    ]
    async with client_of(app, ALL) as http:
        history = (await http.get(f"/v1/runs/{run}/history")).json()
    assert [it["reasoning"] for it in history["events"] if it.get("reasoning")] == [text]
    shown = served.coterie("show", run, "work/act").stdout
    assert shown.index("3 + 4 is 7") < shown.index("Seven.")


async def test_thinking_that_a_persona_hides_is_not_kept(
    app: object, served: Project, model: StreamedModel
) -> None:
    run, told = await events(app, model, "quiet")
    assert not [it for it in told if it["type"].startswith("REASONING")]
    shown = served.coterie("show", run, "work/act", "--json").stdout
    assert json.loads(shown)
    assert "3 + 4 is" not in shown
