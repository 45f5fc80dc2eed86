"""Agents that make their own tools can be combined in every way."""

from pathlib import Path
from typing import Any

import pytest

from coterie.agents import AgentFactory, BaseAgent, BaseTool, InvalidTool
from tests.support.programs.python_agents import PlainAgent, around, asks, ran, results, says


class Shout(BaseTool):
    """Say a word loudly."""

    def __init__(self, mark: str = "!") -> None:
        self.mark = mark

    def run(self, word: str) -> str:
        return word.upper() + self.mark


class Narrow(Shout):
    """Has an attribute that is no entry of its `__dict__`."""

    __slots__ = ("width",)

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width


class Shouter(BaseAgent):
    system_message = "You shout."

    def __init__(self, mark: str = "!", **settings: Any) -> None:
        super().__init__(tools=[Shout(mark)], **settings)


class Counter(BaseAgent):
    system_message = "You count."

    def __init__(self, **settings: Any) -> None:
        calls: list[int] = []

        def count(step: int) -> int:
            calls.append(step)
            return sum(calls)

        super().__init__(tools=[count], **settings)


EXPOSED: dict[str, Any] = {"expose_as_subagent": True, "subagent_description": "Helps."}


@pytest.mark.parametrize("cls", [Shouter, Counter])
def test_two_subagents_may_call_the_same_third_one(tmp_path: Path, cls: type[BaseAgent]) -> None:
    factory = AgentFactory().register("d", cls, **EXPOSED)
    factory.register("b", PlainAgent, **EXPOSED, subagents=["d"])
    factory.register("c", PlainAgent, **EXPOSED, subagents=["d"])
    factory.register("a", PlainAgent)
    top = factory.create("a", subagents=["b", "c"])
    made = {one.agent_id: one for one in top.all_subagents()}
    assert all(one is made[one.agent_id] for one in top.all_subagents()), "one `d` for both"
    assert factory.create("b").all_subagents() != [made["d"]], "each `create` makes its own"
    tree = top.compiled(around(tmp_path)).document.tree
    assert isinstance(tree["tools"], dict)
    assert sorted(tree["tools"]) == sorted(["b", "c", "d", *made["d"].tools])


async def test_a_class_with_a_tool_may_be_orchestrator_and_subagent_under_two_names(
    tmp_path: Path,
) -> None:
    factory = AgentFactory()
    factory.register("low", Shouter, **EXPOSED).register("high", Shouter)
    high = factory.create("high", subagents=["low"])
    state = await ran(
        high,
        tmp_path,
        asks("high", 1, ("Shout", {"word": "a"}), ("low", {"query": "?"})),
        asks("low", 1, ("Shout", {"word": "b"})),
        says("low", "done", turn=2),
        says("high", "ok", turn=2),
    )
    assert state.text == "ok", state.error
    assert results(state, "Shout") == ["A!", "B!"]


@pytest.mark.parametrize(
    ("one", "other"), [(Shout("!"), Shout("?")), (Narrow(1), Narrow(2))], ids=["dict", "slots"]
)
def test_tools_of_one_class_that_differ_in_an_attribute_are_two_tools(
    tmp_path: Path, one: BaseTool, other: BaseTool
) -> None:
    factory = AgentFactory().register("low", PlainAgent, **EXPOSED, defaults={"tools": [one]})
    factory.register("high", PlainAgent, defaults={"tools": [other]})
    high = factory.create("high", subagents=["low"])
    with pytest.raises(InvalidTool, match=f"two different tools are called '{type(one).__name__}'"):
        high.compiled(around(tmp_path))


class Odd:
    """Says neither yes nor no, as an array does."""

    def __eq__(self, other: object) -> Any:
        return [True, False]

    def __hash__(self) -> int:
        return 0


def test_attributes_that_cannot_be_compared_make_two_tools() -> None:
    one, other = Shout(), Shout()
    assert (one, hash(one)) == (other, hash(other))
    vars(one)["odd"], vars(other)["odd"] = Odd(), Odd()
    assert one != other
    assert one != "Shout"
