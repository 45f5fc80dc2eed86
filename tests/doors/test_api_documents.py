"""OpenAPI documents that others publish: each operation is a tool, and its request stays in place.

Nothing of these packages is in the repository; npm installs them when the test runs.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from coterie.dsl.apis.openapi_operations import operations_of
from coterie.dsl.apis.openapi_reading import read_api_document
from coterie.dsl.apis.request_building import build_request
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.model.capabilities import ServerListing
from coterie.dsl.model.sections.api_document import ApiSection, digest_of_api
from coterie.dsl.values import Json
from tests.stand_in.install import install
from tests.support.compiling import CAPABILITIES

HERE = Path(__file__).parent / "api_documents"
SERVER = "https://pinned.example/base"
TEAM = f"""
worker: {{ apis: {{ it: {{ server: "{SERVER}", openapi: it.yaml }} }} }}
llm_config:
  default_provider: anthropic
  default_model: claude-sonnet-5-5
  personas: {{ all: {{ prompts: {{ user: Work. }}, tools: [t] }} }}
tools: {{ t: {{ api: it }} }}
orchestration:
  entry_team: main
  teams: {{ main: {{ tasks: [{{ name: work, persona_key: all }}] }} }}
"""


class Published(NamedTuple):
    """A document, how many operations it has, and why others are left out."""

    file: str
    operations: int
    left_out: int = 0


DOCUMENTS = (
    Published("@digdir/dialogporten-schema/swagger.verified.json", 44),
    Published("@directus/specs/dist/openapi.json", 134, 2),
    Published("@ideal-postcodes/openapi/dist/openapi.yaml", 31),
    Published("@readme/oas-examples/3.0/json/star-trek.json", 120),
    Published("@readme/oas-examples/3.0/json/uspto.json", 3),
    Published("@readme/oas-examples/3.1/json/train-travel.json", 7),
    Published("@readme/oas-examples/3.1/yaml/readme.yaml", 50, 4),
    Published("@scalar/galaxy/dist/latest.yaml", 9, 1),
    Published("rclone-openapi/openapi.yaml", 100, 1),
    Published("shipengine-openapi/openapi.yaml", 76),
)


@pytest.fixture(scope="module")
def packages() -> Path:
    try:
        install(HERE)
    except RuntimeError as error:
        pytest.skip(f"NOT RUN: npm could not install the documents: {str(error).strip()[-200:]}")
    return HERE / "node_modules"


@pytest.mark.parametrize("published", DOCUMENTS, ids=lambda one: one.file)
def test_a_published_document_gives_tools_whose_requests_stay_in_place(
    packages: Path, published: Published
) -> None:
    text = (packages / published.file).read_text()
    found = operations_of(read_api_document(text, published.file), SERVER)
    assert (len(found.tools), len(found.left_out)) == (published.operations, published.left_out)
    assert all("multipart/form-data" in one.why for one in found.left_out)
    section = ApiSection.model_validate({"server": SERVER, "openapi": "it.yaml"})
    for tool in found.tools:
        assert tool.request is not None
        places = {one.argument: one.place for one in tool.request.parameters}
        arguments: Json = {
            name: "plain" if place == "header" else "a/b c&d=e#f?g"
            for name, place in places.items()
        }
        url = build_request(section, tool.request, {**arguments, "body": {}}).url
        parts = re.split(r"\{[^{}]*\}", tool.request.path)
        path = "[^/?#]+".join(map(re.escape, (f"{SERVER}{parts[0]}", *parts[1:])))
        query = r"[^&=#]+=[^&=#]+"
        count = [*places.values()].count("query")
        wanted = rf"\?{query}(&{query}){{{count - 1}}}" if count else ""
        assert re.fullmatch(f"{path}{wanted}", url), url
    listing = ServerListing(configuration=digest_of_api(section), tools=found.tools)
    known = CAPABILITIES.model_copy(update={"server_listings": {"it": listing}})
    plan = compile_sources([SourceText("team.yml", TEAM)], known, name="all").plan
    assert len(plan.tools) == published.operations
