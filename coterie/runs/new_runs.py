"""Start a run on a server, under an unused id."""

from collections.abc import Mapping
from shlex import quote

from temporalio.client import Client
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from coterie.arguments import id_problem
from coterie.dsl.sizes import MAX_VALUE_SIZE
from coterie.dsl.visible import shortened_text
from coterie.failures import CommandError, ExitCode
from coterie.logs import quietly
from coterie.runs.call_errors import NO_ANSWER, Unanswered
from coterie.runs.records import new_id
from coterie.runs.run_client import Run
from coterie.runs.task_queues import is_served
from coterie.server.connection import Connection, open_connection
from coterie.settings import Settings
from coterie.storage.histories import WORKFLOW
from coterie.terminal import note, say
from coterie.workflows.core.memo_keys import STARTED
from coterie.workflows.core.messages import TeamInput

CONTEXT_TOO_LARGE = (
    "the context and the plan exceed the 2 MB limit of a run's input; put large values "
    "into files of the workspace, which tool functions can read"
)


class IdTaken(CommandError):
    """Something on the server has the id already."""

    def __init__(self, id: str) -> None:
        self.id = id
        super().__init__(
            f"run {id!r} already exists; see `coterie status {quote(id)}`, or use another id"
        )


def check_id(id: str) -> None:
    """Refuse the id of a new run that a program gives, as `--id` refuses it.

    Raises:
        CommandError: Says why.
    """
    problem = id_problem(id)
    if problem is not None:
        raise CommandError(f"a run cannot have the id {shortened_text(id, 60)!a}: {problem}")


async def start_run(
    client: Client,
    id: str,
    given: TeamInput,
    *,
    task_queue: str,
    summary: str,
    memo: Mapping[str, str] | None = None,
) -> Run:
    """Start a run under an unused id.

    Args:
        client: Client of the server.
        id: The id.
        given: What the run gets.
        task_queue: Of the workers that shall serve it.
        summary: The name of the team or the plan.
        memo: What lists show of it beside its name.

    Raises:
        IdTaken: The id is taken.
        CommandError: It is unusable, or the input exceeds Temporal's limit.
    """
    check_id(id)
    (payload,) = client.data_converter.payload_converter.to_payloads([given])
    if len(payload.data) > MAX_VALUE_SIZE:
        raise CommandError(CONTEXT_TOO_LARGE)
    try:
        await client.start_workflow(
            WORKFLOW,
            given,
            id=id,
            task_queue=task_queue,
            static_summary=summary,
            memo={**(memo or {}), STARTED: summary},
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
        )
    except WorkflowAlreadyStartedError:
        raise IdTaken(id) from None
    except RPCError as error:
        if "exceeds limit" in error.message or "larger than max" in error.message:
            raise CommandError(CONTEXT_TOO_LARGE) from None
        if error.status in (*NO_ANSWER, RPCStatusCode.RESOURCE_EXHAUSTED):
            raise Unanswered(f"the Temporal server does not answer ({error.message})") from None
        raise CommandError(f"the server rejects this run: {error.message}") from None
    return Run(client, id)


async def start(settings: Settings, name: str, given: TeamInput, id: str | None) -> ExitCode:
    """Start it and print its id, the only line on standard output.

    Args:
        settings: Server and task queue.
        name: Name of the team or the plan.
        given: What the run gets: a plan, or what a worker compiles.
        id: None to generate one.
    """
    quietly(settings)
    return await start_on(await open_connection(settings, start=True), settings, name, given, id)


async def start_on(
    connection: Connection, settings: Settings, name: str, given: TeamInput, id: str | None
) -> ExitCode:
    """Start it on a server, and print its id."""
    run = await start_run(
        connection.client,
        id or new_id(name),
        given,
        task_queue=settings.task_queue,
        summary=name,
    )
    say(run.id)
    ui = connection.ui_of(run.id)
    if ui:
        note(ui)
    if not await is_served(connection.client, settings.task_queue):
        note(f"no worker serves the task queue {settings.task_queue!r} yet: start `coterie worker`")
    return ExitCode.DONE
