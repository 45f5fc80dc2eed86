"""Failures of code of packages that runs in child processes."""


class UserCodeFailed(Exception):
    """The child did not complete the call; the message says what happened.

    Attributes:
        began: The code may have done something.
    """

    def __init__(self, message: str, *, began: bool = True) -> None:
        self.began = began
        super().__init__(message)


class UserCodeTimeout(Exception):
    """The code exceeded its time limit and was killed, or found no free process.

    Attributes:
        began: The code may have done something.
    """

    def __init__(self, message: str, *, began: bool = True) -> None:
        self.began = began
        super().__init__(message)
