"""A stream of AG-UI says each event once, wherever its client was cut off."""

from typing import Any, cast

import pytest

from coterie.gateway.doors.agui.agui_inputs import AguiInput
from coterie.gateway.doors.agui.agui_stream import AguiClient, AguiStream
from coterie.gateway.doors.agui.agui_threads import ThreadRun
from coterie.gateway.doors.agui.stream_positions import Position
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.streams.stream_hub import StreamHub
from tests.support.gateway import ALL
from tests.support.recorded_pages import RecordedPages
from tests.support.watching.agui_reading import AguiEvent, AguiReader, read_all

RUN = "recorded"
ASKED = AguiInput("thread", RUN, None, {}, (), ())


RECORDED = (
    *("tool_agent", "tool_agent_long", "nested_grants", "egress", "local_tools", "begun_branches"),
    *("equal_tool_calls", "retried_tools", "unusable_turns", "long"),
)
"""Runs with agents in agents, tools, failures, branches, and several histories."""


async def stream(
    pages: RecordedPages, position: Position | None = None, *, is_new: bool = True
) -> list[AguiEvent]:
    """What a client of a run that has ended gets."""
    hub = StreamHub(pages)
    client = AguiClient(ALL, ASKED, ThreadRun(RUN, is_new=is_new), position)
    access = cast("RunAccess", None)  # a run that has ended is asked nothing
    found = await read_all(AguiStream(hub, access, client).messages())
    await hub.close()
    return found


@pytest.mark.parametrize("name", RECORDED)
async def test_a_recorded_run_is_a_valid_run_of_ag_ui_wherever_it_is_cut(name: str) -> None:
    pages = RecordedPages.of(name)
    whole = await stream(pages)
    reader = AguiReader().take(whole)
    assert reader.last["type"] in ("RUN_FINISHED", "RUN_ERROR")
    assert len({event.id for event in whole[:-1]}) == len(whole) - 1, "each id is one position"
    for place in range(0, len(whole) - 1, 1 + len(whole) // 10):
        rest = await stream(pages, Position.parse(whole[place].id))
        assert [it.data for it in rest] == [it.data for it in whole[place + 1 :]]
    late = AguiReader().take(await stream(pages, is_new=False))
    assert (late.state, late.last) == (reader.state, reader.last)
    assert without_owners(late.messages) == reader.messages


def without_owners(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in message.items() if key != "subagentRunId"}
        for message in messages
    ]
