"""A request is reported whole by its id, and shortened where many or large ones are listed."""

import json
from pathlib import Path

from temporalio.testing import WorkflowEnvironment

from coterie.workflows.core.extract import MAX_ANSWER_SIZE
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.state import RunState
from coterie.workflows.handlers import query_handlers as looking
from tests.support.engine import engine
from tests.support.runs import Handle, asked, decide

LARGE = """
orchestration:
  entry_team: only
  teams:
    only:
      tasks:
        - {name: sign, type: approval, prompt: "Ok?", show: {book: "{{ context.book }}"}}
        - {name: again, type: approval, prompt: "Ok?"}
"""


async def test_a_large_request_is_cut_in_the_list_and_whole_by_its_id(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    book = "x" * 60_000
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(LARGE, {"book": book})
        listed = await asked(handle)
        assert listed["cut"] is True
        assert len(json.dumps(listed)) < MAX_ANSWER_SIZE + 1000
        whole = (await handle.query("request", "only/sign#1"))["pending"]
        assert whole["show"] == {"book": book}
        assert whole["digest"] == listed["digest"]
        taken = await decide(handle, "only/sign#1")
        assert (await handle.query("request", {"id": "only/sign#1"}))["decision"] == taken


def test_a_list_of_many_requests_stays_an_answer_that_is_read_whole() -> None:
    state = RunState()
    for number in range(100):
        request = Pending(id=f"a/b#{number}", prompt="p", show={"n": "x" * 5000}, since="now")
        state.pending[request.id] = request
    shown = looking.pending(state)
    assert len(shown) == 100
    assert all(one.cut for one in shown)
    size = sum(len(one.model_dump_json(exclude_defaults=True)) for one in shown)
    assert size < 100 * 1000
