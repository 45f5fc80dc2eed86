"""Each type of failure is known as one that can pass or not, and explained to users."""

from pathlib import Path

from activities.contracts import FailureType
from dsl.model.retryability import NON_RETRYABLE

TYPES = {value for name, value in vars(FailureType).items() if name.isupper()}
MAY_PASS = {
    "ProviderUnavailable",
    "RateLimited",
    "AnswerTruncated",
    "AnswerRefused",
    "AnswerUnusable",
    "AnswerTooLarge",
    "TurnsExhausted",
    "AgentFailed",
    "SkillFailed",
    "StorageUnusable",
    "Timeout",
    "StaleAttempt",
}
NO_OUTCOME = {"OwnQueue", "NotLocal"}
"""Types that no step ends with."""


def test_every_type_of_failure_is_retryable_or_not() -> None:
    assert NON_RETRYABLE.keys() >= TYPES - NO_OUTCOME - MAY_PASS
    assert not MAY_PASS & NON_RETRYABLE.keys()


def test_every_type_of_failure_that_is_never_retried_is_explained() -> None:
    page = (Path(__file__).parents[2] / "docs" / "steps.md").read_text()
    names = page.partition("## Types of failure")[2]
    missing = {name for name in NON_RETRYABLE if f"`{name}`" not in names}
    assert missing <= {"LimitExceeded", "BudgetExceeded"}, "a run ends by these, not a step"
