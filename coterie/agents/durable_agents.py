"""Run an agent of a program on Temporal, unchanged.

A worker imports the functions of tools by their names, in processes of its own. So what exists only
in this process is refused before the run, by name: lambdas, closures, methods, functions of a
notebook, and classes that change how a run works.
"""

import inspect
import sys
from pathlib import Path

from coterie.activities.contracts import TokenUsage
from coterie.activities.user_code.python_tools import terms_of
from coterie.agents.agent_documents import CompiledAgent, InvalidAgent, shares_function
from coterie.agents.agent_state import AgentAnswer
from coterie.agents.tool_definitions import DefinedTool, Executor
from coterie.dsl.values import Json
from coterie.runs.ends.end_words import incomplete_reason
from coterie.runs.new_runs import check_id, start_run
from coterie.runs.records import new_id
from coterie.runs.run_client import Run
from coterie.server.connection import open_connection
from coterie.workflows.core.messages import TeamInput

_FIX = (
    "define it with `def` at the top of a module, mark it with @tool, and name the module's "
    "package in `worker.tool_packages`; or run the agent in this process"
)


def check_durable(compiled: CompiledAgent) -> CompiledAgent:
    """Return the agent as compiled; refuse one that a worker cannot run as this process does.

    Raises:
        InvalidAgent: One line for each tool or method that exists only in this process.
    """
    agent, owners = compiled.document.agent, compiled.document.owners
    problems = [
        f"agent {agent.id!r}: {agent.class_name} overrides {method}(), and a worker has only "
        "the agent's settings; move the code into a tool, or run the agent in this process"
        for method in agent.overrides
    ]
    for name, function in compiled.document.functions.items():
        reason = _reason(function)
        if reason is not None:
            tool = function.schema.name
            problems.append(
                f"agent {owners[name]!r}: a worker cannot call the tool {tool!r}: {reason}"
            )
    if problems:
        raise InvalidAgent("\n".join(dict.fromkeys(problems)))
    return compiled


async def start_durably(
    compiled: CompiledAgent, context: Json, id: str | None = None
) -> "DurableRun":
    """Start a run for the workers of the shared task queue.

    They get the plan; those that run no plans compiled elsewhere get the document.

    Args:
        compiled: The agent, which `check_durable` has accepted.
        context: The initial context of the run.
        id: None to generate one.

    Raises:
        CommandError: There is no server, or the id is taken.
    """
    trusted, name = compiled.trusted, compiled.document.agent.id
    id = id or new_id(name)
    check_id(id)
    connection = await open_connection(compiled.settings, start=True)
    if trusted.accept_plans:
        start = TeamInput(plan=compiled.plan, context=context, marked=trusted.sets_visibility)
    else:
        start = TeamInput(document=compiled.document.written(), context=context)
    queue = compiled.settings.task_queue
    return DurableRun(
        await start_run(connection.client, id, start, task_queue=queue, summary=name), name
    )


class DurableRun:
    """A run of an agent on a server."""

    def __init__(self, run: Run, agent: str) -> None:
        self.run = run
        """A client of the run: its status, its trail, decisions."""
        self._agent = agent

    @property
    def id(self) -> str:
        """The id of the run, for `coterie why` and all other commands."""
        return self.run.id

    async def result(self) -> AgentAnswer:
        """Wait for the end, however long it takes.

        Raises:
            CommandError: The server stopped answering.
        """
        end = await self.run.end()
        result = end.result
        usage = TokenUsage() if result is None else result.usage
        output = None if result is None else result.output
        return AgentAnswer(
            status="completed" if end.completed else "failed",
            data=output.get(self._agent) if end.completed and isinstance(output, dict) else None,
            error=None if end.completed else incomplete_reason(end),
            error_type=None if end.failure is None else end.failure.type,
            model_calls=0 if result is None else result.model_calls,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost=None if result is None else result.cost,
        )


def _reason(function: DefinedTool) -> str | None:
    """Return why a worker cannot call a function, and what to write instead."""
    schema = function.schema
    where = _unimportable(schema.executor)
    if where is not None:
        return f"{where}; {_FIX}"
    marked = terms_of(schema.executor)
    if marked is None:
        return f"{function.contract.name} has no @tool; mark it, so that workers may call it"
    if schema.input_schema is not None:
        return (
            "its ToolSchema has an input_schema, and a worker reads the arguments from the types "
            "of the function; leave it out"
        )
    if schema.effect is not None and schema.effect != marked.effect:
        return (
            f"its ToolSchema has the effect {schema.effect!r}, and @tool says {marked.effect!r}; "
            "write it in @tool"
        )
    if shares_function(function):
        return (
            "another tool has the same function with other terms; define a second function for it"
        )
    return None


def _unimportable(executor: Executor) -> str | None:
    """Return why no other process can import a function; None if it can."""
    name = getattr(executor, "__qualname__", None)
    module = getattr(executor, "__module__", None)
    if inspect.ismethod(executor):
        return f"it is a method of an instance of {type(executor.__self__).__name__}"
    if not inspect.isfunction(executor) or name is None or module is None:
        return f"it is an instance of {type(executor).__name__}"
    at = f"{Path(executor.__code__.co_filename).name}:{executor.__code__.co_firstlineno}"
    if executor.__name__ == "<lambda>":
        return f"it is a lambda ({at})"
    if "<locals>" in name:
        outer = name.partition(".<locals>")[0]
        kind = "a closure" if executor.__closure__ else "a function"
        return f"it is {kind} inside {outer}() ({at})"
    if module == "__main__":
        return f"it is defined in the program itself, not in a module ({at})"
    if "." in name:
        return f"it belongs to the class {name.rpartition('.')[0]} ({at})"
    if getattr(sys.modules.get(module), name, None) is not executor:
        return f"{module} has something else under the name {name!r}"
    return None
