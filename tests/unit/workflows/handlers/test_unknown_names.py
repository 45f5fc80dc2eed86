"""An update or a query that no run knows is refused, with the names that it knows."""

from typing import Any

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.workflow import (
    _Definition as Definition,  # pyright: ignore[reportPrivateUsage]
)

from coterie.workflows.core.requests import MALFORMED
from coterie.workflows.team import TeamWorkflow, UnknownMessages

DEFINITION = Definition.must_from_class(TeamWorkflow)
LONG = "x" * 200


def refused(handler: Any, name: str) -> ApplicationError:
    with pytest.raises(ApplicationError) as error:
        handler(UnknownMessages(), name, [])
    return error.value


@pytest.mark.parametrize(
    ("name", "shown", "hint"),
    [
        ("decid", "'decid'", "did you mean 'decide'?"),
        ("zzz", "'zzz'", None),
        (LONG, f"'{LONG}'", None),
        (f"{LONG}y", f"'{LONG}...'", None),
    ],
)
def test_an_unknown_update_is_refused_with_the_nearest_name(
    name: str, shown: str, hint: str | None
) -> None:
    error = refused(DEFINITION.updates[None].validator, name)
    assert (error.type, error.non_retryable) == (MALFORMED, True)
    assert f"no update {shown};" in error.message
    assert error.message.endswith(hint or "send_message, skip")


def test_an_unknown_query_is_refused_with_the_names_of_queries() -> None:
    error = refused(DEFINITION.queries[None].fn, "stat")
    assert error.type == MALFORMED
    assert "cost, events, pending" in error.message
