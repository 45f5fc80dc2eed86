"""Schedule a case's external events, each at its moment on the run's own clock."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Literal, cast

from pydantic import JsonValue

from coterie.dsl.visible import shortened_text
from coterie.failures import CommandError
from coterie.runs.call_errors import Unanswered
from coterie.runs.run_client import Run
from coterie.testing.files.case_document import CaseDocument, DecisionDocument
from coterie.testing.files.short_names import written_forms
from coterie.workflows.core.messages import (
    AmendInput,
    Control,
    DecideInput,
    RedirectInput,
    RetryInput,
    SayInput,
    SkipInput,
)
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.state_keys import StepKey

ROUNDED = timedelta(milliseconds=1)
"""Precision of the moments that a run reports; they may be too early by this much."""


_SHOWN = 60
"""Characters of what people say, in a report."""

Watched = Literal["requests", "steps"]
"""What the moment of an event depends on."""


@dataclass(frozen=True, slots=True)
class Scene:
    """The visible state of an idle run, as far as somebody watches it."""

    began: datetime
    pending: tuple[Pending, ...]
    doing: Mapping[str, datetime]
    """`{team/path: since}` of the steps in progress."""


class ScheduledEvent(ABC):
    """One external event."""

    quiet: bool = False
    """Whether it does not resume the run; such events happen first among those due."""

    @property
    @abstractmethod
    def watches(self) -> Watched | None:
        """What its moment still depends on."""

    @abstractmethod
    def due(self, scene: Scene) -> datetime | None:
        """Return when it is due in this scene; None while its condition is not met."""

    @abstractmethod
    async def happen(self, run: Run, scene: Scene) -> None:
        """Make it happen.

        Raises:
            CommandError: The run refuses it.
        """

    @abstractmethod
    def missed(self) -> str | None:
        """Explain why it never happened, or return None if it did."""


async def _decide(run: Run, request: str, digest: str, entry: DecisionDocument) -> None:
    match entry.decision:
        case "retry":
            await run.retry(RetryInput(task=request, by=entry.by, why=entry.comment))
        case "skip":
            task = request if StepKey.of_failed(request) else StepKey.of_request(request)
            await run.skip(SkipInput(task=task, value=entry.value, by=entry.by, why=entry.comment))
        case decision:
            decision_input = DecideInput(
                id=request,
                decision=decision,
                by=entry.by,
                comment=entry.comment,
                digest=digest or None,
            )
            if "payload" in entry.model_fields_set:  # null counts as a payload too
                decision_input = decision_input.model_copy(update={"payload": entry.payload})
            await run.decide(decision_input)


@dataclass
class Decisions(ScheduledEvent):
    """All decisions of a case: a request uses matching entries in order, each once."""

    entries: Sequence[DecisionDocument]
    used: set[int] = field(default_factory=set[int])
    spent: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    """Requests with the entries that they have used: where several people must approve, or the run
    must refuse a decision, they keep waiting."""

    @property
    def watches(self) -> Watched | None:
        """The requests, where there are entries: several requests may use the same one."""
        return "requests" if self.entries else None

    def due(self, scene: Scene) -> datetime | None:
        """Return when the first pending request is decided."""
        return min((moment for moment, _, _ in self._waiting(scene)), default=None)

    async def happen(self, run: Run, scene: Scene) -> None:
        """Decide the request that is due first."""
        _, number, request = min(self._waiting(scene))
        entry = self.entries[number]
        self.used.add(number)
        self.spent.add((request, number))
        try:
            digest = next(
                (pending.digest for pending in scene.pending if pending.id == request), ""
            )
            await _decide(run, request, digest, entry)
        except Unanswered:
            raise  # lost, and not refused
        except CommandError as error:
            if not entry.refused:
                raise CommandError(f"{request}: {error}") from None
        else:
            if entry.refused:
                raise CommandError(
                    f"{request}: the run must refuse the decision of {entry.by!r}, and accepted it"
                )

    def missed(self) -> str | None:
        """Report the entries that matched no request."""
        unused = [
            repr(entry.approval)
            for number, entry in enumerate(self.entries)
            if number not in self.used
        ]
        return f"no approval was requested that matches {', '.join(unused)}" if unused else None

    def _waiting(self, scene: Scene) -> Iterator[tuple[datetime, int, str]]:
        """Yield when each request is decided, and by which entry."""
        for request in scene.pending:
            step, _, visit = request.id.rpartition("#")
            ids = [f"{form}#{visit}" for form in written_forms(step)]
            for number, entry in enumerate(self.entries):
                fits = any(fnmatchcase(id, entry.approval) for id in ids)
                if fits and (request.id, number) not in self.spent:
                    since = datetime.fromisoformat(request.since)
                    yield since + timedelta(seconds=entry.after), number, request.id
                    break


@dataclass
class Timed(ScheduledEvent):
    """An event that is sent once, some time after the run or a step started."""

    what: str
    """Description for people, if it never happens."""
    send: Callable[[Run], Awaitable[object]]
    during: str | None
    after: float
    quiet: bool = False
    done: bool = False

    @property
    def watches(self) -> Watched | None:
        """The step during which it is sent, until then."""
        return None if self.done or self.during is None else "steps"

    def due(self, scene: Scene) -> datetime | None:
        """Return the due time after the step's start, while it is in progress."""
        since = scene.began if self.during is None else self._since(self.during, scene)
        if self.done or since is None:
            return None
        return since + timedelta(seconds=self.after) + (ROUNDED if self.after else timedelta())

    @staticmethod
    def _since(during: str, scene: Scene) -> datetime | None:
        """Return when the first step of this name in progress began."""
        doing = scene.doing.items()
        return min((at for step, at in doing if during in written_forms(step)), default=None)

    async def happen(self, run: Run, scene: Scene) -> None:
        """Send it."""
        self.done = True
        await self.send(run)

    def missed(self) -> str | None:
        """Explain that the step never started, or the run ended before."""
        if self.done:
            return None
        also = "" if self.during is None else f", or {self.during} was never in progress"
        return f"{self.what}: the run ended before{also}"


def scheduled_events(case: CaseDocument) -> tuple[ScheduledEvent, ...]:
    """Return all external events of a case."""
    return (Decisions(case.decisions), *_events_of_case(case))


def _events_of_case(case: CaseDocument) -> Iterator[Timed]:
    for signal in case.signals:
        yield Timed(
            f"the signal {signal.signal!r} was never sent",
            partial(_signal, signal.signal, signal.payload),
            signal.during,
            signal.after,
        )
    for pause in case.pauses:
        control = Control(by=pause.by, why=pause.why).model_dump()
        yield Timed(
            "the run was never paused",
            partial(_signal, "pause", control),
            pause.during,
            pause.after,
            quiet=True,
        )
        yield Timed(
            "the run was never resumed",
            partial(_signal, "resume", control),
            pause.during,
            pause.after + pause.lasts,
        )
    for amendment in case.amendments:
        amend_input = AmendInput(updates=amendment.updates, by=amendment.by, why=amendment.why)
        yield Timed(
            "the run was never amended",
            partial(_amend, amend_input),
            amendment.during,
            amendment.after,
            quiet=True,
        )
    for redirect in case.redirects:
        redirect_input = RedirectInput(team=redirect.team, by=redirect.by, why=redirect.why)
        yield Timed(
            f"the run was never redirected to {redirect.team}",
            partial(_redirect, redirect_input, redirect.refused),
            redirect.during,
            redirect.after,
            quiet=True,
        )
    yield from _events_at_steps(case)
    if case.cancel is not None:
        cancel = case.cancel
        yield Timed("the run was never cancelled", _cancel, cancel.during, cancel.after)


def _events_at_steps(case: CaseDocument) -> Iterator[Timed]:
    for skip in case.skips:
        skip_input = SkipInput(task=skip.task, value=skip.value, by=skip.by, why=skip.why)
        yield Timed(
            f"{skip.task} was never skipped",
            partial(_skip, skip_input, skip.refused),
            skip.during,
            skip.after,
            quiet=True,
        )
    for say in case.says:
        said = SayInput(text=say.text, step=say.step, by=say.by)
        yield Timed(
            f"{shortened_text(say.text, _SHOWN)!r} was never said",
            partial(_say, said, say.refused),
            say.during,
            say.after,
            quiet=True,
        )


async def _signal(name: str, payload: JsonValue, run: Run) -> None:
    # The SDK's own overloads are partly untyped.
    send: Callable[..., Awaitable[None]] = cast("Any", run.handle).signal
    await send(name, payload)


async def _amend(amendment: AmendInput, run: Run) -> None:
    await run.amend(amendment)


async def _redirect(redirect: RedirectInput, refused: bool, run: Run) -> None:
    await _as_expected(run.redirect(redirect), refused, f"the redirect to {redirect.team}")


async def _skip(skip_input: SkipInput, refused: bool, run: Run) -> None:
    await _as_expected(run.skip(skip_input), refused, f"the skip of {skip_input.task}")


async def _say(said: SayInput, refused: bool, run: Run) -> None:
    await _as_expected(run.say(said), refused, f"what {said.by} says")


async def _as_expected(request: Awaitable[object], refused: bool, what: str) -> None:
    """Send a request that the run must accept, or must refuse.

    Raises:
        CommandError: The run did the opposite.
    """
    try:
        await request
    except Unanswered:
        raise  # lost, and not refused
    except CommandError as error:
        if not refused:
            raise CommandError(f"{what}: {error}") from None
    else:
        if refused:
            raise CommandError(f"{what}: the run must refuse it, and accepted it")


async def _cancel(run: Run) -> None:
    await run.handle.cancel()
