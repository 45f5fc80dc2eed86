"""Numbers the executions of a recording before their runs see them.

The digest of a request covers the id of its execution, and a server chooses that at random. The run
gets the id that the recorded history names, so a replay of the history computes the same digests.
"""

from dataclasses import dataclass, field, replace

from temporalio.worker import WorkflowInstance, WorkflowInstanceDetails, WorkflowRunner

from coterie.runtime.task_limit import MAX_SECONDS
from tests.replay.placeless import number_of
from tests.support.watching.prepared_sandbox import Prepared, prepared_sandbox


@dataclass
class NumberedExecutions(Prepared):
    """The sandbox of the tests, whose runs see numbered ids of their executions."""

    inner: WorkflowRunner = field(default_factory=lambda: prepared_sandbox(everything=True))
    ids: dict[str, str] = field(default_factory=dict[str, str])
    """`{id of an execution: its number}`."""
    max_task_seconds: float = MAX_SECONDS

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """Let a run see the number of its execution."""
        info = det.info
        assert det.randomness_seed == seed_of(info.original_execution_run_id), "as core derives it"
        id = number_of(info.original_execution_run_id, self.ids)
        first = number_of(info.first_execution_run_id, self.ids)
        numbered = replace(info, original_execution_run_id=id, first_execution_run_id=first)
        return super().create_instance(replace(det, info=numbered, randomness_seed=seed_of(id)))


_WORD = 2**64 - 1


def seed_of(id: str) -> int:
    """Return the seed that core gives an execution: SipHash-1-3 of its id, with the key 0."""
    text = id.encode() + b"\xff"
    whole = len(text) // 8 * 8
    state = [0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573]
    last = text[whole:].ljust(7, b"\0") + bytes([len(text) % 256])
    for start in range(0, whole + 8, 8):
        word = int.from_bytes((text[:whole] + last)[start : start + 8], "little")
        state[3] ^= word
        _mix(state)
        state[0] ^= word
    state[2] ^= 0xFF
    for _ in range(3):
        _mix(state)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _mix(state: list[int]) -> None:
    """Do one round of SipHash."""
    a, b, c, d = state
    a = (a + b) & _WORD
    b = _rotated(b, 13) ^ a
    a = _rotated(a, 32)
    c = (c + d) & _WORD
    d = _rotated(d, 16) ^ c
    a = (a + d) & _WORD
    d = _rotated(d, 21) ^ a
    c = (c + b) & _WORD
    b = _rotated(b, 17) ^ c
    state[:] = a, b, _rotated(c, 32), d


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> (64 - by)) & _WORD
