"""What people are told: in a test nobody is, and the test may ask what it would have been."""

from collections.abc import Iterator, Sequence

from temporalio import activity

from activities.contracts import NOTIFY, Notice
from coterie.testing.files.expectations import holds, told
from coterie.testing.files.test_document import NoticeCheck


class StubNotifications:
    """Takes every notice of a run, whatever its channel."""

    def __init__(self) -> None:
        self._sent: dict[str, Notice] = {}

    @activity.defn(name=NOTIFY)
    async def notify(self, notice: Notice) -> None:
        """Keep it; one that comes again is the same one."""
        self._sent[notice.id] = notice

    @property
    def sent(self) -> tuple[Notice, ...]:
        """All of them, in the order in which they came."""
        return tuple(self._sent.values())


def notice_differences(
    expected: Sequence[NoticeCheck], sent: Sequence[Notice]
) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Each expected notice that did not come after those before it: its place, what, what came."""
    after = 0
    for number, check in enumerate(expected):
        there = next((n for n in range(after, len(sent)) if _fits(check, sent[n])), None)
        if there is not None:
            after = there + 1
            continue
        wanted = ", ".join(f"{key} {told(getattr(check, key))}" for key in _asked(check))
        came = tuple(
            f"  {one.what} {one.number} of {one.request} by {one.channel}" for one in sent[after:]
        )
        yield number, f"people were not told with {wanted}", came or ("  nothing else was told",)


def _fits(check: NoticeCheck, notice: Notice) -> bool:
    found = notice.model_dump(mode="json")
    return all(holds(getattr(check, key), found[key]) for key in _asked(check))


def _asked(check: NoticeCheck) -> list[str]:
    return [key for key in NoticeCheck.model_fields if key in check.model_fields_set]
