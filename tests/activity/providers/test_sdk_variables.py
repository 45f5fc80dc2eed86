"""Environment variables that the SDKs read change nothing: only what the file declares counts."""

import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from coterie.activities.providers.provider import ProviderSettings
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.provider_registry import Providers
from coterie.dsl.model.vendors.vendors import VENDORS
from tests.activity.providers.test_provider_answers import SAYS
from tests.support.servers.asking import APIS, KEY, request, settings
from tests.support.servers.raw_server import Received, raw_server

_READ = re.compile(
    r"(?:environ\.get|getenv|environ)[(\[]\s*\"(\w+)\""
    r"|^(?:ENV_\w+|_?\w*ENV\w*)(?::[^=\n]+)?\s*=\s*\"([A-Z][A-Z0-9_]+)\"",
    re.MULTILINE,
)


def variables(sdk: str) -> Iterator[str]:
    """The environment variables that the source of an SDK names."""
    spec = find_spec(sdk)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    for root in spec.submodule_search_locations:
        for file in Path(root).rglob("*.py"):
            for found in _READ.finditer(file.read_text()):
                yield found[1] or found[2]


VARIABLES = sorted({*variables("anthropic"), *variables("openai")})

OF_AN_SDK = {
    kind: [name for name in VARIABLES if name.startswith(f"{kind.upper()}_")]
    for kind in ("anthropic", "openai")
}


def value_of(variable: str) -> str:
    """What would be seen in a request if the variable counted."""
    if variable.endswith("HEADERS"):
        return "Authorization: Bearer other\nX-Api-Key: other\napi-key: other\nX-Other: other"
    return "http://127.0.0.1:9/other" if variable.endswith(("URL", "ENDPOINT")) else "other"


def providers(url: str) -> dict[str, ProviderSettings]:
    """A provider of each kind, API and cloud at this address."""
    found = {api: settings(api, url) for api in APIS}
    for cloud in ("bedrock", "vertex", "foundry"):
        found[cloud] = ProviderSettings(
            cloud,
            "anthropic",
            url,
            KEY,
            "MY_KEY",
            cloud=cloud,
            region="eu-west-1",
            project="mine" if cloud == "vertex" else None,
        )
    return found


NAMES = [*providers("http://x.test")]
_OF_A_REQUEST = ("host", "content-length")


async def sent(name: str, **changes: Any) -> dict[str, Any]:
    """The path, the headers and the body of one call."""
    async with raw_server(SAYS["anthropic" if name not in SAYS else name]) as server:
        own = replace(providers(server.url)[name], **changes)
        made = Providers({name: own})
        try:
            await made.get(name).complete(request())
        finally:
            await made.close()
    (one,) = server.requests
    return {"path": one.path, "body": one.body, **headers_of(one)}


def headers_of(received: Received) -> dict[str, str]:
    return {key: value for key, value in received.headers.items() if key not in _OF_A_REQUEST}


def test_the_variables_of_both_sdks_are_found() -> None:
    assert {"OPENAI_CUSTOM_HEADERS", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"} <= {*VARIABLES}
    assert {"ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_PROFILE", "CLOUD_ML_REGION"} <= {*VARIABLES}
    ignored = {name for vendor in VENDORS.values() for name in vendor.ignored_variables}
    assert ignored <= {*VARIABLES}, "`check` names a variable that no SDK reads"


@pytest.mark.parametrize("name", NAMES)
async def test_no_variable_of_an_sdk_changes_a_call(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    plain = await sent(name)
    for variable in VARIABLES:
        monkeypatch.setenv(variable, value_of(variable))
    assert await sent(name) == plain


@pytest.mark.parametrize(
    ("name", "variable"),
    [(api, one) for api in ("anthropic", "openai") for one in OF_AN_SDK[api]],
)
async def test_a_variable_alone_changes_no_call_either(
    name: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may count only where another one is not set."""
    for one in VARIABLES:
        monkeypatch.delenv(one, raising=False)
    monkeypatch.setenv(variable, value_of(variable))
    assert "other" not in str(await sent(name))


@pytest.mark.parametrize("name", NAMES)
async def test_headers_of_the_file_are_sent(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Team: other")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Team: other")
    assert (await sent(name, headers={"X-Team": "ours"}))["x-team"] == "ours"


@pytest.mark.parametrize("name", ["openai", "responses"])
async def test_the_organization_and_the_project_of_the_file_pay(name: str) -> None:
    found = await sent(name, organization="org-1", project="proj_1")
    assert (found["openai-organization"], found["openai-project"]) == ("org-1", "proj_1")


@pytest.mark.parametrize("name", NAMES)
async def test_a_header_without_its_variable_is_refused(name: str) -> None:
    with pytest.raises(ProviderFailure, match="MY_HEADER is not set on the worker"):
        await sent(name, missing_env="MY_HEADER")
