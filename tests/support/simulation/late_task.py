"""A tool that continues its call as a task in the moment in which the call is cancelled."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.workspace.function_base import (
    FunctionContext,
    FunctionRefusal,
    ToolFunction,
)
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.tools.asked_input import AskedInput, ServerTask
from coterie.dsl.values import JsonValue
from tests.support.engine import CAPABILITIES

NAME = "Test.build"


@dataclass
class LateTask:
    """The tool, and what happened to it."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    looks: int = 0

    async def build(self, value: dict[str, JsonValue], context: FunctionContext) -> None:
        """Wait until nobody wants the call, then continue; as a task, end or count a look."""
        given = context.given_input
        if given is not None and given.asked.task is not None:
            if given.asked.task.unwanted:
                self.ended.set()
            else:
                self.looks += 1
            return
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            task = AskedInput(task=ServerTask(id="t-1"))
            raise FunctionRefusal("goes on", FailureType.INPUT_REQUIRED, task) from None

    def function(self) -> ToolFunction[Any, Any]:
        """Return the tool function that the tool is made of."""
        return ToolFunction[dict[str, JsonValue], None](
            name=NAME,
            description="Builds.",
            effect="once",
            input=TypeAdapter(dict[str, JsonValue]),
            output=TypeAdapter(type(None)),
            run=self.build,
        )

    def plan(self, text: str) -> Plan:
        """Compile a document with tools made of the tool function."""
        functions = {**CAPABILITIES.functions, NAME: self.function().contract()}
        capabilities = CAPABILITIES.model_copy(update={"functions": functions})
        return compile_sources([SourceText("test.yml", text)], capabilities, name="test").plan
