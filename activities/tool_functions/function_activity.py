"""The activity that runs tool functions; it holds all rules that tool functions share."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path

from pydantic import JsonValue
from temporalio import activity
from temporalio.exceptions import ApplicationError

from coterie.activities.attempts import check_attempt, confirm_attempt, not_begun, own_seconds
from coterie.activities.contracts import (
    CALL_FUNCTION,
    FailureType,
    FunctionRequest,
    FunctionResult,
    InnerCall,
    KeptResult,
)
from coterie.activities.heartbeats import CallTimedOut, heartbeating
from coterie.activities.mcp_client.server_pool import McpServers
from coterie.activities.metering import Meter
from coterie.activities.process_pool.thread_runner import ThreadRunner
from coterie.activities.process_pool.work import WorkRunner
from coterie.activities.storage.absences import lasting
from coterie.activities.storage.blobs import Blobs, BlobsUnusable, InheritedBlobs
from coterie.activities.threads.run_shares import run_of_call
from coterie.activities.threads.run_threads import FUNCTION_THREADS
from coterie.activities.tool_functions.apis.api_function import Apis
from coterie.activities.tool_functions.compute.python_function import (
    CodeSuspended,
    continue_program,
)
from coterie.activities.tool_functions.function_registry import (
    TOOL_FUNCTIONS,
    AnyFunction,
    find_function,
)
from coterie.activities.tool_functions.function_results import (
    encoded_result,
    explain,
    outcome_unknown,
    reason_for,
    refusal_details,
    result_unusable,
)
from coterie.activities.tool_functions.functions.mcp_function import SaidBeside, data_and_text
from coterie.activities.tool_functions.local_calls import (
    check_local_size,
    is_local_activity,
    require_local,
    shortened,
)
from coterie.activities.tool_functions.long_calls.long_call import LongCalls, task_of
from coterie.activities.tool_functions.server_functions import ServerFunction, server_function
from coterie.activities.tool_functions.temporal.workflow_function import Workflows
from coterie.activities.workspace.call_effects import EffectProgress, effect_after
from coterie.activities.workspace.function_base import FunctionContext, Workspace
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.activities.workspace.labelled_files import (
    any_labelled,
    any_written,
    labelled_files,
    labelling_writes,
)
from coterie.dsl.egress.channel_labels import kind_of_call
from coterie.dsl.egress.workspace_reads import (
    FILE_READERS,
    FILE_WRITERS,
    KEEPERS,
    STATE_WRITERS,
    WORKSPACE_READERS,
    is_trusted,
)
from coterie.dsl.model.capabilities import Effect, KeptLabel
from coterie.dsl.model.memory_terms import MemoryOwner


async def labels_of_read(workspace: Workspace, request: FunctionRequest) -> tuple[KeptLabel, ...]:
    """Return `untrusted` if a result may show what runs wrote with it, or a file of others."""
    function = request.skill
    if function not in WORKSPACE_READERS and kind_of_call(function) != "function":
        return ()
    file = _named_file(workspace, request) if function in FILE_READERS else None
    if file is not None and not _is_vouched_for(workspace, file):
        return ("untrusted",)
    if not any_written(workspace):
        return ()
    if function in KEEPERS or await FUNCTION_THREADS.run(_shows_labelled, workspace, file):
        return ("untrusted",)
    return ()


async def note_failed_read(workspace: Workspace, request: FunctionRequest, meter: Meter) -> None:
    """Keep what a failed call brings: its message may show what it has read."""
    if labels := await labels_of_read(workspace, request):
        meter.note_call(InnerCall(skill=request.skill, effect="read", labels=labels))


async def labelling(
    workspace: Workspace, request: FunctionRequest, effect: Effect
) -> AbstractAsyncContextManager[None]:
    """Return what labels the files that a call writes, if they may repeat text of others.

    They may if its run has met some, or if the call itself may read what such a run wrote.
    """
    if effect == "read" or request.skill in STATE_WRITERS:
        return nullcontext()
    if not request.untrusted and not await labels_of_read(workspace, request):
        return nullcontext()
    file = _named_file(workspace, request) if request.skill in FILE_WRITERS else None
    return labelling_writes(workspace, request.key, file)


def _named_file(workspace: Workspace, request: FunctionRequest) -> Path | None:
    """Return the file that a call names; None if it names none that there could be."""
    path = request.input.get("path") if isinstance(request.input, dict) else None
    try:
        return workspace.inside(path) if isinstance(path, str) else None
    except FunctionRefusal:
        return None


def _is_vouched_for(workspace: Workspace, file: Path) -> bool:
    """Return whether the worker vouches for a file; without globs, the terms of the call say it."""
    globs = workspace.trusted_paths
    return not globs or is_trusted(file.relative_to(workspace.root).as_posix(), globs)


def _shows_labelled(workspace: Workspace, file: Path | None) -> bool:
    record = labelled_files(workspace)
    return any_labelled(workspace, record) if file is None else record.hold(file)


MAX_INLINE = 200
"""Bytes of JSON of a result that is returned although the request wants it kept: its name would not
be much shorter."""

_PREVIEW = 100
"""Bytes of a kept result that the run shows."""


def _attempt() -> int:
    return activity.info().attempt if activity.in_activity() else 1


class FunctionActivities:
    """Runs tool functions on one workspace."""

    def __init__(
        self,
        workspace: Workspace,
        functions: Mapping[str, AnyFunction] = TOOL_FUNCTIONS,
        blobs: Blobs | None = None,
        servers: McpServers | None = None,
        apis: Apis | None = None,
        long_calls: LongCalls | None = None,
        runner: WorkRunner | None = None,
        workflows: Workflows | None = None,
    ) -> None:
        """Take the worker's own settings.

        Args:
            workspace: The project that tool functions may touch.
            functions: By name.
            blobs: Stores results that a request wants kept; without it, they are returned.
            servers: The MCP servers of the worker.
            apis: Its HTTP APIs.
            long_calls: Takes calls that must not be one activity; without it, each call is one.
            runner: Runs work that takes long; without it, this process does.
            workflows: The workflows that calls may signal or wait for.
        """
        self._workspace = workspace
        self._functions = functions
        self._blobs = lasting(blobs)
        self._servers = servers
        self._apis = apis
        self._long_calls = long_calls
        self._runner = runner or ThreadRunner()
        self._workflows = workflows

    @activity.defn(name=CALL_FUNCTION)
    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        """Run one tool function: check the input, send heartbeats while it runs, check the output.

        Raises:
            ApplicationError: Its type is a FailureType; retryable only if a retry may succeed.
        """
        if not is_local_activity():
            return await self._run(request, own_seconds())
        try:
            result = await self._run(request, own_seconds())
        except ApplicationError as error:
            raise shortened(error) from None
        recorded = request.model_copy(update={"skill_excerpt": None})  # the result repeats it
        return result.model_copy(update={"request": recorded})

    async def call_for_agent(self, request: FunctionRequest) -> FunctionResult:
        """Run one function in the middle of an agent's turn, within the time limit of its contract.

        Raises:
            ApplicationError: As `call_function`.
        """
        function = self._functions.get(request.skill)
        if function is None:
            return await self.call_function(request)  # it says which tool functions there are
        contract, whole = function.contract(), own_seconds()
        seconds = contract.timeout + contract.startup
        own = seconds if whole is None else min(seconds, whole)
        return await self._run(request, own, may_continue=False)

    async def _run(
        self, request: FunctionRequest, seconds: float | None, *, may_continue: bool = True
    ) -> FunctionResult:
        """Run one tool function; with `may_continue`, a long call continues after this activity."""
        meter = Meter.of_activity()
        with self._as_application_errors(request, meter):
            function = self._find(request)
            if is_local_activity():
                require_local(function)
            once, polls = function.effect == "once", _polls(request)
            if once and not polls and _attempt() > 1:
                raise outcome_unknown(function.name, "its first attempt was lost", meter)
            effect = EffectProgress(
                confirm_attempt if once and not polls else check_attempt, began=polls
            )
            with self._never_twice(function, effect, meter, polls) if once else nullcontext():
                async with (
                    heartbeating(meter.heartbeat, seconds=seconds),
                    await labelling(self._workspace, request, function.effect),
                ):
                    long = self._long_calls if may_continue else None
                    try:
                        data = await self._call_function(
                            function, request, meter, effect, seconds, long
                        )
                    except CodeSuspended as at:
                        return FunctionResult(suspended=at.suspended, seconds=meter.seconds)
                    effect.end(data_and_text(data, whole=True)[0])
                    labels = await labels_of_read(self._workspace, request)
                    result = await self._result(data, request, meter)
                    return result.model_copy(update={"labels": labels}) if labels else result

    async def _result(
        self, result: JsonValue | SaidBeside, request: FunctionRequest, meter: Meter
    ) -> FunctionResult:
        """Return the result, or where it is stored."""
        blobs = self._blobs if request.keep else None
        data, text = data_and_text(result, whole=blobs is not None)
        encoded = encoded_result(request.skill, data)
        if blobs is not None and (text or len(encoded) > MAX_INLINE):
            return await self._store_result(encoded, request, blobs, meter)
        if is_local_activity():
            check_local_size(request.skill, len(encoded))
        return FunctionResult(data=data, text=text, seconds=meter.seconds)

    @contextmanager
    def _never_twice(
        self,
        function: AnyFunction | ServerFunction,
        effect: EffectProgress,
        meter: Meter,
        polls: bool,
    ) -> Generator[None]:
        """Raise another failure for a `once` call that may have happened: nobody repeats it."""
        try:
            yield
        except asyncio.CancelledError as stopped:
            if polls or not (activity.in_activity() and activity.is_worker_shutdown()):
                raise
            if effect_after(stopped, effect) == "no":
                raise not_begun("its worker stopped") from None
            raise outcome_unknown(function.name, "its worker stopped while it ran", meter) from None
        except CallTimedOut as late:
            if polls or effect_after(late, effect) == "no":
                raise
            raise outcome_unknown(function.name, f"it {late}", meter) from None
        except Exception as failure:
            why = reason_for(failure, self._workspace.root)
            match effect_after(failure, effect):
                case "no":
                    raise
                case "unknown":
                    raise outcome_unknown(
                        function.name, reason_for(failure, self._workspace.root), meter
                    ) from failure
                case "yes":
                    result = failure.said if isinstance(failure, FunctionFailure) else effect.said
                    raise result_unusable(function.name, why, result, meter) from failure

    @contextmanager
    def _as_application_errors(self, request: FunctionRequest, meter: Meter) -> Generator[None]:
        """Raise the failures of a function as Temporal's errors, with what the call has used."""
        try:
            yield
        except FunctionRefusal as refusal:
            raise ApplicationError(
                str(refusal),
                *refusal_details(meter.details(), refusal.asked),
                type=refusal.type,
                non_retryable=True,
            ) from None
        except FunctionFailure as failure:
            raise ApplicationError(
                str(failure),
                *meter.hand_on(),
                type=FailureType.FUNCTION_FAILED,
                non_retryable=not failure.may_pass,
            ) from None
        except CallTimedOut as late:
            raise ApplicationError(
                f"{request.skill} {late}", *meter.hand_on(), type=FailureType.TIMEOUT
            ) from None
        except OSError as error:
            raise ApplicationError(
                f"{request.skill} {explain(error, self._workspace.root)}",
                *meter.hand_on(),
                type=FailureType.FUNCTION_FAILED,
            ) from None
        except asyncio.CancelledError:
            cut = meter.cut_off()
            if cut is not None:
                raise cut from None
            raise

    def _find(self, request: FunctionRequest) -> AnyFunction | ServerFunction:
        """Return the tool function; with a digest of a listing, it is one of a server's tools."""
        if request.listing is None:
            return find_function(request.skill, self._functions)
        return server_function(
            request.skill, request.listing, self._servers, self._apis, self._workflows
        )

    async def _store_result(
        self, encoded: bytes, request: FunctionRequest, blobs: Blobs, meter: Meter
    ) -> FunctionResult:
        """Store the result, and return its name."""
        try:
            name = await blobs.put(encoded, _run_id(request))
        except BlobsUnusable as error:
            raise ApplicationError(
                f"the result of {request.skill} could not be stored: {error}",
                *meter.hand_on(),
                type=FailureType.STORAGE_UNUSABLE,
            ) from None
        preview = encoded[:_PREVIEW].decode(errors="ignore")
        kept_result = KeptResult(name=name, size=len(encoded), preview=preview)
        return FunctionResult(kept=kept_result, seconds=meter.seconds)

    async def _call_function(
        self,
        function: AnyFunction | ServerFunction,
        request: FunctionRequest,
        meter: Meter,
        effect: EffectProgress,
        seconds: float | None,
        long: LongCalls | None,
    ) -> JsonValue | SaidBeside:
        """Run the tool function."""
        context = FunctionContext(
            workspace=self._workspace,
            key=request.key,
            run=_run_id(request),
            timeout=seconds,
            given_input=request.given_input,
            progress=meter.progress,
            beat=meter.report,
            effect=effect,
            store=self._store(request),
            load=self._load(request),
            memory=request.memory or MemoryOwner(),
            untrusted=request.untrusted,
            runner=self._runner,
            code=request.code,
            skill_excerpt=request.skill_excerpt,
        )
        try:
            return await self._call_of(function, request, context, long)()
        except Exception:
            await note_failed_read(self._workspace, request, meter)
            raise

    def _call_of(
        self,
        function: AnyFunction | ServerFunction,
        request: FunctionRequest,
        context: FunctionContext,
        long: LongCalls | None,
    ) -> Callable[[], Awaitable[JsonValue | SaidBeside]]:
        """Return what makes the call: the function, or a process that outlives the worker."""
        if request.code is not None and request.code.state is not None:
            return partial(continue_program, request.code, context)
        if long is None or isinstance(function, ServerFunction):
            return partial(function.call, request.input, context)
        if _polls(request) or long.takes(function, request.input, context):
            return partial(long.call, function, request, context)
        return partial(function.call, request.input, context)

    def _store(self, request: FunctionRequest) -> Callable[[bytes], Awaitable[str]] | None:
        """Return what stores bytes for the run."""
        if self._blobs is None:
            return None
        blobs, within = self._blobs, _run_id(request)
        return lambda data: blobs.put(data, within)

    def _load(self, request: FunctionRequest) -> Callable[[str], Awaitable[bytes]] | None:
        """Return what reads stored bytes of the run, or of those that it was forked from."""
        if self._blobs is None or request.code is None:
            return None
        blobs, within = InheritedBlobs(self._blobs, request.code.origins), _run_id(request)
        return lambda name: blobs.get(name, within)


def _polls(request: FunctionRequest) -> bool:
    """Return whether a call only asks for the task of an earlier one, which may be repeated."""
    return task_of(request) is not None


def _run_id(request: FunctionRequest) -> str:
    return run_of_call() if activity.in_activity() else request.key.partition("/")[0]
