"""The error by which a provider of a package says that there is no answer, and whether to retry.

This module imports only the standard library.
"""


class ProviderError(Exception):
    """The model gave no answer, and the message says why.

    Attributes:
        retry: The same call may succeed later.
        retry_after: Seconds that the server asks to wait first.
    """

    def __init__(
        self, message: str, *, retry: bool = False, retry_after: float | None = None
    ) -> None:
        self.retry = retry
        self.retry_after = retry_after
        super().__init__(message)
