"""Name the sender of every message to a run, in one place for all of them: a client's interceptor.

A door that verifies identities names the sender for the time of a request. Everything else comes
from a command or a program on this host, under its login name.
"""

import socket
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from temporalio.api.common.v1 import Payload
from temporalio.client import (
    Interceptor,
    OutboundInterceptor,
    SignalWorkflowInput,
    StartWorkflowInput,
    StartWorkflowUpdateInput,
    StartWorkflowUpdateWithStartInput,
    WorkflowHandle,
    WorkflowUpdateHandle,
)

from coterie.arguments import login_name
from coterie.dsl.sizes import MAX_BY_LENGTH
from coterie.dsl.visible import shortened_text
from coterie.storage.wire import data_converter
from coterie.workflows.core.senders import MAX_ADDRESS, SENDER, Door, Sender

_sender: ContextVar[Sender | None] = ContextVar("sender", default=None)


@contextmanager
def sent_by(sender: Sender) -> Generator[None]:
    """Name the sender of all messages within the block, and of the tasks that it starts."""
    token = _sender.set(sender)
    try:
        yield
    finally:
        _sender.reset(token)


def current_sender() -> Sender:
    """Return who sends messages now."""
    return _sender.get() or login_sender()


def login_sender(door: Door = "host") -> Sender:
    """Return the sender of what a command or a program on this host sends."""
    subject = shortened_text(login_name(), MAX_BY_LENGTH)
    address = shortened_text(socket.gethostname(), MAX_ADDRESS)
    return Sender(subject=subject, method="login", address=address, door=door)


class SenderHeaders(Interceptor):
    """Adds the sender to each start, signal and update of a client."""

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        """Return what sends the messages."""
        return _SendingWithHeaders(next)


class _SendingWithHeaders(OutboundInterceptor):
    async def start_workflow(self, input: StartWorkflowInput) -> WorkflowHandle[Any, Any]:
        return await super().start_workflow(replace(input, headers=with_sender(input.headers)))

    async def signal_workflow(self, input: SignalWorkflowInput) -> None:
        await super().signal_workflow(replace(input, headers=with_sender(input.headers)))

    async def start_workflow_update(
        self, input: StartWorkflowUpdateInput
    ) -> WorkflowUpdateHandle[Any]:
        headers = with_sender(input.headers)
        return await super().start_workflow_update(replace(input, headers=headers))

    async def start_update_with_start_workflow(
        self, input: StartWorkflowUpdateWithStartInput
    ) -> WorkflowUpdateHandle[Any]:
        start, update = input.start_workflow_input, input.update_workflow_input
        start.headers, update.headers = with_sender(start.headers), with_sender(update.headers)
        return await super().start_update_with_start_workflow(input)


def with_sender(headers: Mapping[str, Payload]) -> Mapping[str, Payload]:
    """Return headers with who sends messages now."""
    return {**headers, SENDER: data_converter.payload_converter.to_payload(current_sender())}
