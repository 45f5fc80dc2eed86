"""Stub tool functions: real ones on the case's workspace, except those with results in the file.

A stand-in never runs, no test reaches a server, and a function with the effect `once` runs
only if the case says `real: true`: otherwise a call has a result in the file, or the case fails.
"""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue
from temporalio import activity
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import CALL_FUNCTION, FailureType, FunctionRequest, FunctionResult
from coterie.activities.storage.blobs import Blobs
from coterie.activities.tool_functions.function_activity import FunctionActivities
from coterie.activities.tool_functions.function_registry import (
    TOOL_FUNCTIONS,
    AnyFunction,
    contracts,
)
from coterie.activities.tool_functions.function_results import refusal_details
from coterie.activities.tool_functions.functions.python_functions import PythonFunction
from coterie.activities.workspace.function_base import Workspace
from coterie.dsl.json_schema.schema_checker import answer_mismatches
from coterie.dsl.model.tools.asked_input import AskedForm, AskedInput
from coterie.testing.files.case_document import FunctionResultDocument, ToolQuestionDocument
from coterie.testing.files.short_names import written_forms
from coterie.testing.files.stand_ins import StandInDocument
from coterie.workflows.core.state_keys import FunctionCallKey

_OR_REAL = (
    "; or, if it may really act, on the copy of the workspace and on everything that it reaches "
    "outside, add `real: true` to the case"
)


class StubFunctions:
    """Runs tool functions, or returns their results from the file."""

    def __init__(
        self,
        workspace: Workspace,
        results: Sequence[FunctionResultDocument],
        stand_ins: Mapping[str, StandInDocument],
        functions: Mapping[str, PythonFunction],
        blobs: Blobs | None = None,
        *,
        real: bool = False,
    ) -> None:
        offered: dict[str, AnyFunction] = {**TOOL_FUNCTIONS, **functions}
        self._real = FunctionActivities(workspace, offered, blobs=blobs)
        self.contracts = contracts(offered)
        """Of every tool function that exists."""
        self._offered = offered
        self._may_act = real
        self._results = results
        self._stand_ins = stand_ins
        self.unanswered: dict[str, str] = {}
        """`{call: what to add}` for calls of stand-ins and MCP tools without a result."""
        self.used: set[int] = set()
        """Indexes of the entries that were used."""

    @activity.defn(name=CALL_FUNCTION)
    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        """Run one tool function.

        Raises:
            ApplicationError: It failed, really or according to the file.
        """
        entry = self._entry(request)
        stand_in = self._stand_ins.get(request.skill)
        if stand_in is not None:
            _check_input(request, stand_in)
        if entry is None:
            if request.listing is not None:
                raise self._unanswered_call(request, "the tool")
            if stand_in is None and self._acts(request):
                raise self._unanswered_call(request, "the function", _OR_REAL)
            if stand_in is None:
                return await self._real.call_function(request)
            return FunctionResult(data=self._data_of(request, stand_in))
        if entry.asks is not None and request.given_input is None:
            raise _question(request, entry.asks)
        if entry.error is not None:
            raise ApplicationError(entry.error.message, type=entry.error.type, non_retryable=True)
        return FunctionResult(data=entry.data, text=entry.text)

    def _acts(self, request: FunctionRequest) -> bool:
        """Return whether a call would really do what must not happen twice."""
        function = self._offered.get(request.skill)
        once = isinstance(function, PythonFunction) and function.effect == "once"
        return once and not self._may_act

    def _data_of(self, request: FunctionRequest, stand_in: StandInDocument) -> JsonValue:
        if stand_in.has_result:
            return stand_in.data
        raise self._unanswered_call(request, "the stand-in")

    def _unanswered_call(
        self, request: FunctionRequest, what: str, otherwise: str = ""
    ) -> ApplicationError:
        """Note a call that needs a result in the file, and return its failure."""
        key = FunctionCallKey(request.key)
        entry = f"- {{step: {key.step}, visit: {key.execution}, data: ...}}"
        fix = f"add `{entry}` under `functions`{otherwise}"
        self.unanswered[f"{request.skill} in {key.step}#{key.execution}"] = fix
        return ApplicationError(
            f"{what} {request.skill} has no result for this call: {fix}",
            type=FailureType.FUNCTION_FAILED,
            non_retryable=True,
        )

    def _entry(self, request: FunctionRequest) -> FunctionResultDocument | None:
        """Return the most specific entry for this call: by its step, its visit, then its place."""
        key = FunctionCallKey(request.key)
        names = written_forms(key.step)
        fitting = [
            (names.index(entry.step), entry.visit is None, number, entry)
            for number, entry in enumerate(self._results)
            if entry.step in names and entry.visit in (None, key.execution)
        ]
        if not fitting:
            return None
        *_, number, entry = min(fitting, key=lambda fit: fit[:3])
        self.used.add(number)
        return entry


def _question(request: FunctionRequest, asks: ToolQuestionDocument) -> ApplicationError:
    """Return the failure of a call that asks a person."""
    form = AskedForm(message=asks.message, form=asks.schema_)
    return ApplicationError(
        f"{request.skill} asks a person: {asks.message}",
        *refusal_details((), AskedInput(questions={"answer": form})),
        type=FailureType.INPUT_REQUIRED,
        non_retryable=True,
    )


def _check_input(request: FunctionRequest, stand_in: StandInDocument) -> None:
    """Refuse an input that does not match the schema of a stand-in.

    Raises:
        ApplicationError: FunctionRefused, as of a real tool function.
    """
    errors = answer_mismatches(request.input, stand_in.input_schema)
    if errors:
        raise ApplicationError(
            f"{request.skill}: the input does not match its schema: {'; '.join(errors)}",
            type=FailureType.FUNCTION_REFUSED,
            non_retryable=True,
        )
