"""The calls of one model turn: concurrent, each with its hooks, its approval and one result."""

from collections.abc import Sequence

from coterie.dsl.tool_loop.tool_loop_decision import leave_out, take_result
from coterie.dsl.tool_loop.tool_loop_terms import REMINDED_AT
from coterie.workflows.agents.loop.agent_calls import CallingAgent, CallMaker
from coterie.workflows.agents.loop.code_programs import CodeProgram
from coterie.workflows.agents.tool_kinds import ToolCall
from coterie.workflows.core.causes.agent_causes import CallRepeated
from coterie.workflows.core.location import Interpreter
from coterie.workflows.core.progress.agent_progress import AgentLoopProgress
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.trail import note_step


async def run_calls(
    indexes: Sequence[int],
    progress: AgentLoopProgress,
    agent: CallingAgent,
    scope: Scope,
    interpreter: Interpreter,
    *,
    concurrent: bool,
) -> None:
    """Make the calls of a turn that have no result yet, and note their results.

    Args:
        indexes: of the calls in the turn.
        progress: of the agent.
        agent: the agent.
        scope: the run.
        interpreter: runs agents and teams.
        concurrent: whether the calls run at the same time; calls of one stateful agent never do.
    """
    turn = _Turn(progress, agent, scope, interpreter, concurrent=concurrent)
    await turn.run_all(indexes, progress.loop.calls, turn.run, concurrent=concurrent)


class _Turn(CallMaker):
    """The calls of one turn."""

    def __init__(
        self,
        progress: AgentLoopProgress,
        agent: CallingAgent,
        scope: Scope,
        interpreter: Interpreter,
        *,
        concurrent: bool,
    ) -> None:
        payers = (*agent.location.personas, agent.persona)
        within = agent.location._replace(personas=payers, loop=None)
        super().__init__(progress, agent, within, scope, interpreter)
        self._calling = agent
        self._concurrent = concurrent

    async def run(self, indexes: Sequence[int]) -> None:
        """Make calls one after another, and give the model their results."""
        for index in indexes:
            if self.is_stopped:
                leave_out(self._progress.loop, index)
            else:
                await self._one(index)

    async def _one(self, index: int) -> None:
        loop = self._progress.loop
        call = loop.calls[index]
        ended = await self.make(call, loop.turns + loop.reasks, index)
        times = take_result(loop, index, ended.result, ended.digest)
        if times == REMINDED_AT:
            repeated = CallRepeated("call_repeated", call.tool, times)
            note_step(self._scope, self._agent, "repeated", repeated)

    def _with_program(self, call: ToolCall) -> ToolCall:
        """Return the call with what makes the calls of its code, if it runs code."""
        code = self._terms.code
        if code is None or call.name != code.tool:
            return call
        program = CodeProgram(
            self._progress,
            self._calling,
            call,
            self._scope,
            self._interpreter,
            concurrent=self._concurrent,
        )
        return call._replace(program=program.run)
