"""Each type of failure is known as one that can pass or not, and explained to users."""

import re
from pathlib import Path

from coterie.activities.contracts import FailureType
from coterie.dsl.model.retryability import NON_RETRYABLE

PAGE = (Path(__file__).parents[2] / "docs" / "failures.md").read_text()
CHAPTER = PAGE.partition("## Types of failure")[2].partition("\n## ")[0]
ROWS = re.findall(r"^\| (`[^|]*) \|", CHAPTER, re.MULTILINE)
TYPES = {
    *(value for name, value in vars(FailureType).items() if name.isupper()),
    *(name for row in ROWS for name in re.findall(r"`(\w+)`", row)),
}
MAY_PASS = {
    "ProviderUnavailable",
    "RateLimited",
    "AnswerTruncated",
    "AnswerRefused",
    "AnswerUnusable",
    "AnswerTooLarge",
    "TurnsExhausted",
    "AgentFailed",
    "FunctionFailed",
    "StorageUnusable",
    "Timeout",
    "StaleAttempt",
    "ToolPolicyUnmet",
    "InvalidResult",
    "ResultRejected",
    "NotSignalled",
    "NoMessageCame",
    "Failed",
    "TeamFailed",  # by the failure of its task, as `TasksFailed` by those of its tasks
    "TasksFailed",
}
NO_OUTCOME = {"OwnQueue", "NotLocal"}
"""Types that no step ends with."""


def test_every_type_of_failure_is_retryable_or_not() -> None:
    assert len(ROWS) > 40
    assert NON_RETRYABLE.keys() >= TYPES - NO_OUTCOME - MAY_PASS
    assert not MAY_PASS & NON_RETRYABLE.keys()


def test_every_type_of_failure_that_is_never_retried_is_explained() -> None:
    missing = {name for name in NON_RETRYABLE if f"`{name}`" not in CHAPTER}
    assert missing <= {"LimitExceeded", "BudgetExceeded"}, "a run ends by these, not a step"
