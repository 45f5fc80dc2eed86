"""Expected notifications are met in order, each by a notification of its own."""

from typing import Any

import pytest

from coterie.activities.contracts import Notification
from coterie.testing.files.case_document import NotificationCheck
from coterie.testing.simulation.stub_notifications import notification_differences


def sent(what: Any, number: int = 1) -> Notification:
    return Notification(
        id=f"{what}{number}",
        channel="chat",
        what=what,
        number=number,
        text="Please decide.",
        run="r",
        plan="p",
        request="review/sign#1",
        prompt="Fine?",
        digest="d",
        since="2026-01-01T00:00:00Z",
    )


CAME = (sent("request"), sent("reminder"), sent("reminder", 2), sent("escalation"))


def missing(*expected: dict[str, Any]) -> list[int]:
    checks = [NotificationCheck.model_validate(one) for one in expected]
    return [number for number, _, _ in notification_differences(checks, CAME)]


@pytest.mark.parametrize(
    ("expected", "absent"),
    [
        ([], []),
        ([{"what": "request"}], []),
        ([{"what": "request"}, {"what": "escalation"}], []),
        ([{"what": "reminder"}, {"what": "reminder"}], []),
        ([{"what": "reminder"}] * 3, [2]),
        ([{"what": "reminder", "number": 2}, {"what": "reminder", "number": 1}], [1]),
        ([{"what": "escalation"}, {"what": "request"}], [1]),
        ([{"what": "timeout"}, {"what": "request"}, {"channel": "mail"}], [0, 2]),
    ],
)
def test_expected_notifications_are_found_in_order(
    expected: list[dict[str, Any]], absent: list[int]
) -> None:
    assert missing(*expected) == absent


def test_a_missing_notification_is_shown_beside_those_that_came_after_the_last_found() -> None:
    checks = [NotificationCheck.model_validate({"what": what}) for what in ("request", "timeout")]
    ((number, message, others),) = notification_differences(checks, CAME)
    assert (number, message) == (1, 'no notification with what "timeout"')
    assert [line.split(" of ")[0].strip() for line in others] == [
        "reminder 1",
        "reminder 2",
        "escalation 1",
    ]
    ((_, _, none),) = notification_differences(checks[1:], ())
    assert none == ("  no other notification was sent",)
