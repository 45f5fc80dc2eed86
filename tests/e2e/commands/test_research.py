"""`coterie run research` by the real SDKs, against a server that others wrote.

A proxy before that server refuses what the vendors refuse of histories with tools, and reports as
cached what it has seen before, byte for byte.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

from coterie.activities.tool_functions.knowledge.retriever import parts_of, readme_of, source_of
from coterie.activities.tool_functions.knowledge.stores import INDEX_FILE, opened
from tests.support.project import Project, project
from tests.support.servers.asking import APIS, section
from tests.support.servers.checking_proxy import CheckingProxy, checking_proxy
from tests.support.servers.model_server import ModelServer
from tests.support.servers.research_model import ANSWER, play

PRICES = {"m": {"input": 1000, "output": 0, "cached": 100, "cache_write": 1000}}


async def test_research_runs_by_each_api_and_every_turn_finds_its_beginning_in_the_cache(
    tmp_path: Path, model_server: ModelServer
) -> None:
    play(model_server)
    with project(tmp_path / "invoicing") as made:
        await asyncio.to_thread(index, made.folder)
        await asyncio.to_thread(verify_without_key, made)
        for api in APIS:
            async with checking_proxy(model_server.url) as proxy:
                report = await asyncio.to_thread(researched, made, api, proxy)
            verify(api, proxy, report)


def index(folder: Path) -> None:
    """Index the documentation that the team searches: of each part only two passages, to be fast.

    What is indexed counts as whole, so the tool function does not do it again.
    """
    source, file = source_of("temporalio"), folder / ".coterie" / INDEX_FILE
    with opened(file, "test") as store:
        for part in parts_of(readme_of("temporalio")):
            store.put(source, part.path, part.digest, 0.0, part.chunks[:2])


def verify_without_key(made: Project) -> None:
    """Without a model and its key, the shipped script answers by the real tools."""
    question = "What does an invoice of 60 pens at 1.25 cost, with a tax rate of 0.19?"
    done = made.coterie("run", "research", "--set", f"question={question}")
    assert done.returncode == 0, (done.stderr, done.stdout)
    assert "80.33" in done.stdout


def researched(made: Project, api: str, proxy: CheckingProxy) -> Any:
    """Run the team by one API, and return what the run cost."""
    provider = {**section(api, proxy.url), "api_key_env": "STAND_IN", "prices": PRICES}
    made.environment["STAND_IN"] = "sk-0123456789abcdef"
    made.configure(llm_config={"providers": {"own": provider}})
    question = "What do 60 pens cost, and how do I run blocking code in an activity?"
    given = ("--set", f"question={question}", "--id", api, "--model", "own/m")
    done = made.coterie("run", "research", *given)
    assert done.returncode == 0, (done.stderr, done.stdout, proxy.faults)
    assert str(ANSWER["answer"]) in done.stdout
    return json.loads(made.coterie("cost", api, "--json").stdout)


def verify(api: str, proxy: CheckingProxy, report: Any) -> None:
    assert proxy.faults == []
    first = {"anthropic": 1, "openai": 2, "responses": 1}[api]  # 2: the system prompt is a message
    whole = [len(body[APIS[api].turns]) for body in proxy.bodies]
    # three turns of the researcher, the subagent's only one, and the answer
    assert proxy.repeated == [0, whole[0], whole[1], 0, whole[2]]
    assert whole[0] == whole[3] == first
    cached = proxy.cache.cached
    assert cached[1:3] == proxy.cache.given[0:2]
    assert cached[4] == proxy.cache.given[2]
    (model,) = report["models"]
    assert model["input_tokens"] == sum(proxy.cache.given)
    assert model["cached_tokens"] == sum(cached) > 0
    price = (sum(proxy.cache.given) - sum(cached)) / 1000 + sum(cached) / 10_000
    assert abs(report["total"]["cost"] - price) < 0.001
