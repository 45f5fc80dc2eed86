"""How a command ends when it does not end well: one sentence for the person, and a number."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the calling shell learns."""

    DONE = 0
    RUN_FAILED = 1
    """The run failed or was refused."""
    CALL_WRONG = 2
    """The document, the call or its surroundings are wrong: nothing was done."""
    BUG = 3
    INTERRUPTED = 130


class CommandError(Exception):
    """Something that a person can mend; the message is what they read, without a traceback."""

    def __init__(self, message: str, exit_code: ExitCode = ExitCode.CALL_WRONG) -> None:
        self.exit_code = exit_code
        super().__init__(message)
