"""The view of a run that nobody watches: notices a request that nobody decides."""

import asyncio

from coterie.display.following.plain_view import ProgressView
from coterie.workflows.core.requests import Pending


class UnattendedView(ProgressView):
    """Shows nothing."""

    def __init__(self) -> None:
        super().__init__("")
        self.request = ""
        """The first request without a written decision."""
        self.asked = asyncio.Event()
        """Set when there is one."""

    def show(self, request: Pending) -> None:
        """Note a request that no written decision settles."""
        self.request = self.request or request.id
        self.asked.set()
