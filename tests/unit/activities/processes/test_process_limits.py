"""What a command may use, as the process that supervises it reads it."""

from coterie.activities.processes.process_group import (
    ProcessLimits,
    _limits_text,  # pyright: ignore[reportPrivateUsage]
)


def test_limits_are_written_in_the_order_in_which_the_supervisor_reads_them() -> None:
    limits = ProcessLimits(cpu=1, memory=2, processes=3, output=4)
    assert _limits_text(limits, apart=True) == "1,1,2,3,4"
    assert _limits_text(limits, apart=False) == "0,1,2,3,4"


def test_a_command_without_limits_may_use_as_much_as_it_likes() -> None:
    assert _limits_text(None, apart=False) == "0,0,0,0,0"
