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
    MAX_TOTAL_TEAMS = 10
    """A bound of the run is reached: which, its number says."""
    MAX_RECURSION_DEPTH = 11
    NO_PROGRESS = 12
    BUDGET_TOKENS = 20
    BUDGET_MONEY = 21
    BUDGET_MODEL_CALLS = 22
    BUDGET_TOOL_CALLS = 23
    BUDGET_WORKING_TIME = 24
    INTERRUPTED = 130


AT_LIMIT = {code.name.lower(): code for code in ExitCode if 10 <= code < 100}
"""`{end of a run: its exit code}`, for the bounds of a run."""


class CommandError(Exception):
    """Something that a person can mend; the message is what they read, without a traceback."""

    def __init__(self, message: str, exit_code: ExitCode = ExitCode.CALL_WRONG) -> None:
        self.exit_code = exit_code
        super().__init__(message)
