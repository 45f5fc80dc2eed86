"""Define how a command fails: one sentence for the person, and an exit code."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes for the calling shell."""

    DONE = 0
    RUN_FAILED = 1
    """The run failed or was refused, or a part of what was asked could not be done."""
    CALL_WRONG = 2
    """The document, the arguments or the environment are wrong: nothing was done."""
    BUG = 3
    OUTPUT_LOST = 4
    """The command succeeded, but its output could not be written, as on a full disk."""
    NO_VERDICT = 5
    """Trials of a suite have no verdict, for a reason outside of them."""
    MAX_TOTAL_TEAMS = 10
    """The run hit a limit; the number shows which."""
    MAX_RECURSION_DEPTH = 11
    NO_PROGRESS = 12
    BUDGET_TOKENS = 20
    BUDGET_MONEY = 21
    BUDGET_MODEL_CALLS = 22
    BUDGET_TOOL_CALLS = 23
    BUDGET_WORKING_TIME = 24
    NOT_YET = 124
    """What the command waits for did not happen in the time that it was given."""
    INTERRUPTED = 130
    READER_LEFT = 141
    """Nobody read what the command printed, and it did nothing else: the code of SIGPIPE."""


AT_LIMIT = {code.name.lower(): code for code in ExitCode if 10 <= code < 100}
"""Exit codes of a run's limits, by the status of the run."""


class CommandError(Exception):
    """An error that the user can fix; prints its message without a traceback."""

    def __init__(self, message: str, exit_code: ExitCode = ExitCode.CALL_WRONG) -> None:
        self.exit_code = exit_code
        super().__init__(message)
