"""Signal a workflow that somebody else has started, or wait for its result, as a tool function."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import NAMESPACE_URL, uuid5

from pydantic import JsonValue
from temporalio.api.common.v1 import Payloads, WorkflowExecution
from temporalio.api.workflowservice.v1 import SignalWorkflowExecutionRequest
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import RawValue
from temporalio.service import RPCError, RPCStatusCode

from coterie.activities.contracts import FailureType
from coterie.activities.workspace.function_base import FunctionContext
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.dsl.apis.foreign_values import UnusableValue, foreign_value
from coterie.dsl.apis.temporal_inputs import InputRefused, arguments_of, workflow_id
from coterie.dsl.compile.temporal_offers import contract_on_temporal
from coterie.dsl.errors import listed, nearest
from coterie.dsl.json_schema.schema_checker import answer_mismatches
from coterie.dsl.json_values import describe_kind
from coterie.dsl.model.capabilities import Effect, TemporalContract
from coterie.dsl.model.sections.temporal_document import TemporalEntry
from coterie.dsl.model.temporal_calls import ResultTarget, SignalTarget
from coterie.dsl.values import Json
from coterie.dsl.visible import shortened_text

_GONE = (RPCStatusCode.NOT_FOUND, RPCStatusCode.FAILED_PRECONDITION)
_REFUSED = (*_GONE, RPCStatusCode.INVALID_ARGUMENT, RPCStatusCode.PERMISSION_DENIED)
_MAX_ERROR_LENGTH = 2_000


@dataclass(frozen=True)
class Workflows:
    """What one worker lets its runs signal and wait for."""

    client: Client = field(repr=False)
    contracts: Mapping[str, TemporalContract]

    @classmethod
    def of(cls, client: Client, sections: Mapping[str, TemporalEntry]) -> "Workflows":
        """Take what the worker's configuration names."""
        contracts = {name: contract_on_temporal(name, one) for name, one in sections.items()}
        return cls(client, contracts)


@dataclass(frozen=True)
class WorkflowFunction:
    """A signal to a workflow, or its result."""

    name: str
    workflows: Workflows = field(repr=False)
    declaration: str
    """Digest of the declaration that the plan was compiled with."""

    @property
    def effect(self) -> Effect:
        """What a repeated call does, by the worker's configuration."""
        contract = self.workflows.contracts.get(self.name)
        return "once" if contract is None else contract.effect

    async def call(self, value: JsonValue, context: FunctionContext) -> JsonValue:
        """Send the signal, or wait for the result, if the worker still allows that.

        Raises:
            FunctionRefusal: It does not, or there is no such workflow.
            FunctionFailure: It failed.
        """
        contract = self._allowed_contract()
        given = self._check_input(value, contract)
        target = contract.target
        try:
            match target:
                case SignalTarget():
                    return await self._signal(target, given, context)
                case ResultTarget():
                    return await self._result(target, workflow_id(target.id, given))
                case _:
                    raise FunctionRefusal(f"{self.name} is called by the run itself")
        except InputRefused as refused:
            raise FunctionRefusal(f"{self.name}: {refused}") from None
        except RPCError as error:
            message = f"{self.name}: {shortened_text(error.message, _MAX_ERROR_LENGTH)}"
            if error.status in _GONE:
                raise FunctionRefusal(f"{message}: no such workflow runs") from None
            if error.status in _REFUSED:
                raise FunctionRefusal(message) from None
            raise FunctionFailure(message, may_pass=True) from None

    def _allowed_contract(self) -> TemporalContract:
        contract = self.workflows.contracts.get(self.name)
        if contract is None:
            known = self.workflows.contracts
            hint = nearest(self.name, known)
            raise FunctionRefusal(
                f"this worker allows no {self.name!r} on Temporal; its configuration has "
                f"{listed(known)}. {hint}".rstrip(". ")
            )
        if contract.target.declaration != self.declaration:
            raise FunctionRefusal(
                f"{self.name!r} in this worker's configuration has changed since the plan of this "
                "run was compiled. Start the run anew",
                FailureType.TOOL_CHANGED,
            )
        return contract

    def _check_input(self, value: JsonValue, contract: TemporalContract) -> Json:
        if not isinstance(value, dict):
            raise FunctionRefusal(f"{self.name} takes a mapping, not {describe_kind(value)}")
        problems = answer_mismatches(value, contract.input_schema)
        if problems:
            raise FunctionRefusal(f"invalid input for {self.name}: {'; '.join(problems)}")
        return value

    async def _signal(
        self, target: SignalTarget, given: Json, context: FunctionContext
    ) -> JsonValue:
        """Send the signal; the server takes one of the same call once."""
        client, id = self.workflows.client, workflow_id(target.id, given)
        converter = client.data_converter.payload_converter
        request = SignalWorkflowExecutionRequest(
            namespace=client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=id),
            signal_name=target.signal,
            input=Payloads(payloads=converter.to_payloads([*arguments_of(target, given)])),
            identity=client.identity,
            request_id=str(uuid5(NAMESPACE_URL, context.key)),
        )
        await context.effect.begin()
        await client.workflow_service.signal_workflow_execution(request)
        return {"workflow_id": id}

    async def _result(self, target: ResultTarget, id: str) -> JsonValue:
        handle = self.workflows.client.get_workflow_handle(id, result_type=RawValue)
        try:
            raw = await handle.result()
        except WorkflowFailureError as failure:
            text = shortened_text(str(failure.cause), _MAX_ERROR_LENGTH)
            raise FunctionFailure(f"{self.name}: {id} did not succeed: {text}") from None
        try:
            payload = None if raw is None else raw.payload
            return foreign_value(
                payload if payload is None else payload.data,
                b"" if payload is None else payload.metadata.get("encoding", b""),
                target.output_schema,
            )
        except UnusableValue as unusable:
            message = f"the result of {id} cannot be used: {unusable}"
            raise FunctionFailure(f"{self.name}: {message}") from None
