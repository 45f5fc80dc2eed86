"""A program of a model: code that calls the agent's tools.

The sandbox runs it up to its next calls, in one activity. The run makes these calls as if the model
had asked for them, and the next activity continues the program. The state keeps how far it is, so
nothing waits but the run, and a run that comes back repeats no call.
"""

from collections.abc import Sequence

from coterie.activities.contracts import (
    CodeAnswer,
    CodeTurn,
    FailureType,
    FunctionRequest,
    SuspendedCode,
)
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.traversal.code_mode import CodeMode
from coterie.dsl.tool_loop.call_checks import checked_code_calls
from coterie.dsl.tool_loop.code_functions import code_parameters
from coterie.dsl.tool_loop.exchange import ToolCallRequest, ToolResult
from coterie.dsl.tool_loop.result_texts import refused_result
from coterie.dsl.tool_loop.tool_loop_decision import count_result
from coterie.dsl.tool_loop.tool_loop_progress import OpenCall, StoppedByHook
from coterie.dsl.tool_loop.tool_loop_terms import MAX_REFUSED_OF_CODE
from coterie.workflows.agents.function_calls import (
    UNKNOWN_TERMS,
    CalledFunction,
    FunctionCall,
    make_activity,
)
from coterie.workflows.agents.loop.agent_calls import CallingAgent, CallMaker, EndedCall
from coterie.workflows.agents.tool_kinds import ToolCall
from coterie.workflows.budgets.call_admission import admit_call
from coterie.workflows.core.causes.agent_causes import CallRefused
from coterie.workflows.core.location import Interpreter
from coterie.workflows.core.progress.agent_progress import (
    AgentLoopProgress,
    ProgramCall,
    ProgramProgress,
)
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.state_keys import FunctionCallKey
from coterie.workflows.core.trail import note_step

_TOO_MANY_REFUSED = (
    f"the code was ended: more than {MAX_REFUSED_OF_CODE} calls by the code of this turn were "
    "refused; the calls before that have been made"
)


class CodeProgram(CallMaker):
    """One program, from its code to its result."""

    def __init__(
        self,
        progress: AgentLoopProgress,
        agent: CallingAgent,
        call: ToolCall,
        scope: Scope,
        interpreter: Interpreter,
        *,
        concurrent: bool,
    ) -> None:
        super().__init__(progress, agent, call.location, scope, interpreter)
        self._concurrent = concurrent

    async def run(self, call: FunctionCall) -> CalledFunction:
        """Run the program from where the state left it."""
        programs, key = self._scope.state.progress.programs, self._location.key
        program = programs.get(key)
        if program is None:
            await self._admit()
            program = programs[key] = ProgramProgress(self._progress.execution)
        called = await self._run_on(call, program)
        programs.pop(key, None)
        return called

    async def _run_on(self, call: FunctionCall, program: ProgramProgress) -> CalledFunction:
        while True:
            await self._make_calls(program)
            end = self._progress.loop.end
            if isinstance(end, StoppedByHook):
                return CalledFunction(Outcome.failed(end.type, end.message))
            if self._progress.loop.code_refusals > MAX_REFUSED_OF_CODE:
                return CalledFunction(
                    Outcome.failed(FailureType.FUNCTION_FAILED, _TOO_MANY_REFUSED)
                )
            if program.state is not None:
                await self._scope.checkpoint()
            self._raise_if_skipped(self._location)
            called = await self._continue(call, program)
            if called.suspended is None:
                return called
            self._take(called.suspended, program)

    async def _admit(self) -> None:
        """Wait until the budgets have room for the program; its calls are admitted themselves."""
        scope, location = self._scope, self._location
        if scope.plan.budgets:
            await admit_call(scope, location, location.personas, "tool_calls")

    async def _continue(self, call: FunctionCall, program: ProgramProgress) -> CalledFunction:
        """Run the program up to its next calls, in one activity."""
        scope, location = self._scope, self._location
        step, execution = location.step, program.execution
        begins = program.state is None
        request = FunctionRequest(
            skill=call.skill,
            input=call.given if begins else None,
            key=FunctionCallKey.of(scope.run_id, scope.state.execution, step, execution),
            keep=call.keep,
            code=self._first_turn() if begins else self._next_turn(program),
        )
        terms = call.terms or UNKNOWN_TERMS
        return await make_activity(request, terms, location, scope, call.seconds, of=call)

    def _first_turn(self) -> CodeTurn:
        plan = self._scope.plan
        return CodeTurn(functions=code_parameters(self._mode, plan.tools), now=self._scope.time())

    def _next_turn(self, program: ProgramProgress) -> CodeTurn:
        answers = (asked.answer for asked in program.calls)
        return CodeTurn(
            state=program.state,
            origins=tuple(self._scope.state.origins),
            answers=tuple(answer for answer in answers if answer is not None),
        )

    @property
    def _mode(self) -> CodeMode:
        """Which tools the code calls, and under which names."""
        mode = self._terms.code
        assert mode is not None, "only an agent in code mode has programs"
        return mode

    def _take(self, suspended: SuspendedCode, program: ProgramProgress) -> None:
        """Check the calls that the program has begun; those that are refused end at once."""
        functions, loop = self._mode.functions, self._progress.loop
        requests = [
            ToolCallRequest(tool=functions.get(call.function, ""), arguments=call.arguments)
            for call in suspended.calls
        ]
        calls = checked_code_calls(self._terms, loop, requests, self._beside())
        program.rounds += 1
        program.state = suspended.state
        program.calls = [
            ProgramCall(asked.id, call, self._refuse(asked.id, call))
            for asked, call in zip(suspended.calls, calls, strict=True)
        ]

    def _beside(self) -> list[OpenCall]:
        """Return the calls of the turn and of all its programs."""
        programs = self._scope.state.progress.programs
        others = [
            asked.call
            for key, program in programs.items()
            if key.rpartition("/")[0] == self._agent.key
            for asked in program.calls
        ]
        return [*self._progress.loop.calls, *others]

    def _refuse(self, id: int, call: OpenCall) -> CodeAnswer | None:
        """Return the failure of a call that is not executed, and note it."""
        if call.refusal is None:
            return None
        call.result = ToolResult(failed=True)
        message = refused_result(call.refusal).text
        refused = CallRefused("call_refused", call.tool, call.refusal.code, message)
        note_step(self._scope, self._location, "refused", refused)
        invalid = call.refusal.code == "invalid_arguments"
        error = "InvalidArguments" if invalid else "CallRefused"
        return CodeAnswer(id=id, error=error, message=message)

    async def _make_calls(self, program: ProgramProgress) -> None:
        """Make the calls of the program that have no answer yet."""
        waiting = [n for n, asked in enumerate(program.calls) if asked.answer is None]
        if not waiting:
            return
        calls = [asked.call for asked in program.calls]

        async def run(indexes: Sequence[int]) -> None:
            for index in indexes:
                if not self.is_stopped:
                    await self._one(program, index)

        await self.run_all(waiting, calls, run, concurrent=self._concurrent)

    async def _one(self, program: ProgramProgress, index: int) -> None:
        asked = program.calls[index]
        ended = await self.make(asked.call, program.rounds, index)
        asked.answer = _answer(asked.id, ended)
        short = ToolResult(failed=ended.result.failed)
        count_result(self._progress.loop, asked.call, short, ended.digest)


def _answer(id: int, ended: EndedCall) -> CodeAnswer:
    """Return what a call came to, as its code gets it."""
    outcome, result = ended.outcome, ended.result
    if outcome.error is not None:
        return CodeAnswer(id=id, error=outcome.error.type, message=outcome.error.message)
    if result.failed:
        return CodeAnswer(id=id, error="Skipped", message=result.text)
    if result.kept is not None:
        return CodeAnswer(id=id, kept=result.kept)
    return CodeAnswer(id=id, value=outcome.text if outcome.data is None else outcome.data)
