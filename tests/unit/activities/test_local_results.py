"""A local activity's result lies in the history: only a small one fits."""

import pytest
from temporalio.exceptions import ApplicationError

from activities.skills.local_activity import MAX_LOCAL_RESULT, check_local_size


def test_a_result_of_the_greatest_size_fits_and_a_byte_more_does_not() -> None:
    check_local_size("Files.read", MAX_LOCAL_RESULT)
    with pytest.raises(ApplicationError, match="at most") as refused:
        check_local_size("Files.read", MAX_LOCAL_RESULT + 1)
    assert refused.value.non_retryable
