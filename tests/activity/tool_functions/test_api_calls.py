"""Operations of an HTTP API are called at a real server: what it gets, what its answers mean."""

import gzip
from collections.abc import Generator, Mapping
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError

from coterie.activities.contracts import FailureType, FunctionRequest, FunctionResult
from coterie.activities.tool_functions.apis.api_calls import MAX_BYTES
from coterie.activities.tool_functions.apis.api_function import Apis, HttpApi
from coterie.activities.tool_functions.function_activity import FunctionActivities
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.function_failures import FunctionRefusal
from coterie.activities.workspace.web_access import WebAccess
from coterie.dsl.apis.openapi_operations import operations_of
from coterie.dsl.apis.openapi_reading import read_api_document
from coterie.dsl.apis.request_building import BuiltRequest
from coterie.dsl.model.capabilities import ServerListing
from coterie.dsl.model.sections.api_document import ApiSection
from coterie.dsl.model.sections.mcp_document import digest_of_tool
from coterie.dsl.values import Json
from tests.support.servers.http_api import Answer, HttpServer, http_server
from tests.support.tool_functions import environment

SHOP = """
openapi: 3.1.0
paths:
  /books:
    get:
      operationId: find
      parameters: [{ name: words, in: query, schema: { type: array, items: { type: string } } }]
    post:
      operationId: order
      requestBody: { required: true, content: { application/json: { schema: { type: object,
        properties: { book: { type: string } }, required: [book] } } } }
  /books/{id}:
    parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
    get: { operationId: read }
    head: { operationId: look }
    delete: { operationId: remove }
"""
CALLS = {
    "price": {
        "path": "/prices/{id}",
        "query": {"currency": "EUR"},
        "result": "data.0.price",
        "output_schema": {"type": "number"},
    }
}
SECRETS = {"TOKEN": "secret-token-1", "KEY": "secret-key-2", "PAIR": "ann:secret-word"}


@pytest.fixture
def server() -> Generator[HttpServer]:
    with http_server() as running:
        yield running


class Shop:
    """The API of a test, called as a run does."""

    def __init__(self, server: HttpServer, folder: Path, section: Mapping[str, object]) -> None:
        self.section = ApiSection.model_validate(
            {"server": f"{server.url}/v1", "openapi": "shop.yaml", "calls": CALLS, **section}
        )
        document = read_api_document(SHOP, "shop.yaml")
        tools = operations_of(document, self.section.server).tools
        self.listings = {"shop": ServerListing(configuration="", tools=tools)}
        self.access = WebAccess(private_hosts=(f"127.0.0.1:{server.port}",))
        self.values: Mapping[str, str] = SECRETS
        self._folder = folder

    def apis(self) -> Apis:
        api = HttpApi("shop", self.section, self.values, self.access)
        return Apis({"shop": api}, lambda: self.listings)

    def digest(self, operation: str) -> str:
        tool = self.apis().operation("shop", operation)
        assert tool is not None
        return digest_of_tool(tool)

    async def call(
        self, operation: str, input: Json | None = None, *, listing: str = "", attempt: int = 1
    ) -> FunctionResult:
        activities = FunctionActivities(Workspace(self._folder), apis=self.apis())
        request = FunctionRequest(
            skill=f"shop/{operation}",
            input=input,
            key="run/1/step#1",
            listing=listing or self.digest(operation),
        )
        return await environment(attempt).run(activities.call_function, request)

    async def failure(self, operation: str, input: Json | None = None) -> ApplicationError:
        with pytest.raises(ApplicationError) as caught:
            await self.call(operation, input)
        return caught.value


@pytest.fixture
def shop(server: HttpServer, tmp_path: Path) -> Shop:
    return Shop(server, tmp_path, {})


async def test_arguments_reach_the_server_and_its_answer_is_the_result(
    shop: Shop, server: HttpServer
) -> None:
    server.will_answer({"books": [1, 2]})
    found = await shop.call("find", {"words": ["a b", "c&d"]})
    assert found.data == {"books": [1, 2]}
    await shop.call("read", {"id": "x/1"})
    server.answers.append(Answer(201, '{"id": 7}'))
    ordered = await shop.call("order", {"body": {"book": "ä"}})
    assert ordered.data == {"id": 7}
    server.answers.append(Answer(204, "", ""))
    assert (await shop.call("remove", {"id": "7"})).data is None
    assert [(one.method, one.target, one.body) for one in server.came] == [
        ("GET", "/v1/books?words=a%20b&words=c%26d", ""),
        ("GET", "/v1/books/x%2F1", ""),
        ("POST", "/v1/books", '{"book":"ä"}'),
        ("DELETE", "/v1/books/7", ""),
    ]


async def test_a_declared_call_returns_the_part_of_the_answer_that_it_names(
    shop: Shop, server: HttpServer
) -> None:
    server.will_answer({"data": [{"price": 9.5}]})
    assert (await shop.call("price", {"id": "7"})).data == 9.5
    assert server.came[0].target == "/v1/prices/7?currency=EUR"
    server.will_answer({"data": []})
    assert "has no 'data.0.price'" in str(await shop.failure("price", {"id": "7"}))
    server.will_answer({"data": [{"price": "much"}]})
    assert "violates its contract" in str(await shop.failure("price", {"id": "7"}))


async def test_a_text_is_a_result_and_headers_are_that_of_head(
    shop: Shop, server: HttpServer
) -> None:
    server.answers.append(
        Answer(200, "ein Wort: \xe4".encode("latin-1"), "text/plain; charset=latin-1")
    )
    assert (await shop.call("read", {"id": "1"})).data == "ein Wort: ä"
    server.answers.append(Answer(200, "", "text/plain", {"etag": "abc", "set-cookie": "a=b"}))
    looked = (await shop.call("look", {"id": "1"})).data
    assert looked == {"content-length": "0", "content-type": "text/plain", "etag": "abc"}


@pytest.mark.parametrize(
    ("section", "headers", "target"),
    [
        ({"token_env": "TOKEN"}, {"authorization": "Bearer secret-token-1"}, "/v1/books"),
        ({"basic_env": "PAIR"}, {"authorization": "Basic YW5uOnNlY3JldC13b3Jk"}, "/v1/books"),
        ({"headers": {"X-Key": "KEY"}}, {"x-key": "secret-key-2"}, "/v1/books"),
        ({"query": {"key": "KEY"}}, {}, "/v1/books?key=secret-key-2"),
        ({"cookies": {"s": "KEY"}}, {"cookie": "s=secret-key-2"}, "/v1/books"),
    ],
)
async def test_a_request_proves_who_calls_and_no_answer_repeats_it(
    server: HttpServer,
    tmp_path: Path,
    section: dict[str, object],
    headers: dict[str, str],
    target: str,
) -> None:
    shop = Shop(server, tmp_path, section)
    server.will_answer({"echo": [*SECRETS.values()]})
    result = await shop.call("find")
    assert headers.items() <= server.came[0].headers.items()
    assert server.came[0].target == target
    used = [SECRETS[name] for name in shop.section.secrets]
    assert not any(value in result.model_dump_json() for value in used)
    server.answers.append(Answer(400, f"no such {' '.join(SECRETS.values())}", "text/plain"))
    failed = await shop.failure("find")
    assert not any(value in str(failed) for value in used)


async def test_a_secret_that_the_worker_lacks_is_named(server: HttpServer, tmp_path: Path) -> None:
    shop = Shop(server, tmp_path, {"token_env": "TOKEN"})
    shop.values = {}
    failed = await shop.failure("find")
    assert "the API 'shop' needs TOKEN, which this worker's environment lacks" in str(failed)
    assert server.came == []


@pytest.mark.parametrize(
    ("operation", "answer", "type", "retries", "said"),
    [
        ("read", Answer(404, '{"why": "gone"}'), "FunctionRefused", False, '404: {"why": "gone"}'),
        ("order", Answer(422, "no", "text/plain"), "FunctionRefused", False, "status 422: no"),
        ("read", Answer(500, "oh"), "FunctionFailed", True, "status 500: oh"),
        ("read", Answer(429, ""), "FunctionFailed", True, "status 429"),
        ("order", Answer(429, ""), "FunctionFailed", True, "status 429"),
        ("order", Answer(503, ""), "OutcomeUnknown", False, "status 503"),
        ("order", None, "OutcomeUnknown", False, "cannot be read"),
        ("read", None, "FunctionFailed", True, "cannot be read"),
        ("read", Answer(302, "", headers={"location": "http://127.0.0.1:1/"}), "FunctionFailed",
            False, "status 302, and no call follows a redirect"),
        ("read", Answer(200, "x", "image/png"), "FunctionFailed", False, "the type 'image/png'"),
        ("order", Answer(200, "x", "image/png"), "OutcomeUnknown", False, "has happened, but"),
        ("read", Answer(200, "{"), "FunctionFailed", False, "answered with no JSON"),
        ("read", Answer(200, gzip.compress(b" " * (MAX_BYTES + 1)), "text/plain",
            {"content-encoding": "gzip"}), "FunctionFailed", False, f"more than {MAX_BYTES} bytes"),
    ],
)  # fmt: skip
async def test_each_answer_means_what_the_effect_allows(
    shop: Shop,
    server: HttpServer,
    operation: str,
    answer: Answer | None,
    type: str,
    retries: bool,
    said: str,
) -> None:
    server.answers.append(answer)
    input: Json = {"body": {"book": "a"}} if operation == "order" else {"id": "1"}
    failed = await shop.failure(operation, input)
    assert (failed.type, failed.non_retryable) == (type, not retries)
    assert said in failed.message
    assert len(server.came) == 1


async def test_a_server_that_is_down_has_done_nothing(shop: Shop, tmp_path: Path) -> None:
    with http_server() as gone:
        lost = Shop(gone, tmp_path, {})
    failed = await lost.failure("order", {"body": {"book": "a"}})
    assert (failed.type, failed.non_retryable) == (FailureType.FUNCTION_FAILED, False)


async def test_a_private_address_is_refused_unless_the_worker_names_it(
    shop: Shop, server: HttpServer
) -> None:
    shop.access = WebAccess()
    failed = await shop.failure("find")
    assert failed.type == FailureType.FUNCTION_REFUSED
    assert "worker.web.private_hosts" in failed.message
    assert server.came == []


@pytest.mark.parametrize("input", [{}, {"id": 7}, {"id": "1", "more": 1}, {"id": ".."}, {"id": ""}])
async def test_arguments_that_do_not_fit_are_refused_before_anything_is_sent(
    shop: Shop, server: HttpServer, input: Json
) -> None:
    failed = await shop.failure("read", input)
    assert failed.type == FailureType.FUNCTION_REFUSED
    assert server.came == []


async def test_an_operation_that_has_changed_is_refused_with_what_it_is_now(
    shop: Shop, server: HttpServer, tmp_path: Path
) -> None:
    pinned = shop.digest("read")
    changed = SHOP.replace("/books/{id}", "/volumes/{id}")
    tools = operations_of(read_api_document(changed, "shop.yaml"), shop.section.server).tools
    shop.listings = {"shop": ServerListing(configuration="", tools=tools)}
    with pytest.raises(ApplicationError) as caught:
        await shop.call("read", {"id": "1"}, listing=pinned)
    assert caught.value.type == FailureType.TOOL_CHANGED
    assert "it is now GET /volumes/{id}" in caught.value.message
    activities = FunctionActivities(Workspace(tmp_path), apis=shop.apis())
    request = FunctionRequest(skill="shap/read", key="run/1/step#1", listing=pinned)
    with pytest.raises(ApplicationError) as caught:
        await environment().run(activities.call_function, request)
    assert "has no API or MCP server 'shap'; its configuration has shop" in caught.value.message
    shop.listings = {}
    with pytest.raises(ApplicationError) as caught:
        await shop.call("read", {"id": "1"}, listing=pinned)
    assert "coterie tools refresh shop" in caught.value.message
    assert server.came == []


async def test_a_key_tells_the_server_which_call_is_repeated(
    server: HttpServer, tmp_path: Path
) -> None:
    shop = Shop(server, tmp_path, {"tools": {"order": {"key_header": "Idempotency-Key"}}})
    for attempt in (1, 2):  # the effect is idempotent, so a second attempt may call
        await shop.call("order", {"body": {"book": "a"}}, attempt=attempt)
    assert [one.headers["idempotency-key"] for one in server.came] == ["run/1/step#1"] * 2


async def test_a_call_that_may_happen_once_has_no_second_attempt(
    shop: Shop, server: HttpServer
) -> None:
    with pytest.raises(ApplicationError, match="its first attempt was lost"):
        await shop.call("order", {"body": {"book": "a"}}, attempt=2)
    assert server.came == []


@pytest.mark.parametrize(
    ("section", "secret", "why"),
    [
        ({"headers": {"X-Key": "KEY"}}, "päss€", "has KEY in a header"),
        ({"token_env": "KEY"}, "line\n", "has KEY in a header"),
        ({"cookies": {"s": "KEY"}}, "ключ", "has KEY in a header"),
        ({"query": {"key": "KEY"}}, "\udc80", "KEY, whose value here is no UTF-8"),
        ({"basic_env": "KEY"}, "ann:\udc80", "KEY, whose value here is no UTF-8"),
    ],
)
def test_a_secret_that_cannot_be_sent_is_refused_with_its_name(
    section: dict[str, object], secret: str, why: str
) -> None:
    whole = ApiSection.model_validate({"server": "https://a.example", "calls": CALLS, **section})
    with pytest.raises(FunctionRefusal, match=why) as caught:
        HttpApi("shop", whole, {"KEY": secret}).proven(BuiltRequest("GET", "/", {}, None))
    assert secret.strip() not in str(caught.value)


def test_a_secret_takes_the_place_of_a_header_in_another_letter_case() -> None:
    whole = ApiSection.model_validate(
        {"server": "https://a.example", "calls": CALLS, "headers": {"X-Key": "KEY"}}
    )
    request = BuiltRequest("GET", "/", {"x-key": "mine"}, None)
    assert HttpApi("shop", whole, {"KEY": "theirs"}).proven(request).headers == {"X-Key": "theirs"}
