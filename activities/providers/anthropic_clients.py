"""Open the official clients for Claude: at Anthropic, or in a cloud. They speak the same API.

With an `api_key_env`, a cloud gets that key. Without one, Bedrock and Vertex take the identity of
the machine, in the order of the clouds' own tools: environment, profile, role.
"""

from importlib.util import find_spec

from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient
from anthropic.lib.bedrock import AsyncAnthropicBedrockMantle
from anthropic.lib.foundry import AsyncAnthropicFoundry
from anthropic.lib.vertex import AsyncAnthropicVertex

from coterie.activities.contracts import FailureType
from coterie.activities.extra_packages import install_command
from coterie.activities.providers.bounded_answers import bounded
from coterie.activities.providers.provider import ProviderSettings
from coterie.activities.providers.provider_failures import Endpoint, ProviderFailure
from coterie.dsl.model.model_options import Cloud

Client = AsyncAnthropic | AsyncAnthropicBedrockMantle | AsyncAnthropicVertex | AsyncAnthropicFoundry
"""Each has `messages.create` with the parameters of the Messages API."""

_CREDENTIAL_ERRORS = ("google.auth", "botocore")


def open_client(settings: ProviderSettings) -> tuple[Endpoint, Client]:
    """Return the server that these settings name, and a client for it.

    Raises:
        ProviderFailure: The key is missing or malformed, the URL is unusable, or the machine's
            identity needs a package that is not installed.
    """
    region, project = settings.region or "", settings.project or ""
    endpoint = Endpoint.of(settings, _cloud_url(settings))
    url, key = endpoint.base_url, endpoint.key
    http = bounded(DefaultAsyncHttpxClient)
    match settings.cloud:
        case None:
            client = AsyncAnthropic(
                api_key=key or "none",
                base_url=url,
                max_retries=0,
                open_telemetry=False,
                http_client=http,
            )
        case "bedrock":
            if key is None:
                _needs("boto3", "bedrock", settings)
            client = AsyncAnthropicBedrockMantle(
                api_key=key,
                aws_region=region,
                base_url=url,
                max_retries=0,
                open_telemetry=False,
                http_client=http,
            )
        case "vertex":
            if key is None:
                _needs("google.auth", "vertex", settings)
            client = AsyncAnthropicVertex(
                access_token=key,
                region=region,
                project_id=project,
                base_url=url,
                max_retries=0,
                open_telemetry=False,
                http_client=http,
            )
        case "foundry":
            client = AsyncAnthropicFoundry(
                api_key=key, base_url=url, max_retries=0, open_telemetry=False, http_client=http
            )
    # The client has read more from the environment; only what the file declares counts.
    client._custom_headers = {**settings.headers}  # pyright: ignore[reportPrivateUsage]
    return endpoint, client


def without_identity(endpoint: Endpoint, error: Exception) -> ProviderFailure | None:
    """Return the failure of a machine that has no usable identity in the cloud, or None.

    The clients do not wrap errors of the clouds' own packages. Google's say themselves whether
    they may pass.
    """
    is_clouds = type(error).__module__.startswith(_CREDENTIAL_ERRORS)
    if not is_clouds and type(error) is not RuntimeError:  # the clients' own, for no credentials
        return None
    return ProviderFailure(
        FailureType.MISSING_SECRET,
        f"this machine has no usable identity for {endpoint.provider} "
        f"({endpoint.quote(str(error))}); sign in with the cloud's own tools, give the machine a "
        "role, or name a key by `api_key_env`",
        retryable=getattr(error, "retryable", False) is True,
    )


def _cloud_url(settings: ProviderSettings) -> str | None:
    region = settings.region
    match settings.cloud:
        case None | "foundry":  # a document cannot name Foundry without its address
            return None
        case "bedrock":
            return f"https://bedrock-mantle.{region}.api.aws/anthropic"
        case "vertex":
            match region:
                case "global":
                    return "https://aiplatform.googleapis.com/v1"
                case "us" | "eu":
                    return f"https://aiplatform.{region}.rep.googleapis.com/v1"
                case _:
                    return f"https://{region}-aiplatform.googleapis.com/v1"


def _needs(package: str, cloud: Cloud, settings: ProviderSettings) -> None:
    """Refuse a provider whose identity nothing here can find."""
    try:
        is_there = find_spec(package) is not None
    except ModuleNotFoundError:  # of the parent package
        is_there = False
    if not is_there:
        raise ProviderFailure(
            FailureType.PROVIDER_REFUSED,
            f"provider {settings.name!r} has no `api_key_env`, and finding the machine's identity "
            f"for {cloud} needs a package: {install_command(cloud)}",
            retryable=False,
        )
