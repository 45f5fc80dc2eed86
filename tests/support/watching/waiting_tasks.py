"""A plugin of pytest: a test that hangs names what its tasks wait for.

Where a time limit ends a test, its traceback only shows that the event loop waits. The report
gets the lines at which every unfinished task waits.
"""

import asyncio
import gc
from collections.abc import Generator, Iterator

import pytest

LIMIT = "from pytest-timeout"
"""What the failure of a test says that its time limit has ended."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the waiting tasks to the report of a test that its time limit has ended."""
    report = yield
    if call.excinfo is not None and LIMIT in str(call.excinfo.value):
        report.sections.append(("Tasks that wait", waiting_tasks()))
    return report


def waiting_tasks() -> str:
    """Return each unfinished task of the process with the lines at which it waits."""
    tasks = [one for one in gc.get_objects() if issubclass(type(one), asyncio.Task)]
    waiting = (one for one in tasks if not one.done())
    return "\n".join("\n  ".join((task.get_name(), *_lines(task.get_coro()))) for task in waiting)


def _lines(coroutine: object) -> Iterator[str]:
    """Yield the lines of a coroutine and of what it waits for, the innermost last."""
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "ag_frame", None)
        if frame is None:
            yield repr(coroutine)
            return
        yield f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_qualname}"
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "ag_await", None)
