"""The activity that runs skills; it holds all rules that skills share."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial

from pydantic import JsonValue
from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.attempts import confirm_attempt
from activities.contracts import CALL_SKILL, FailureType, KeptResult, SkillRequest, SkillResult
from activities.heartbeats import heartbeating
from activities.mcp_client.server_pool import McpServers
from activities.metering import Meter
from activities.os_errors import reason_of, shown_path
from activities.skills.functions.mcp_skill import McpSkill, mcp_skill
from activities.skills.local_activity import (
    check_local_size,
    is_local_activity,
    require_local,
    shortened,
)
from activities.skills.long_calls.long_call import LongCalls, task_of
from activities.skills.skill_registry import SKILLS, AnySkill, find_skill
from activities.skills.skill_results import encoded_result, outcome_unknown, refusal_details
from activities.storage.blobs import Blobs, BlobsUnusable
from activities.workspace.skill_base import SkillContext, Workspace
from activities.workspace.skill_failures import OutcomeLost, SkillFailure, SkillRefusal

MAX_INLINE = 200
"""Bytes of JSON of a result that is returned although the request wants it kept: its name would not
be much shorter."""

_PREVIEW = 100
"""Bytes of a kept result that the run shows."""


def _attempt() -> int:
    return activity.info().attempt if activity.in_activity() else 1


class SkillActivities:
    """Runs skills on one workspace."""

    def __init__(
        self,
        workspace: Workspace,
        skills: Mapping[str, AnySkill] = SKILLS,
        blobs: Blobs | None = None,
        servers: McpServers | None = None,
        long_calls: LongCalls | None = None,
    ) -> None:
        """Take the worker's own settings.

        Args:
            workspace: The project that skills may touch.
            skills: By name.
            blobs: Stores results that a request wants kept; without it, they are returned.
            servers: The MCP servers of the worker.
            long_calls: Takes calls that must not be one activity; without it, each call is one.
        """
        self._workspace = workspace
        self._skills = skills
        self._blobs = blobs
        self._servers = servers
        self._long_calls = long_calls

    @activity.defn(name=CALL_SKILL)
    async def call_skill(self, request: SkillRequest) -> SkillResult:
        """Run one skill: check the input, send heartbeats while it runs, check the output.

        Raises:
            ApplicationError: Its type is a FailureType; retryable only if a retry may succeed.
        """
        if not is_local_activity():
            return await self._run(request, _seconds())
        try:
            result = await self._run(request, _seconds())
        except ApplicationError as error:
            raise shortened(error) from None
        return result.model_copy(update={"request": request})

    async def call_for_agent(self, request: SkillRequest) -> SkillResult:
        """Run one skill in the middle of an agent's turn, within the time limit of its contract.

        Temporal holds only the limit of the whole turn.

        Raises:
            ApplicationError: As `call_skill`.
        """
        skill = self._skills.get(request.skill)
        if skill is None:
            return await self.call_skill(request)  # it says which skills there are
        contract, whole = skill.contract(), _seconds()
        seconds = contract.timeout + contract.startup
        try:
            async with asyncio.timeout(seconds):
                own = seconds if whole is None else min(seconds, whole)
                return await self._run(request, own, may_continue=False)
        except TimeoutError:
            why = f"it did not end within {contract.timeout:g} s"
            if skill.effect == "once":
                raise outcome_unknown(skill, why, Meter.of_activity()) from None
            raise ApplicationError(f"{skill.name}: {why}", type=FailureType.TIMEOUT) from None

    async def _run(
        self, request: SkillRequest, seconds: float | None, *, may_continue: bool = True
    ) -> SkillResult:
        """Run one skill; with `may_continue`, a long call continues after this activity."""
        meter = Meter.of_activity()
        with self._as_application_errors(request, meter):
            skill = self._find(request)
            if is_local_activity():
                require_local(skill)
            if skill.effect == "once" and not _polls(request) and _attempt() > 1:
                raise outcome_unknown(skill, "its first attempt was lost", meter)
            async with heartbeating(meter.heartbeat):
                data = await self._call_skill(
                    skill, request, meter, seconds, self._long_calls if may_continue else None
                )
        encoded = encoded_result(request.skill, data)
        if request.keep and self._blobs is not None and len(encoded) > MAX_INLINE:
            return await self._store_result(encoded, request, self._blobs, meter)
        if is_local_activity():
            check_local_size(request.skill, len(encoded))
        return SkillResult(data=data, seconds=meter.seconds)

    @contextmanager
    def _as_application_errors(self, request: SkillRequest, meter: Meter) -> Generator[None]:
        """Raise the failures of a skill as Temporal's errors, with what the call has used."""
        try:
            yield
        except SkillRefusal as refusal:
            raise ApplicationError(
                str(refusal),
                *refusal_details(meter.details(), refusal.asked),
                type=refusal.type,
                non_retryable=True,
            ) from None
        except SkillFailure as failure:
            raise ApplicationError(
                str(failure),
                *meter.hand_on(),
                type=FailureType.SKILL_FAILED,
                non_retryable=not failure.may_pass,
            ) from None
        except OSError as error:
            raise ApplicationError(
                f"{request.skill} hit a system error: {self._explain(error)}",
                *meter.hand_on(),
                type=FailureType.SKILL_FAILED,
            ) from None
        except asyncio.CancelledError:
            cut = meter.cut_off()
            if cut is not None:
                raise cut from None
            raise

    def _find(self, request: SkillRequest) -> AnySkill | McpSkill:
        """Return the skill; with a digest of a listing, it is a tool of an MCP server."""
        if request.listing is None:
            return find_skill(request.skill, self._skills)
        return mcp_skill(request.skill, request.listing, self._servers)

    async def _store_result(
        self, encoded: bytes, request: SkillRequest, blobs: Blobs, meter: Meter
    ) -> SkillResult:
        """Store the result, and return its name."""
        try:
            name = await blobs.put(encoded, _run_id(request))
        except BlobsUnusable as error:
            skill = self._find(request)
            if skill.effect == "once":
                raise outcome_unknown(
                    skill, f"its result could not be stored: {error}", meter
                ) from None
            raise ApplicationError(
                f"the result of {request.skill} could not be stored: {error}",
                *meter.hand_on(),
                type=FailureType.STORAGE_UNUSABLE,
            ) from None
        preview = encoded[:_PREVIEW].decode(errors="ignore")
        kept = KeptResult(name=name, size=len(encoded), preview=preview)
        return SkillResult(kept=kept, seconds=meter.seconds)

    async def _call_skill(
        self,
        skill: AnySkill | McpSkill,
        request: SkillRequest,
        meter: Meter,
        seconds: float | None,
        long: LongCalls | None,
    ) -> JsonValue:
        """Run the skill; an interrupted `once` skill has an unknown outcome."""
        context = SkillContext(
            workspace=self._workspace,
            key=request.key,
            run=_run_id(request),
            timeout=seconds,
            given_input=request.given_input,
            progress=meter.progress,
            beat=meter.report,
            store=self._store(request),
        )
        call = self._call_of(skill, request, context, long)
        if skill.effect != "once":
            return await call()
        if not _polls(request):
            await confirm_attempt()
        try:
            return await call()
        except (SkillRefusal, SkillFailure):
            raise
        except asyncio.CancelledError:
            stops = activity.in_activity() and activity.is_worker_shutdown()
            if stops and not _polls(request):
                raise outcome_unknown(skill, "its worker stopped while it ran", meter) from None
            raise
        except OutcomeLost as lost:
            raise outcome_unknown(skill, str(lost), meter) from None
        except OSError as error:
            why = f"it hit a system error: {self._explain(error)}"
            raise outcome_unknown(skill, why, meter) from None

    def _call_of(
        self,
        skill: AnySkill | McpSkill,
        request: SkillRequest,
        context: SkillContext,
        long: LongCalls | None,
    ) -> Callable[[], Awaitable[JsonValue]]:
        """Return what makes the call: the skill itself, or a process that outlives the worker."""
        if long is None or isinstance(skill, McpSkill):
            return partial(skill.call, request.input, context)
        if _polls(request) or long.takes(skill, request.input, context):
            return partial(long.call, skill, request, context)
        return partial(skill.call, request.input, context)

    def _store(self, request: SkillRequest) -> Callable[[bytes], Awaitable[str]] | None:
        """Return what stores bytes for the run."""
        if self._blobs is None:
            return None
        blobs, within = self._blobs, _run_id(request)
        return lambda data: blobs.put(data, within)

    def _explain(self, error: OSError) -> str:
        """Return reason and path; for a file outside the workspace, only its name."""
        reason, path = reason_of(error), error.filename
        if not isinstance(path, str):
            return reason
        return f"{reason}: {shown_path(path, self._workspace.root)!r}"


def _polls(request: SkillRequest) -> bool:
    """Return whether a call only asks for the task of an earlier one, which may be repeated."""
    return task_of(request) is not None


def _seconds() -> float | None:
    limit = activity.info().start_to_close_timeout if activity.in_activity() else None
    return None if limit is None else limit.total_seconds()


def _run_id(request: SkillRequest) -> str:
    if activity.in_activity():
        return activity.info().workflow_id or ""
    return request.key.partition("/")[0]
