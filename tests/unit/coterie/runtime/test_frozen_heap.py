"""What a worker has loaded is no work for its garbage collector while it serves."""

import gc

from coterie.runtime.frozen_heap import frozen_heap


def test_what_exists_is_frozen_until_the_worker_stops() -> None:
    with frozen_heap():
        assert gc.get_freeze_count() > 10_000
    assert gc.get_freeze_count() == 0
