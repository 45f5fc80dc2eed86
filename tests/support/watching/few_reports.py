"""A plugin of pytest: the processes of pytest-xdist report what somebody reads.

They would send six messages for each test: its beginning and its end, and a set-up and a teardown
of which there is nothing to say. The messages of 19,000 tests took as long as a level of them.
"""

from collections.abc import Callable, Mapping
from functools import partial

import pytest

from tests.support.watching.suite_times import is_noted

_NEVER = ("logstart", "logfinish")


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Let the process send only what is read."""
    for plugin in session.config.pluginmanager.get_plugins():
        if hasattr(plugin, "sendevent"):  # of pytest-xdist's class, which nobody can import
            vars(plugin)["sendevent"] = partial(_send_what_is_read, plugin.sendevent)


def _send_what_is_read(
    send: Callable[..., None], name: str, **fields: Mapping[str, object]
) -> None:
    if name not in _NEVER and not (name == "testreport" and _says_nothing(fields["data"])):
        send(name, **fields)


def _says_nothing(report: Mapping[str, object]) -> bool:
    """Whether a report is of a set-up or teardown that passed and took no time."""
    return report["outcome"] == "passed" and report["when"] != "call" and not is_noted(report)
