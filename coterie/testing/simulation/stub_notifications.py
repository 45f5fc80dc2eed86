"""Stub notifications: nobody is notified, and the test can check what would have been sent."""

from collections.abc import Iterator, Sequence

from temporalio import activity

from coterie.activities.contracts import NOTIFY, Notification
from coterie.testing.files.case_document import NotificationCheck
from coterie.testing.files.expectations import check_text, holds


class StubNotifications:
    """Accepts every notification of a run, whatever its channel."""

    def __init__(self) -> None:
        self._sent: dict[str, Notification] = {}

    @activity.defn(name=NOTIFY)
    async def notify(self, notification: Notification) -> None:
        """Record it; a repeated one counts once."""
        self._sent[notification.id] = notification

    @property
    def sent(self) -> tuple[Notification, ...]:
        """All notifications, in the order of arrival."""
        return tuple(self._sent.values())


def notification_differences(
    expected: Sequence[NotificationCheck], sent: Sequence[Notification]
) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield each expected notification that is missing in order: index, what, found."""
    after = 0
    for number, check in enumerate(expected):
        there = next((n for n in range(after, len(sent)) if _fits(check, sent[n])), None)
        if there is not None:
            after = there + 1
            continue
        description = ", ".join(
            f"{key} {check_text(getattr(check, key))}" for key in _wanted_parts(check)
        )
        came = tuple(
            f"  {notification.what} {notification.number} of {notification.request} "
            f"by {notification.channel}"
            for notification in sent[after:]
        )
        yield (
            number,
            f"no notification with {description}",
            came or ("  no other notification was sent",),
        )


def _fits(check: NotificationCheck, notification: Notification) -> bool:
    values = notification.model_dump(mode="json")
    return all(holds(getattr(check, key), values[key]) for key in _wanted_parts(check))


def _wanted_parts(check: NotificationCheck) -> list[str]:
    return [key for key in NotificationCheck.model_fields if key in check.model_fields_set]
