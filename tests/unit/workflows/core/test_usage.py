"""What calls use is counted by task and model, whatever rounds and attempts there were."""

import pytest

from workflows.core.location import Location
from workflows.core.state import RunState
from workflows.core.state_keys import MAIN, StateKey
from workflows.core.usage import began


@pytest.mark.parametrize(
    ("frame", "path", "task"),
    [
        ("main:a#1", "ask", "a/ask"),
        ("main:a#1", "7/ask", "a/7/ask"),  # a step may have such a name
        ("main:a#1/each|7", "each/7/ask", "a/each/ask"),
    ],
)
def test_calls_of_rounds_at_once_count_for_their_task(frame: str, path: str, task: str) -> None:
    state = RunState()
    place = Location.of_visit(MAIN, "a", 1).beside(path)._replace(frame_key=StateKey(frame))
    tally = began(state, place, "writer@2", "m")
    assert (tally.task, tally.persona, tally.calls) == (task, "writer", 1)
    assert list(state.tallies) == [f"{task} m"]
