"""Agents run in this process as on a server: turns, tools, subagents, failures, people."""

import asyncio
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from coterie import ToolContext, ToolError, tool
from coterie.agents import (
    AgentContext,
    AgentFactory,
    AgentState,
    BaseAgent,
    InvalidAgent,
    InvalidTool,
    ToolRegistry,
    ToolSchema,
    orchestrator,
    subagent,
)
from coterie.dsl.values import Json
from tests.support.programs.python_agents import (
    PlainAgent,
    PlannerAgent,
    around,
    asks,
    ran,
    results,
    says,
    unnamed,
)
from tests.support.programs.weather_tools import forecast


def plain(*tools: Any, **settings: Any) -> BaseAgent:
    return PlainAgent(agent_id="plain", tools=tools, **settings)


@orchestrator
class ChiefAgent(BaseAgent):
    system_message = "You lead."


async def test_a_standalone_agent_answers_in_one_turn(tmp_path: Path) -> None:
    state = await ran(plain(), tmp_path, says("plain", "Fine.", contains="How?"), query="How?")
    assert state == AgentState(
        status="completed",
        iteration=1,
        max_iterations=10,
        router_decision=None,
        tool_history=(),
        pause_reason=None,
        data={"text": "Fine."},
        model_calls=1,
        input_tokens=state.input_tokens,
        output_tokens=state.output_tokens,
        cost=0.0,
    )
    assert state.text == "Fine."


def test_an_agent_runs_in_a_program_without_an_event_loop(tmp_path: Path) -> None:
    state = plain().run_sync("How?", context=around(tmp_path, says("plain", "Fine.")))
    assert state.text == "Fine."


async def test_a_marked_class_runs_by_itself_like_any_other(tmp_path: Path) -> None:
    marked = orchestrator(subagent("helper", "Helps.")(type("Helper", (PlainAgent,), {})))
    given = [says("x", "Fine.")]
    states = [await ran(kind(agent_id="x"), tmp_path, *given) for kind in (PlainAgent, marked)]
    assert states[0] == states[1]


async def test_lambdas_closures_and_coroutines_are_tools_in_this_process(tmp_path: Path) -> None:
    factor = 3

    def closure(n: int) -> int:
        return factor * n

    async def coroutine(n: int) -> int:
        await asyncio.sleep(0)
        return n - 1

    schema: Json = {"n": {"type": "integer"}}
    agent = plain(
        closure, coroutine, ToolSchema("double", unnamed(lambda n: 2 * n), input_schema=schema)
    )
    calls = [(name, {"n": 5}) for name in ("double", "closure", "coroutine")]
    state = await ran(agent, tmp_path, asks("plain", 1, *calls), says("plain", "ok", turn=2))
    assert [call.result for call in state.tool_history] == ["10", "15", "4"]


async def test_the_history_has_one_entry_for_each_call(tmp_path: Path) -> None:
    state = await ran(
        plain(forecast),
        tmp_path,
        asks("plain", 1, ("forecast", {"city": "Rome"}), ("forecast", {"city": "Atlantis"})),
        says("plain", "ok", turn=2, contains="Rome: sunny"),
    )
    first, second = state.tool_history
    assert (first.tool, first.arguments, first.result, first.failed, first.step) == (
        "forecast",
        {"city": "Rome"},
        "Rome: sunny",
        False,
        "plain/forecast@1.1",
    )
    assert first.seconds is not None
    assert (second.result, second.failed) == ("FunctionFailed: Atlantis has no weather", True)
    assert (state.iteration, state.status) == (2, "completed")


async def test_invalid_arguments_are_corrected_and_the_function_is_not_called(
    tmp_path: Path,
) -> None:
    state = await ran(
        plain(forecast),
        tmp_path,
        asks("plain", 1, ("forecast", {"town": "Rome"})),
        says("plain", "ok", turn=2, contains="the arguments of 'forecast' are invalid"),
    )
    (call,) = state.tool_history
    assert (state.text, call.status, call.seconds) == ("ok", "refused", None)


async def test_the_model_sees_tools_in_the_order_of_constructor_and_registration() -> None:
    chief = ChiefAgent(tools=["Files.read", forecast])
    for name in ("zoe", "amy"):
        chief.register_agent(subagent(name, "Helps.")(type(name, (PlainAgent,), {}))(agent_id=name))
    assert chief.tools == ("files_read", "forecast", "zoe", "amy")
    plan = chief.durable(AgentContext(script=[])).plan
    assert plan.personas["chief_agent"].tools == chief.tools


async def test_an_agent_and_its_subagent_have_models_of_their_own(tmp_path: Path) -> None:
    factory = AgentFactory({"provider": "anthropic", "model": "claude-opus-5-5"})
    factory.register(
        "helper",
        PlainAgent,
        expose_as_subagent=True,
        subagent_description="Helps.",
        defaults={"provider": "openai", "model": "gpt-6.1-sol"},
    ).register("planner", PlannerAgent)
    plan = factory.create("planner", subagents=["helper"]).durable(around(tmp_path)).plan
    models = {key: (one.provider, one.model) for key, one in plan.personas.items()}
    assert models == {
        "planner": ("anthropic", "claude-opus-5-5"),
        "helper": ("openai", "gpt-6.1-sol"),
    }


def chief_with(*, stateless: bool, tool: Any = None, retries: int = 0) -> BaseAgent:
    mark = subagent("helper", "Helps.", stateless, retries=retries)
    kind = mark(type("Helper", (PlainAgent,), {}))
    chief = ChiefAgent(agent_id="chief")
    chief.register_agent(kind(agent_id="helper", tools=[] if tool is None else [tool]))
    return chief


TEN: list[tuple[str, Json]] = [("helper", {"query": f"question {n}"}) for n in range(10)]


async def test_ten_calls_of_a_stateless_subagent_run_together_and_know_nothing_of_each_other(
    tmp_path: Path,
) -> None:
    entered: list[int] = []
    all_in = asyncio.Event()

    async def meet() -> int:
        entered.append(1)
        if len(entered) == len(TEN):
            all_in.set()
        await asyncio.wait_for(all_in.wait(), 20)
        return len(entered)

    state = await ran(
        chief_with(stateless=True, tool=meet),
        tmp_path,
        asks("chief", 1, *TEN),
        asks("helper", 1, ("meet", {})),
        says("helper", "met", turn=2),
        says("chief", "done", turn=2),
    )
    assert results(state, "meet") == ["10"] * 10, "each waited for all others"


async def test_ten_calls_of_a_stateful_subagent_come_one_after_another_and_share_a_history(
    tmp_path: Path,
) -> None:
    seen = [says("helper", f"answer {n}", turn=n + 1, contains=f"question {n}") for n in range(10)]
    state = await ran(
        chief_with(stateless=False),
        tmp_path,
        asks("chief", 1, *TEN),
        *seen,
        says("chief", "done", turn=2),
    )
    assert results(state, "helper") == [f'{{"text":"answer {n}"}}' for n in range(10)]


async def test_a_stateful_subagent_forgets_between_runs(tmp_path: Path) -> None:
    chief = chief_with(stateless=False)
    script = (
        asks("chief", 1, ("helper", {"query": "?"})),
        says("helper", "first"),
        says("helper", "later", turn=2),
        says("chief", "done", turn=2),
    )
    texts = [results(await ran(chief, tmp_path, *script), "helper") for _ in range(2)]
    assert texts == [['{"text":"first"}']] * 2


@pytest.mark.parametrize(
    ("retries", "text"), [(0, "FunctionFailed"), (1, "recovered")], ids=["surface", "retry"]
)
async def test_a_failure_of_a_subagent_is_surfaced_or_tried_again(
    tmp_path: Path, retries: int, text: str
) -> None:
    failing: Json = {"task": "helper", "visit": 1}
    state = await ran(
        chief_with(stateless=True, retries=retries),
        tmp_path,
        asks("chief", 1, ("helper", {"query": "?"})),
        {**failing, "error": {"type": "FunctionFailed", "message": "no luck"}},
        says("helper", "recovered", visit=2),
        says("chief", "done", turn=2),
    )
    (result,) = results(state, "helper")
    assert result is not None
    assert text in result


@pytest.mark.parametrize(
    ("failures", "retries", "calls"), [(1, 0, 1), (1, 1, 2), (1, 3, 2), (2, 2, 3), (2, 1, 2)]
)
async def test_a_tool_is_called_again_as_often_as_its_contract_says(
    tmp_path: Path, failures: int, retries: int, calls: int
) -> None:
    made: list[str] = []

    def flaky(word: str) -> str:
        made.append(word)
        if len(made) <= failures:
            raise RuntimeError("not yet")
        return word

    agent = plain(ToolSchema("flaky", flaky, max_retries=retries))
    state = await ran(
        agent, tmp_path, asks("plain", 1, ("flaky", {"word": "a"})), says("plain", "x", turn=2)
    )
    assert len(made) == calls
    assert state.tool_history[0].failed is (retries < failures)


async def test_a_call_that_takes_too_long_is_left(tmp_path: Path) -> None:
    released = Event()

    def slow() -> bool:
        return released.wait(30)

    agent = plain(ToolSchema("slow", slow, timeout_seconds=0.05, effect="read"))
    try:
        state = await ran(
            agent, tmp_path, asks("plain", 1, ("slow", {})), says("plain", "x", turn=2)
        )
    finally:
        released.set()
    (result,) = results(state, "slow")
    assert result is not None
    assert "0.05 s" in result


async def test_a_tool_may_know_its_call(tmp_path: Path) -> None:
    def which(context: ToolContext) -> str:
        return context.call

    script = asks("plain", 1, ("which", {})), says("plain", "x", turn=2)
    keys = [results(await ran(plain(which), tmp_path, *script), "which") for _ in range(2)]
    (one,), (other,) = keys
    assert str(one).startswith("local/")
    assert str(one).endswith("/plain/plain/which@1.1#1")
    assert one != other, "the second run sends no key of the first"


async def test_a_tool_never_repeats_what_may_happen_once(tmp_path: Path) -> None:
    made: list[int] = []

    @tool(effect="once", retries=5)
    def pay() -> None:
        made.append(1)
        raise ToolError("refused", retry=True)

    state = await ran(
        plain(pay), tmp_path, asks("plain", 1, ("pay", {})), says("plain", "x", turn=2)
    )
    assert (len(made), state.tool_history[0].failed) == (1, True)


async def test_an_answer_follows_the_model_class_of_the_agent(tmp_path: Path) -> None:
    class Trip(BaseModel):
        days: int

    agent = PlainAgent(agent_id="plain", output_schema=Trip)
    state = await ran(agent, tmp_path, says("plain", {"days": 3}))
    assert Trip.model_validate(state.data) == Trip(days=3)


async def test_the_turns_of_a_run_are_bounded_by_its_caller(tmp_path: Path) -> None:
    script = (asks("plain", 1, ("forecast", {"city": "Rome"})), says("plain", "enough", turn=2))
    state = await plain(forecast).run("Go?", context=around(tmp_path, *script), max_iterations=1)
    assert (state.iteration, state.max_iterations, state.text) == (2, 1, "enough")
    assert state.router_decision is not None
    assert state.router_decision.route == "max_iterations"


async def test_a_failed_run_says_why(tmp_path: Path) -> None:
    state = await ran(plain(), tmp_path)
    assert (state.status, state.error_type) == ("failed", "TeamFailed")
    assert state.error is not None
    assert "the script has no answer for 'plain/plain#1.0'" in state.error
    response = await PlannerAgent().process({"input": {"topic": 1}, "context": {"query": "Go?"}})
    assert response.success is False


async def test_events_name_their_tools_while_the_run_goes_on(tmp_path: Path) -> None:
    script = (asks("plain", 1, ("forecast", {"city": "Rome"})), says("plain", "ok", turn=2))
    run = plain(forecast).begin("Go?", context=around(tmp_path, *script))
    assert run.state.status == "running"
    seen = [(event.name, event.tool) async for event in run]
    assert [one for one in seen if one[0] in ("routing", "tool_start", "tool_end")] == [
        ("routing", None),
        ("tool_start", "forecast"),
        ("tool_end", "forecast"),
        ("routing", None),
    ]
    assert run.state.status == "completed"


@pytest.mark.parametrize(
    ("allowed", "result"),
    [(True, "Rome: sunny"), (False, "Rejected: ada rejected it: not today")],
)
async def test_a_run_pauses_for_a_person_and_goes_on(
    tmp_path: Path, allowed: bool, result: str
) -> None:
    agent = plain(ToolSchema("forecast", forecast, requires_approval=True))
    script = (asks("plain", 1, ("forecast", {"city": "Rome"})), says("plain", "ok", turn=2))
    run = agent.begin("Go?", context=around(tmp_path, *script))
    paused = await run.result()
    assert (paused.status, paused.pause_reason) == (
        "paused",
        "May the tool 'forecast' be called?",
    )
    decided = run.approve("ada") if allowed else run.reject("ada", "not today")
    ended = await decided.result()
    assert (ended.status, ended.pause_reason) == ("completed", None)
    assert results(ended, "forecast") == [result]
    with pytest.raises(ValueError, match="the run asks nothing"):
        run.approve("ada")


async def test_a_run_that_nobody_can_answer_is_left_paused(tmp_path: Path) -> None:
    agent = plain(ToolSchema("forecast", forecast, requires_approval=True))
    script = (asks("plain", 1, ("forecast", {"city": "Rome"})),)
    assert (await ran(agent, tmp_path, *script)).status == "paused"


async def test_orchestrators_may_be_subagents(tmp_path: Path) -> None:
    factory = AgentFactory().register("a", PlainAgent)
    for name, below in (("b", ["c"]), ("c", [])):
        factory.register(
            name,
            PlainAgent,
            expose_as_subagent=True,
            subagent_description="Helps.",
            subagents=below,
        )
    agent = factory.create("a", subagents=["b"])
    state = await ran(
        agent,
        tmp_path,
        asks("a", 1, ("b", {"query": "?"})),
        asks("b", 1, ("c", {"query": "?"})),
        says("c", "C"),
        says("b", "B", turn=2),
        says("a", "A", turn=2),
    )
    assert [call.step for call in state.tool_history] == ["a/b@1.1", "a/b@1.1/c@1.1"]
    assert (state.text, state.iteration) == ("A", 2)


def test_agents_that_call_each_other_in_a_circle_are_refused() -> None:
    factory = AgentFactory()
    for name, below in (("a", "b"), ("b", "a")):
        factory.register(
            name,
            PlainAgent,
            expose_as_subagent=True,
            subagent_description="Helps.",
            subagents=[below],
        )
    with pytest.raises(ValueError, match="in a circle: a -> b -> a"):
        factory.create("a")
    kind = subagent("chief", "Leads.")(ChiefAgent)
    first, second = kind(agent_id="first"), kind(agent_id="second")
    first.register_agent(second)
    with pytest.raises(ValueError, match="in a circle: second -> first -> second"):
        second.register_agent(first)


async def test_registered_tools_and_functions_are_named(tmp_path: Path) -> None:
    registry = ToolRegistry()
    registry.register(forecast)
    (tmp_path / "a.txt").write_text("hello")
    script = (
        asks("plain", 1, ("forecast", {"city": "Rome"}), ("files_read", {"path": "a.txt"})),
        says("plain", "ok", turn=2, contains="hello"),
    )
    agent = plain("forecast", "Files.read")
    state = await agent.run("Go?", context=around(tmp_path, *script, registry=registry))
    assert (state.text, agent.tools) == ("ok", ("forecast", "files_read"))


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        (["forcast"], "neither registered nor a tool function like 'Files.read'; registered: none"),
        (["Files.raed"], "unknown tool function 'Files.raed'"),
        ([forecast, forecast], "agent 'plain' has several tools called forecast"),
        ([unnamed(lambda n: n)], "a tool cannot be called '<lambda>'"),
        ([PlainAgent], "PlainAgent is a class; pass an instance: PlainAgent()"),
        ([7], "7 cannot be a tool; pass a function"),
        ([ToolSchema("sum", sum)], "has the parameter"),
    ],
)
async def test_a_tool_that_cannot_be_used_is_refused_with_its_agent(
    tmp_path: Path, tools: list[Any], message: str
) -> None:
    with pytest.raises((InvalidTool, InvalidAgent)) as raised:
        await ran(plain(*tools), tmp_path)
    assert message in str(raised.value)


async def test_two_tools_of_a_run_may_not_share_a_name(tmp_path: Path) -> None:
    def other(city: str) -> str:
        return city

    chief = ChiefAgent(agent_id="chief", tools=[forecast])
    kind = subagent("helper", "Helps.")(type("Helper", (PlainAgent,), {}))
    chief.register_agent(kind(agent_id="helper", tools=[ToolSchema("forecast", other)]))
    with pytest.raises(InvalidTool, match="two different tools are called 'forecast'"):
        await ran(chief, tmp_path)


async def test_an_agent_without_a_model_is_refused_with_the_fix(tmp_path: Path) -> None:
    with pytest.raises(InvalidAgent, match=r"agent 'plain': llm_config\.personas\.plain"):
        await plain().run("Go?", context=AgentContext(folder=tmp_path))


async def test_a_class_that_changes_its_runs_cannot_be_a_subagent(tmp_path: Path) -> None:
    class Loud(PlainAgent):
        async def run(self, *args: object, **more: object) -> AgentState:  # type: ignore[override]
            return (await super().run("Shout!", **more))._replace(error="loud")  # type: ignore[arg-type]

    state = await ran(Loud(agent_id="loud"), tmp_path, says("loud", "HEY", contains="Shout!"))
    assert (state.text, state.error) == ("HEY", "loud"), "by itself it may"
    chief = ChiefAgent(agent_id="chief")
    chief.register_agent(subagent("loud", "Shouts.")(Loud)())
    with pytest.raises(InvalidTool, match=r"Loud overrides run\(\), and an orchestrator's model"):
        await ran(chief, tmp_path)


async def test_a_system_message_reaches_the_model_word_for_word(tmp_path: Path) -> None:
    text = 'Reply {"a": {{b}}} {% if %} {# c #} { {d}'
    agent = PlainAgent(text, agent_id="plain")
    state = await ran(agent, tmp_path, says("plain", "ok", contains=text))
    assert state.text == "ok", state.error


PROJECT = """
llm_config:
  default_provider: local
  providers: {local: {kind: scripted, answers: answers.yml, default_model: demo}}
worker: {workspace: work}
"""


async def test_the_project_says_how_to_reach_models_and_what_functions_may_touch(
    tmp_path: Path,
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("hello")
    (tmp_path / "coterie.yml").write_text(PROJECT)
    script = [
        asks("plain", 1, ("files_read", {"path": "a.txt"})),
        says("plain", "read", turn=2, contains="hello"),
    ]
    (tmp_path / "answers.yml").write_text(yaml.safe_dump({"answers": script}))
    state = await plain("Files.read").run("Go?", context=AgentContext(folder=tmp_path))
    assert state.text == "read", state.error


async def test_a_missing_key_of_a_provider_is_named_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    agent = plain(provider="anthropic", model="claude-opus-5-5")
    with pytest.raises(ValueError, match="environment variable ANTHROPIC_API_KEY"):
        await agent.run("Go?", context=AgentContext(folder=tmp_path))


async def test_settings_of_a_persona_reach_the_plan(tmp_path: Path) -> None:
    settings: Json = {"temperature": 0.5, "max_turns": 3, "tool_choice": "required"}
    plan = plain(forecast, **settings).compiled(around(tmp_path)).plan.personas["plain"]
    assert (plan.temperature, plan.max_turns, plan.tool_choice) == (0.5, 3, "required")


def wrong_type() -> int:
    return "many"  # type: ignore[return-value]


def no_json() -> Any:
    return {"a": {1, 2}}


def raising() -> int:
    raise LookupError("no such key")


@pytest.mark.parametrize(
    ("function", "result"),
    [
        (wrong_type, "returned a result that violates its contract: Input should be a valid int"),
        (
            ToolSchema("no_json", no_json, input_schema={}),
            "returned a result that violates its contract: the result.a is a set",
        ),
        (raising, "raised LookupError: no such key"),
    ],
)
async def test_a_function_that_breaks_its_contract_is_a_failed_call(
    tmp_path: Path, function: Any, result: str
) -> None:
    name = function.name if isinstance(function, ToolSchema) else function.__name__
    state = await ran(
        plain(function), tmp_path, asks("plain", 1, (name, {})), says("plain", "ok", turn=2)
    )
    (call,) = state.tool_history
    assert call.failed
    assert call.result is not None
    assert result in call.result


async def test_two_runs_of_a_program_do_not_disturb_each_other(tmp_path: Path) -> None:
    script = (
        asks("plain", 1, ("forecast", {"city": "Rome"}), contains="Rome?"),
        asks("plain", 1, ("forecast", {"city": "Oslo"}), contains="Oslo?"),
        says("plain", "R", turn=2, contains="Rome: sunny"),
        says("plain", "O", turn=2, contains="Oslo: sunny"),
    )
    agent, context = plain(forecast), around(tmp_path, *script)
    states = await asyncio.gather(*(agent.run(one, context=context) for one in ("Rome?", "Oslo?")))
    assert [state.text for state in states] == ["R", "O"]


ECHO = """
from coterie import Completion, TextPart


class Echo:
    def __init__(self, settings):
        pass

    async def complete(self, request):
        said = [part.text for one in request.messages for part in one.content]
        return Completion((TextPart(said[-1].upper()),), "end", request.model)

    async def close(self):
        pass
"""


async def test_a_provider_of_the_project_answers(tmp_path: Path) -> None:
    (tmp_path / "echo_models.py").write_text(ECHO)
    (tmp_path / "coterie.yml").write_text(
        "llm_config: {default_provider: own, providers: "
        '{own: {kind: "echo_models:Echo", default_model: one}}}\n'
        "worker: {provider_packages: [echo_models]}\n"
    )
    state = await plain().run("Hello?", context=AgentContext(folder=tmp_path))
    assert state.text == "HELLO?", state.error


async def test_a_cancelled_run_has_failed_by_its_state(tmp_path: Path) -> None:
    began = asyncio.Event()

    async def waits() -> None:
        began.set()
        await asyncio.Event().wait()

    run = plain(waits).begin("Go?", context=around(tmp_path, asks("plain", 1, ("waits", {}))))
    await began.wait()
    await run.cancel()
    state = await run.result()
    assert (state.status, state.error_type) == ("failed", "Cancelled")


async def test_an_agent_reads_a_skill_of_its_project(tmp_path: Path) -> None:
    file = tmp_path / "skills/poems/SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: poems\ndescription: Writes poems.\n---\nRhyme on {{ nothing }}.\n")
    state = await ran(
        plain(agent_skills="skills"),
        tmp_path,
        asks("plain", 1, ("use_skill", {"name": "poems"})),
        says("plain", "La.", turn=2, contains="Rhyme on {{ nothing }}."),
    )
    assert state.data == {"text": "La."}
