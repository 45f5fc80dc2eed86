"""Budgets hold where they say: they warn, then stop, route or ask; nothing is cut or forgotten."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import WorkflowEnvironment

from coterie.activities.providers.provider import ProviderSettings
from coterie.dsl.model.price import Price
from coterie.dsl.values import Json
from tests.support.engine import engine, path_of, trail
from tests.support.runs import Handle, asked, failure, refused, scheduled
from tests.support.servers.raw_server import events, http, raw_server

LOOP = """
orchestration:
  entry_team: a
  max_recursion_depth: 9
  budgets: BUDGETS
  teams:
    a:
      budgets: TEAM
      tasks: [{name: write, agent_type: generic_single_shot, persona_key: writer}]
      routing:
        rules: [{condition: all_success, next_team: a, context_updates: {n: "{{ run.visit }}"}}]
    end:
      tasks: [{name: finish, agent_type: generic_single_shot, persona_key: writer}]
"""
ANSWERS: list[Json] = [
    {"task": "write", "answer": "a word", "usage": {"input_tokens": 900, "output_tokens": 100}},
    {"task": "finish", "answer": "the end", "usage": {"input_tokens": 1, "output_tokens": 1}},
]
PRICES = {"demo": Price(input=10, output=100)}
"""So that an answer costs 1.9 cents."""


def loop(budgets: str = "null", team: str = "null") -> str:
    return LOOP.replace("BUDGETS", budgets).replace("TEAM", team)


async def entries(handle: Handle) -> list[tuple[str, str]]:
    return [
        (entry.status or "", entry.because)
        for entry in await trail(handle)
        if entry.kind == "budget"
    ]


@pytest.mark.parametrize(
    ("budgets", "end", "calls", "message"),
    [
        (
            "{tokens: 3000}",
            "budget_tokens",
            3,
            "the token budget of the run is used up, 3,000 of 3,000 tokens",
        ),
        (
            "{money: 0.03}",
            "budget_money",
            2,
            "the money budget of the run is used up, 0.038 of 0.03 USD",
        ),
        (
            "{model_calls: 2}",
            "budget_model_calls",
            2,
            "the model call budget of the run is used up, 2 of 2 calls",
        ),
    ],
)
async def test_a_used_budget_ends_the_run_by_its_name(
    env: WorkflowEnvironment, tmp_path: Path, budgets: str, end: str, calls: int, message: str
) -> None:
    async with engine(env, tmp_path, ANSWERS, prices=PRICES) as running:
        handle = await running.start(loop(budgets))
        error = await failure(handle)
        [result] = error.details
        assert (error.type, error.message) == ("BudgetExceeded", f"Budget exceeded: {message}")
        assert (result["end"], result["model_calls"]) == (end, calls)
        assert result["context"] == {"n": calls}, "what was done stays readable"
        assert (await handle.query("cost"))["budgets"][0]["state"] == "used_up"


async def test_a_budget_of_money_is_used_up_to_the_cent(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    """Eight times 0.1 is less than 0.8, as floating point numbers are added."""
    dime: list[Json] = [{"task": "write", "answer": "x", "usage": {"input_tokens": 100}}]
    prices = {"demo": Price(input=1000, output=0)}
    async with engine(env, tmp_path, dime, prices=prices) as running:
        error = await failure(await running.start(loop("{money: 0.8}")))
        assert (error.details[0]["end"], error.details[0]["model_calls"]) == ("budget_money", 8)


async def test_agents_are_reported_from_the_warning_on_and_not_before(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, ANSWERS) as running:
        handle = await running.start(loop("{tokens: {limit: 4000, warn_at: 0.5}}"))
        await failure(handle)
        sent = [call["input"].get("notices") for call in await scheduled(handle)]
        note = (
            "[Note: {} of the token budget of the run is used, {} of 4,000 tokens. "
            "Come to an end with what is left.]"
        )
        assert sent == [None, None, [note.format("50%", "2,000")], [note.format("75%", "3,000")]]
        [(status, because)] = await entries(handle)
        assert (status, because) == (
            "warned",
            "50% of the token budget of the run is used, 2,000 of 4,000 tokens",
        )


async def test_a_run_without_budgets_is_sent_and_reported_nothing_of_them(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, ANSWERS) as running:
        without, with_one = (
            await running.start(loop()),
            await running.start(loop("{tokens: 99999}")),
        )
        for handle in (without, with_one):
            assert (await failure(handle)).message.startswith("Max recursion depth")
        histories = [list((await handle.fetch_history()).events) for handle in (without, with_one)]
        kinds = [[event.event_type for event in history] for history in histories]
        assert kinds[0] == kinds[1], "a budget costs no event"
        plain, budgeted = [
            [call["input"] for call in await scheduled(handle)] for handle in (without, with_one)
        ]
        assert plain == budgeted, "and no byte of a request"


async def test_a_routed_budget_leads_to_its_team_once(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    team = "{model_calls: {limit: 2, on_exceeded: route, next_team: end}}"
    async with engine(env, tmp_path, ANSWERS) as running:
        handle = await running.start(loop(team=team))
        result: Any = await handle.result()
        assert path_of(await trail(handle)) == ["a", "a", "a", "end"]
        assert result["output"] == {"finish": {"text": "the end"}}
        back = loop("{model_calls: {limit: 2, on_exceeded: route, next_team: end}}")
        back += "      routing: {rules: [{condition: all_success, next_team: a}]}\n"
        error = await failure(await running.start(back))
        assert error.details[0]["end"] == "budget_model_calls", "the second time it stops"
        assert error.details[0]["visits"] == {"a": 4, "end": 1}


GUARDED = """
orchestration:
  entry_team: a
  budgets: RUN
  teams:
    a:
      budgets: TEAM
      tasks:
        - name: guarded
          type: try
          steps:
            - {name: one, agent_type: generic_single_shot, persona_key: writer}
            - {name: two, agent_type: generic_single_shot, persona_key: writer}
          finally: [{name: last, agent_type: generic_single_shot, persona_key: writer}]
    end: {tasks: [{name: finish, agent_type: generic_single_shot, persona_key: writer}]}
"""


@pytest.mark.parametrize("whose", ["RUN", "TEAM"])
async def test_a_budget_leads_to_its_team_also_when_a_finally_on_the_way_asks_it_again(
    env: WorkflowEnvironment, tmp_path: Path, whose: str
) -> None:
    budget = "{model_calls: {limit: 1, on_exceeded: route, next_team: end}}"
    text = GUARDED.replace(whose, budget).replace("RUN", "null").replace("TEAM", "null")
    answers: list[Json] = [{"task": "one", "answer": "x"}, {"task": "finish", "answer": "the end"}]
    async with engine(env, tmp_path, answers) as running:
        handle = await running.start(text)
        result: Any = await handle.result()
        assert result["output"] == {"finish": {"text": "the end"}}
        assert result["model_calls"] == 2, "the calls that it does not pay for never began"
        assert [status for status, _ in await entries(handle)] == ["warned", "routed"]


async def test_a_person_extends_finishes_or_stops(env: WorkflowEnvironment, tmp_path: Path) -> None:
    budgets = "{tokens: {limit: 1000, on_exceeded: ask}}"
    async with engine(env, tmp_path, ANSWERS) as running:
        handle: Handle = await running.start(loop(budgets))
        request = await asked(handle)
        assert request["id"] == "a/budget/run.tokens#1"
        assert request["prompt"].startswith("The token budget of the run is used up, 1,000 of")
        wrong = {"id": request["id"], "decision": "approve", "payload": {"extend_by": -1}}
        assert "extend_by" in await refused(handle, wrong)
        await _decide(handle, request["id"], {"extend_by": 1500})
        request = await asked(handle)
        assert request["id"] == "a/budget/run.tokens#2"
        assert "3,000 of 2,500 tokens" in request["prompt"]
        await _decide(handle, request["id"], None)
        request = await asked(handle)
        await _decide(handle, request["id"], {"extend_by": 0})
        result = await handle.result()
        assert result["end"] == "completed"
        assert result["because"].endswith("ann ends the run with what there is")
        assert (result["context"], result["model_calls"]) == ({"n": 4}, 4)
        assert len(result["decisions"]) == 3

        stopped: Handle = await running.start(loop(budgets))
        request = await asked(stopped)
        answer = {"id": request["id"], "decision": "reject", "by": "bob"}
        await stopped.execute_update("decide", answer)
        assert (await failure(stopped)).message.endswith(
            "1,000 of 1,000 tokens; bob allows no more"
        )


async def _decide(handle: Handle, id: str, payload: Json | None) -> None:
    answer = {"id": id, "decision": "approve", "by": "ann"}
    await handle.execute_update("decide", answer | ({"payload": payload} if payload else {}))


async def test_silence_stops_the_run(env: WorkflowEnvironment, tmp_path: Path) -> None:
    budgets = "{tokens: {limit: 1000, on_exceeded: {ask: {deadline: 2d, prompt: More?}}}}"
    async with engine(env, tmp_path, ANSWERS) as running:
        error = await failure(await running.start(loop(budgets)))
        assert error.message.endswith("tokens; nobody decided in time")


async def test_money_that_cannot_be_counted_is_not_spent(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    """Own prices that leave a model out make it one without a price."""
    others = {"another": Price(input=1, output=1)}
    async with engine(env, tmp_path, ANSWERS, prices=others) as running:
        handle = await running.start(loop("{money: 100}"))
        error = await failure(handle)
        assert error.details[0]["model_calls"] == 1
        assert error.message == (
            "Budget exceeded: the money budget of the run cannot be measured: scripted/demo has no "
            "price on its worker"
        )
        cost: Any = await handle.query("cost")
        assert cost["total"]["unpriced"] == 1
        assert "cost" not in cost["total"], "unpriced is not zero"
        for shown in (error.details[0], await handle.query("status")):
            assert shown["unpriced"] is True, "the result and the status tell the same"
            assert "cost" not in shown


CUT = http(
    events(
        {
            "type": "message_start",
            "message": {"model": "demo", "usage": {"input_tokens": 1000, "output_tokens": 1}},
        },
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "a"}},
    ),
    kind="text/event-stream",
)
RETRIED = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas: {writer: {retries: 2, prompts: {user: Write.}}}
orchestration:
  entry_team: a
  budgets: {tokens: 5000}
  teams: {a: {tasks: [{name: write, agent_type: generic_single_shot, persona_key: writer}]}}
"""


async def test_attempts_that_failed_after_they_used_tokens_are_counted(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    import_module(
        "coterie.activities.providers.anthropic"
    )  # which takes longer than some heartbeats
    async with raw_server(CUT) as server:
        provider = ProviderSettings(
            name="scripted",
            kind="anthropic",
            api_base=server.url,
            api_key="k",
            prices={"demo": Price(input=1000, output=0)},
        )
        async with engine(env, tmp_path, [], provider=provider) as running:
            handle = await running.start(RETRIED)
            assert (await failure(handle)).type == "TeamFailed"
            cost: Any = await handle.query("cost")
            assert len(server.requests) == 3
            assert cost["total"]["calls"] == 1
            assert cost["total"]["input_tokens"] == 3000
            assert cost["total"]["cost"] == pytest.approx(3.0)
            assert cost["budgets"][0]["used"] == 3003


AT_ONCE = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {retries: 0, prompts: {user: "Write {{ input.n }}."}}
    blank: {retries: 0, prompts: {user: "{{ input.n }}"}}
orchestration:
  entry_team: a
  teams:
    a:
      stop_on_failure: false
      tasks:
        - name: all
          type: loop
          iterate_on: "{{ range(4) | list }}"
          loop_variable: n
          concurrency: 4
          body:
            - {name: before, type: wait, duration: 1s}
            - {name: write, agent_type: generic_single_shot, persona_key: writer,
               input: {n: "{{ n }}"}}
            - {name: after, type: wait, duration: 1s}
        - {name: called, type: team, team: b}
    b:
      tasks:
        - {name: write, agent_type: generic_single_shot, persona_key: writer, input: {n: 1}}
        - {name: write_more, agent_type: generic_single_shot, persona_key: writer, input: {n: 1}}
        - {name: unfilled, agent_type: generic_single_shot, persona_key: blank, input: {n: ""},
           on_failure: continue}
"""


async def test_a_step_is_reported_with_its_own_tokens_also_when_others_run_at_once(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    answers: list[Json] = [
        {"task": task, "answer": "x", "usage": {"input_tokens": 20, "output_tokens": 5}}
        for task in ("write", "write_more")
    ]
    async with engine(env, tmp_path, answers) as running:
        handle = await running.start(AT_ONCE)
        await handle.result()
        found = {
            f"{one.team}/{one.step}": one.tokens
            for one in await trail(handle)
            if one.kind == "step"
        }
        assert found == {
            **{f"a/all/{n}/write": 25 for n in range(4)},
            **{f"a/all/{n}/{step}": None for n in range(4) for step in ("before", "after")},
            "a/all": 100,
            "b/write": 25,
            "b/write_more": 25,
            "b/unfilled": None,
            "a/called": 50,
        }
        cost: Any = await handle.query("cost")
        assert "unreported" not in cost["total"], (
            "no model was asked where no prompt could be filled"
        )


PARALLEL = """
orchestration:
  entry_team: a
  budgets: {model_calls: {limit: 2, ON}}
  teams:
    a:
      tasks:
        - name: both
          type: parallel
          branches:
            one: [STEP1, {name: more, agent_type: generic_single_shot, persona_key: writer}]
            two: [STEP2]
      routing: {rules: [{condition: all_success, next_team: null}]}
    end: {tasks: [{name: finish, agent_type: generic_single_shot, persona_key: writer}]}
"""


@pytest.mark.parametrize("on", ["on_exceeded: stop", "on_exceeded: route, next_team: end"])
async def test_a_call_in_progress_is_not_cut(
    env: WorkflowEnvironment, tmp_path: Path, on: str
) -> None:
    """The way `one` is out of calls while `two` is in the middle of its own."""
    text = PARALLEL.replace("ON", on)
    for name in ("1", "2"):
        step = f"{{name: w{name}, agent_type: generic_single_shot, persona_key: writer}}"
        text = text.replace(f"STEP{name}", step)
    slow: list[Json] = [
        {"task": "w1", "answer": "x"},
        {"task": "w2", "answer": "x", "seconds": 1},
        {"task": "finish", "answer": "the end"},
    ]
    async with engine(env, tmp_path, slow) as running:
        handle = await running.start(text)
        if "route" in on:
            result: Any = await handle.result()
            assert result["output"] == {"finish": {"text": "the end"}}
        else:
            assert (await failure(handle)).type == "BudgetExceeded"
        cost: Any = await handle.query("cost")
        tasks = {row["name"]: row for row in cost["tasks"]}
        assert tasks["a/both/two/w2"]["output_tokens"] == 1, "its answer was waited for"
        assert "a/both/one/more" not in tasks, "and nothing new began"


FAN_OUT = """
orchestration:
  entry_team: begin
  budgets: {model_calls: {limit: 1, on_exceeded: route, next_team: end}}
  teams:
    begin:
      tasks: [{name: ready, values: {x: 1}}]
      routing: {rules: [{next_team: [left, right]}]}
    left: &side
      tasks:
        - {name: write, agent_type: generic_single_shot, persona_key: writer}
        - {name: write_more, agent_type: generic_single_shot, persona_key: writer}
    right:
      tasks: [{name: rest, type: wait, signal: never}]
    end: {tasks: [{name: finish, agent_type: generic_single_shot, persona_key: writer}]}
"""


async def test_a_budget_of_the_run_leaves_its_branches_too(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, ANSWERS) as running:
        handle = await running.start(FAN_OUT)
        result: Any = await handle.result()
        assert result["output"] == {"finish": {"text": "the end"}}
        assert path_of(await trail(handle)) == ["begin", "left", "right", "end"]


TOOLS = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    looker:
      budgets: {tool_calls: 2}
      execution_plan:
        - {name: one, skill: Discovery.collect, input: {path: "."}}
        - {name: two, skill: Discovery.collect, input: {path: "."}}
        - {name: three, skill: Discovery.collect, input: {path: "."}}
orchestration:
  entry_team: a
  teams: {a: {tasks: [{name: look, agent_type: generic_orchestrating, persona_key: looker}]}}
"""


async def test_a_persona_pays_for_what_its_plan_calls(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle = await running.start(TOOLS)
        error = await failure(handle)
        assert error.details[0]["end"] == "budget_tool_calls"
        assert "of the persona looker is used up, 2 of 2 calls" in error.message
        cost: Any = await handle.query("cost")
        [tool] = cost["tools"]
        assert (tool["name"], tool["calls"]) == ("Discovery.collect", 2)
        assert cost["personas"][0]["name"] == "looker"


async def test_working_time_is_the_time_of_calls(env: WorkflowEnvironment, tmp_path: Path) -> None:
    slow: list[Json] = [{"task": "write", "answer": "x", "seconds": 0.3}]
    async with engine(env, tmp_path, slow) as running:
        handle = await running.start(loop("{working_time: 0.5}"))
        error = await failure(handle)
        assert error.details[0]["end"] == "budget_working_time"
        assert error.details[0]["model_calls"] == 2
        cost: Any = await handle.query("cost")
        assert cost["total"]["seconds"] >= 0.6
