"""Signed decisions in team tests: the people of a case sign under a root that no worker accepts."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from temporalio import activity

from coterie.activities.contracts import COMPILE_TEAM, CompileRequest, CompileResult
from coterie.dsl.model.sections.worker_document import TEST_ROOT
from coterie.signing.signers import test_signer
from coterie.workflows.core.messages import SignedInput
from coterie.workflows.core.requests import Pending
from coterie.workflows.signatures.statements import Authority

Message = TypeVar("Message", bound=SignedInput)


@activity.defn(name=COMPILE_TEAM)
async def start_settings(request: CompileRequest) -> CompileResult:
    """Tell a run the root of team tests; its plan is compiled already."""
    return CompileResult(decisions_root=TEST_ROOT)


@dataclass(frozen=True, slots=True)
class SimulatedSigner:
    """Signs as the person whom a case names."""

    now: datetime
    """On the run's own clock."""

    @property
    def subject(self) -> None:
        """Return None: it signs for the person whom a message names."""
        return None

    def sign(self, asked: Message, authority: Authority, request: Pending | None) -> Message:
        """Return the message with its proof."""
        return test_signer(asked.by, self.now).sign(asked, authority, request, now=self.now)
