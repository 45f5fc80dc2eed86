"""Set up sign-in for one gateway, from its configuration."""

import time
from collections.abc import Callable

from coterie.arguments import login_name
from coterie.dsl.model.sections.access_document import AccessSection
from coterie.failures import CommandError
from coterie.gateway.identity.access_settings import secret_of, tokens_file
from coterie.gateway.identity.local_sign_in import LocalSignIn, local_host, project_keys
from coterie.gateway.identity.oidc_provider import OidcProvider
from coterie.gateway.identity.program_tokens import TokenFile
from coterie.gateway.identity.provider_sign_in import ProviderSignIn
from coterie.gateway.identity.sealed_values import SealKeys, written_keys
from coterie.gateway.identity.sign_in_gate import SignInGate
from coterie.settings import Settings


def sign_in_gate(
    settings: Settings,
    access: AccessSection,
    port: int,
    *,
    clock: Callable[[], float] = time.time,
) -> SignInGate:
    """Return what verifies the requests of a gateway at a port.

    Raises:
        CommandError: A variable is not set, a file cannot be read or written, or OIDC lacks
            `public_url`.
    """
    tokens = TokenFile(tokens_file(access, settings))
    keys = _session_keys(settings, access)
    if access.oidc is None:
        hosts = (local_host(settings), "127.0.0.1", "[::1]")  # Safari knows no other than numbers
        origins = [f"http://{host}:{port}" for host in hosts]
        local = LocalSignIn(login_name(), clock)
        return SignInGate(access, keys, tokens, origins, local=local, clock=clock)
    if access.public_url is None:
        raise CommandError(
            "sign-in at a provider needs `access.public_url` in coterie.yml: the address to which "
            "the provider sends people back"
        )
    variable = access.oidc.client_secret_env
    secret = variable and secret_of(settings, variable, "oidc.client_secret_env")
    provider = OidcProvider(access.oidc, secret or None, clock=clock)
    sign_in = ProviderSignIn(access, access.oidc, provider, access.public_url, clock)
    return SignInGate(access, keys, tokens, [access.public_url], provider=sign_in, clock=clock)


def _session_keys(settings: Settings, access: AccessSection) -> SealKeys:
    variable = access.session_keys_env
    if variable is None:
        return project_keys(settings)
    text = secret_of(settings, variable, "session_keys_env")
    return SealKeys(written_keys(text, f"the environment variable {variable}"))
