"""Sessions of people: what an encrypted cookie holds, how long it counts, and how it is written."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final, Literal

from coterie.dsl.model.sections.access_document import AccessSection
from coterie.dsl.values import Frozen
from coterie.gateway.identity.access_rules import ALL_ROLES, grants_of
from coterie.gateway.identity.identity import Identity
from coterie.workflows.core.senders import LOCAL_USER

SESSION_COOKIE: Final = "__Host-coterie"
RENEWAL_COOKIE: Final = "__Host-coterie-renewal"
PENDING_PREFIX: Final = "__Host-coterie-signin-"

SESSION_LIFE: Final = 900.0
"""Seconds until a session is renewed at the provider, which may refuse: so it is revoked."""
SIGNED_IN_LIFE: Final = 12 * 3600.0
"""Seconds from a sign-in until the person signs in again; of a local user, without a request."""
PENDING_LIFE: Final = 600.0
MAX_PENDING: Final = 8
"""Sign-ins in progress of one browser: each has a cookie, and headers have an end."""
MAX_COOKIE: Final = 4000
"""Characters of a cookie with its name: browsers drop longer ones silently."""
_MAX_REVOKED: Final = 10_000


class PersonSession(Frozen):
    """A person who has signed in."""

    subject: str
    method: Literal["local", "oidc"]
    name: str = ""
    approver: str = ""
    groups: tuple[str, ...] = ()
    """Only those that a grant names."""
    provider_session: str = ""
    """The provider's `sid`, for logout there."""
    signed_in: float
    issued: float
    """When the provider, or this machine, last vouched for it."""

    @property
    def expires(self) -> float:
        """When it must be renewed."""
        if self.method == "local":
            return self.issued + SIGNED_IN_LIFE
        return min(self.issued + SESSION_LIFE, self.ends)

    @property
    def ends(self) -> float:
        """When no renewal helps."""
        return (self.issued if self.method == "local" else self.signed_in) + SIGNED_IN_LIFE


class Renewal(Frozen):
    """The refresh token of a session."""

    subject: str
    token: str

    def __repr__(self) -> str:
        return f"Renewal({self.subject!r})"


class PendingSignIn(Frozen):
    """A sign-in at the provider that has begun, in a cookie of its own: each tab may have one."""

    state: str
    nonce: str
    verifier: str
    target: str
    expires: float

    def __repr__(self) -> str:
        return "PendingSignIn(...)"


def identity_of_session(session: PersonSession, access: AccessSection) -> Identity:
    """Return whom a session stands for, with the roles that `access` grants now."""
    if session.method == "local":
        grants = ALL_ROLES
    else:
        subjects = {name for name in (session.subject, session.approver) if name}
        grants = grants_of(access, session.groups, subjects, person=True)
    return Identity(
        subject=session.subject,
        method=session.method,
        name=session.name,
        approver=session.approver,
        groups=session.groups,
        grants=grants,
        expires=session.expires,
    )


def local_session(user: str, now: float) -> PersonSession:
    """Return the session of the local user."""
    name = f"{LOCAL_USER}{user}"
    return PersonSession(
        subject=name, method="local", name=name, approver=name, signed_in=now, issued=now
    )


class EndedSessions:
    """Sessions that the provider reported as ended, in the memory of this process.

    Other gateways refuse them when they next renew them: within 15 minutes.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._ended: OrderedDict[tuple[str, str], float] = OrderedDict()

    def end(self, subject: str | None, provider_session: str | None, now: float) -> None:
        """End one session of the provider, or all of a person."""
        key = ("sid", provider_session) if provider_session else ("sub", subject or "")
        self._ended[key] = now
        self._ended.move_to_end(key)
        while len(self._ended) > _MAX_REVOKED:
            self._ended.popitem(last=False)

    def has(self, session: PersonSession) -> bool:
        """Return whether a session was ended after it was last vouched for."""
        keys = (("sid", session.provider_session), ("sub", session.subject))
        return any(self._ended.get(key, float("-inf")) >= session.signed_in for key in keys)


def set_cookie(name: str, value: str, seconds: float) -> str:
    """Return the header that sets a cookie of ours."""
    return f"{name}={value}; Max-Age={int(seconds)}; {_ATTRIBUTES}"


def drop_cookie(name: str) -> str:
    """Return the header that removes a cookie of ours."""
    return f"{name}=; Max-Age=0; {_ATTRIBUTES}"


_ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Lax"


def cookies_in(headers: Iterable[str]) -> dict[str, str]:
    """Return the cookies of a request; of two with one name, neither counts."""
    found: dict[str, str] = {}
    twice: set[str] = set()
    for header in headers:
        for part in header.split(";"):
            name, _, value = part.strip().partition("=")
            if name in found:
                twice.add(name)
            found[name] = value.strip('"')
    return {name: value for name, value in found.items() if name and name not in twice}
