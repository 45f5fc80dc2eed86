"""Judge signed tokens of the provider: signature, issuer, audience, times, nonce. Pure."""

import hmac
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey, import_key
from joserfc.jws import extract_compact

from coterie.dsl.values import Json, JsonValue

PublicKey = RSAKey | ECKey | OKPKey
"""Keys with two halves: a secret that both sides share signs nothing here."""

_ALGORITHMS: Mapping[str, tuple[str, ...]] = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "EC": ("ES256", "ES384", "ES512"),
    "OKP": ("Ed25519",),
}
_LOGOUT = "http://schemas.openid.net/event/backchannel-logout"
_MAX_TOKEN = 20_000
_MAX_SUBJECT = 255
_MAX_LOGOUT_AGE = 600.0


class KeyEntry(NamedTuple):
    """A key of the provider."""

    id: str | None
    key: PublicKey


class SignedClaims(NamedTuple):
    """What a token with a valid signature says."""

    type: str
    """`typ` of its header, in lower case, without `application/`."""
    claims: Json


class ClaimRules(NamedTuple):
    """What the claims of all tokens must fit."""

    issuer: str
    now: float
    skew: float


def keys_of(document: JsonValue) -> tuple[KeyEntry, ...]:
    """Return the keys of a JWKS that verify signatures; keys of other kinds are left out."""
    listed = document.get("keys") if isinstance(document, dict) else None
    found: list[KeyEntry] = []
    for entry in listed if isinstance(listed, list) else []:
        if not isinstance(entry, dict) or entry.get("use", "sig") != "sig":
            continue
        try:
            key = import_key(cast("dict[str, str | list[str]]", entry))
        except (JoseError, ValueError, TypeError):
            continue
        if isinstance(key, RSAKey | ECKey | OKPKey):
            key_id = entry.get("kid")
            found.append(KeyEntry(key_id if isinstance(key_id, str) else None, key))
    return tuple(found)


def key_id_of(token: str) -> str | None:
    """Return the id of the key that a token names, which proves nothing yet."""
    try:
        header = jwt_header(token)
    except (JoseError, ValueError, TypeError):
        return None
    key_id = header.get("kid")
    return key_id if isinstance(key_id, str) else None


def jwt_header(token: str) -> Mapping[str, object]:
    """Return the header of a token, unverified."""
    return cast("Mapping[str, object]", extract_compact(token.encode()).headers())


def signed_claims(token: str, keys: Sequence[KeyEntry]) -> SignedClaims | None:
    """Return what a token says; None if none of the keys signed it.

    The key decides which algorithms count, never the token.
    """
    if len(token) > _MAX_TOKEN or not token.isascii():
        return None
    key_id = key_id_of(token)
    for entry in keys:
        if key_id is not None and entry.id is not None and entry.id != key_id:
            continue
        try:
            opened = jwt.decode(token, entry.key, algorithms=_ALGORITHMS[entry.key.key_type])
        except (JoseError, ValueError, TypeError):
            continue
        type = str(opened.header.get("typ", "")).lower().removeprefix("application/")
        return SignedClaims(type, cast("Json", dict(opened.claims)))
    return None


def id_token_problem(
    claims: Json, rules: ClaimRules, client_id: str, nonce: str | None
) -> str | None:
    """Return what is wrong with the claims of an id token; None if nothing is.

    Args:
        claims: Of a token whose signature is valid.
        rules: Of all tokens.
        client_id: Ours.
        nonce: What the sign-in sent; None for a renewal, which has none.
    """
    party = claims.get("azp")
    if problem := _common_problem(claims, rules, client_id):
        return problem
    if (party is not None or _is_many(claims.get("aud"))) and party != client_id:
        return "azp"
    said = claims.get("nonce")
    if nonce is not None and not (isinstance(said, str) and hmac.compare_digest(said, nonce)):
        return "nonce"
    return None


def access_token_problem(signed: SignedClaims, rules: ClaimRules, audience: str) -> str | None:
    """Return what is wrong with the access token of a program; None if nothing is."""
    if signed.type not in ("at+jwt", "jwt", ""):
        return "typ"
    if "nonce" in signed.claims or "events" in signed.claims:  # an id token, or a logout
        return "typ"
    return _common_problem(signed.claims, rules, audience)


def logout_token_problem(signed: SignedClaims, rules: ClaimRules, client_id: str) -> str | None:
    """Return what is wrong with a back-channel logout token; None if nothing is."""
    claims = signed.claims
    events = claims.get("events")
    if signed.type not in ("logout+jwt", "jwt", ""):
        return "typ"
    if not isinstance(events, dict) or not isinstance(events.get(_LOGOUT), dict):
        return "events"
    if "nonce" in claims:
        return "nonce"
    if not any(isinstance(claims.get(key), str) for key in ("sub", "sid")):
        return "sub"
    if problem := _party_problem(claims, rules, client_id):
        return problem
    issued = _number(claims.get("iat"))
    if issued is None or not -rules.skew <= rules.now - issued <= _MAX_LOGOUT_AGE + rules.skew:
        return "iat"
    return _end_problem(claims, rules) if "exp" in claims else None


def _common_problem(claims: Json, rules: ClaimRules, audience: str) -> str | None:
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= _MAX_SUBJECT:
        return "sub"
    issued = _number(claims.get("iat"))
    if issued is None or issued > rules.now + rules.skew:
        return "iat"
    begins = _number(claims.get("nbf", 0))
    if begins is None or begins > rules.now + rules.skew:
        return "nbf"
    return _party_problem(claims, rules, audience) or _end_problem(claims, rules)


def _party_problem(claims: Json, rules: ClaimRules, audience: str) -> str | None:
    if claims.get("iss") != rules.issuer:
        return "iss"
    meant = claims.get("aud")
    return None if meant == audience or (isinstance(meant, list) and audience in meant) else "aud"


def _end_problem(claims: Json, rules: ClaimRules) -> str | None:
    ends = _number(claims.get("exp"))
    return "exp" if ends is None or ends <= rules.now - rules.skew else None


def _is_many(value: JsonValue) -> bool:
    return isinstance(value, list) and len(value) > 1


def _number(value: JsonValue) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)
