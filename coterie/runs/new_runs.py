"""Start a run on a server, under an unused id."""

from shlex import quote

from temporalio.client import Client
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError

from coterie.arguments import id_problem
from coterie.dsl.sizes import MAX_VALUE_SIZE
from coterie.dsl.visible import shortened_text
from coterie.failures import CommandError
from coterie.runs.run_client import Run
from coterie.storage.histories import WORKFLOW
from coterie.workflows.core.memo_keys import STARTED
from coterie.workflows.core.messages import TeamInput

_TOO_LARGE = (
    "the context and the plan exceed the 2 MB limit of a run's input; put large values "
    "into files of the workspace, which skills can read"
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
    client: Client, id: str, given: TeamInput, *, task_queue: str, summary: str
) -> Run:
    """Start a run under an unused id.

    Raises:
        CommandError: The id is taken or unusable, or the input exceeds Temporal's limit.
    """
    check_id(id)
    (payload,) = client.data_converter.payload_converter.to_payloads([given])
    if len(payload.data) > MAX_VALUE_SIZE:
        raise CommandError(_TOO_LARGE)
    try:
        await client.start_workflow(
            WORKFLOW,
            given,
            id=id,
            task_queue=task_queue,
            static_summary=summary,
            memo={STARTED: summary},
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
        )
    except WorkflowAlreadyStartedError:
        raise CommandError(
            f"run {id!r} already exists; see `coterie status {quote(id)}`, or use another id"
        ) from None
    except RPCError as error:
        if "exceeds limit" in error.message or "larger than max" in error.message:
            raise CommandError(_TOO_LARGE) from None
        raise CommandError(f"the server rejects this run: {error.message}") from None
    return Run(client, id)
