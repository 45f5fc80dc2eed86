"""A notification names the labels that its run has met, for every kind of request."""

from collections.abc import Sequence

import pytest

from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.values import Json
from tests.support.compiling import CAPABILITIES
from tests.support.simulation.egress_runs import LABELLED, ran
from tests.support.tool_agents import answer, calls, persona, tool_plan

READ: tuple[str, Json] = ("files", {"path": "salaries.txt"})
PAGE: tuple[str, Json] = ("page", {"url": "https://a.example"})
CLOCK: tuple[str, Json] = ("clock", {})
ASKING: Json = {"prompt": "Send it?", "notify": "ops"}


@pytest.mark.parametrize(
    ("turn", "labels"),
    [
        ((READ, PAGE), ("private", "untrusted")),
        ((READ,), ("private",)),
        ((PAGE,), ("untrusted",)),
        ((CLOCK,), ()),
    ],
)
async def test_a_notification_names_the_labels_that_the_run_has_met(
    turn: Sequence[tuple[str, Json]], labels: tuple[str, ...]
) -> None:
    send: Json = {**LABELLED["send"], "requires_approval": ASKING}
    known: dict[str, Json] = {**LABELLED, "send": send}
    plan = tool_plan(known, {"actor": persona(*known)}, egress_approval={})
    turns = [calls(*turn), calls(("send", {"text": "salaries"})), answer("done")]
    one = await ran(plan, lambda _, number: turns[number - 1])
    [notice] = one.notices
    assert notice.message.channel == "ops"
    assert notice.message.labels == labels


@pytest.mark.parametrize(
    ("run_names", "step_names", "kept"),
    [("", "", False), ("notify: ops,", "", True), ("", "notify: ops,", True)],
)
def test_a_run_keeps_its_labels_if_a_notification_may_carry_them(
    run_names: str, step_names: str, kept: bool
) -> None:
    text = f"""
    llm_config:
      default_provider: scripted
      default_model: demo
      personas: {{ all: {{ prompts: {{ user: Work. }}, tools: [past] }} }}
    tools: {{ past: {{ skill: Memory.search }} }}
    worker: {{ notify: {{ ops: {{ run: [page] }} }} }}
    orchestration:
      {run_names.replace(",", "")}
      entry_team: main
      teams:
        main:
          tasks:
            - {{ name: one, persona_key: all }}
            - {{ name: sign, type: approval, {step_names} prompt: Is it fine? }}
    """
    plan = compile_sources([SourceText("1.yml", text)], CAPABILITIES, name="test").plan
    assert (plan.egress_approval is not None) is kept
