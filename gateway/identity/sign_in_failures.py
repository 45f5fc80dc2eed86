"""Why a sign-in fails: a code for programs, a sentence and the fix for people."""

from typing import Literal

FailureCode = Literal[
    "old_link",
    "old_sign_in",
    "refused_by_provider",
    "provider_unreachable",
    "provider_invalid",
    "token_invalid",
    "too_many_failures",
    "other_host",
    "other_origin",
]


class SignInFailure(Exception):
    """A sign-in, or a request without one, that is refused; no secret is in its texts."""

    def __init__(
        self, code: FailureCode, message: str, fix: str, *, status: int = 403, wait: float = 0
    ) -> None:
        self.code: FailureCode = code
        self.message = message
        self.fix = fix
        self.status = status
        self.wait = wait
        """Seconds until it may be repeated."""
        super().__init__(message)


def provider_unreachable(what: str, reason: str) -> SignInFailure:
    """Return the failure of a request to the provider that may pass."""
    return SignInFailure(
        "provider_unreachable",
        f"the sign-in provider did not answer ({what}: {reason})",
        "Try again in a minute.",
        status=503,
        wait=60,
    )


def provider_invalid(what: str) -> SignInFailure:
    """Return the failure of an answer that the provider must not give."""
    return SignInFailure(
        "provider_invalid",
        f"the sign-in provider gave an answer that Coterie does not accept: {what}",
        "Ask whoever runs Coterie to compare `access.oidc` with the provider's settings.",
        status=502,
    )
