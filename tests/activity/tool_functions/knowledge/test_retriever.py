"""Indexing texts and finding their passages: by meaning, by name, again only what changed."""

import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from coterie.activities.contracts import FailureType
from coterie.activities.tool_functions.knowledge.chunk_store import fused
from coterie.activities.tool_functions.knowledge.chunks import MAX_CHARS, Chunk, chunks_of
from coterie.activities.tool_functions.knowledge.embedding import embedder
from coterie.activities.tool_functions.knowledge.knowledge_index import Indexed, update_index
from coterie.activities.tool_functions.knowledge.retriever import index_package
from coterie.activities.tool_functions.knowledge.stores import INDEX_FILE, opened
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.globs import Globs
from coterie.dsl.values import Json
from tests.support.tool_functions import call, refusal

TEXTS = {
    "shipping.md": "# Shipping\n\nParcels arrive after two working days.\n",
    "refunds.md": "# Refunds\n\nWe return the money if a customer sends goods back in time.\n",
    "cart.py": "def total_price(items):\n    return sum(item.price for item in items)\n",
    "staff/holidays.md": "# Holidays\n\nEverybody has thirty days of vacation in a year.\n",
    "logo.bin": "\0",
    "empty.md": "\n\n",
    ".env": "KEY=1\n",
}


def write(folder: Path, texts: Mapping[str, str]) -> None:
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def index(
    root: Path, folder: Path, source: str = "shop", include: tuple[str, ...] = ()
) -> tuple[Indexed, list[str]]:
    embedded: list[str] = []

    def note(path: str, number: int, count: int) -> None:
        embedded.append(path)

    workspace = Workspace(root)
    with opened(workspace.state_dir / INDEX_FILE, "test") as store:
        done = update_index(
            *(store, folder, source, Globs.of(include, ())),
            *(workspace.state_dir, 1000.0, note),
        )
    return done, embedded


async def found(root: Path, query: str, **more: JsonValue) -> list[Json]:
    data = await call(Workspace(root), "Retriever.search", {"query": query, **more})
    return cast("list[Json]", cast("Json", data)["passages"])


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    write(tmp_path / "texts", TEXTS)
    index(tmp_path, tmp_path / "texts")
    return tmp_path


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("How long does delivery take?", "shipping.md"),
        ("Can I get my cash back?", "refunds.md"),
        ("How many vacation days do employees get?", "staff/holidays.md"),
        ("total_price", "cart.py"),
    ],
)
async def test_the_passage_that_means_the_same_comes_first(
    corpus: Path, query: str, path: str
) -> None:
    passages = await found(corpus, query, top_k=3)
    scores = [cast("float", one["score"]) for one in passages]
    assert passages[0]["path"] == path
    assert len(passages) == 3
    assert all(0 <= score <= 1 for score in scores)


@pytest.mark.parametrize("code", ["ERR_4711", "ERR_4712"])
async def test_a_literal_identifier_decides_between_texts_that_mean_the_same(
    tmp_path: Path, code: str
) -> None:
    """The vectors alone prefer one of the two texts for both."""
    texts = {
        "ERR_4711": "ERR_4711: the printer has no paper.",
        "ERR_4712": "ERR_4712: the printer has no paper.",
    }
    write(tmp_path / "texts", {f"{name}.md": text for name, text in texts.items()})
    index(tmp_path, tmp_path / "texts")
    passages = await found(tmp_path, f"{code} printer", top_k=2)
    assert passages[0]["path"] == f"{code}.md"


async def test_a_passage_has_its_place_heading_and_text(corpus: Path) -> None:
    (passage,) = await found(corpus, "When do parcels arrive?", top_k=1)
    assert cast("float", passage.pop("score")) > 0.5
    assert passage == {
        "source": "shop",
        "path": "shipping.md",
        "start_line": 1,
        "end_line": 3,
        "title": "Shipping",
        "text": "# Shipping\n\nParcels arrive after two working days.",
    }


async def test_results_are_bounded_by_score_and_source(corpus: Path) -> None:
    write(corpus / "other", {"a.md": "Parcels arrive late.\n"})
    index(corpus, corpus / "other", "other")
    passages = await found(corpus, "When do parcels arrive?", sources=["other"])
    assert [one["source"] for one in passages] == ["other"]
    assert await found(corpus, "When do parcels arrive?", min_score=0.999) == []


@pytest.mark.parametrize("query", ['a"b', "foo AND", "*", "x:y", "(", "NEAR(", "-", "'; drop"])
async def test_any_text_is_a_query(corpus: Path, query: str) -> None:
    assert len(await found(corpus, query)) > 0


def test_only_files_that_changed_are_embedded_again(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    write(folder, TEXTS)
    done, embedded = index(tmp_path, folder)
    assert (done.added, done.unchanged, done.removed, done.skipped) == (4, 0, 0, 3)
    assert embedded == ["cart.py", "refunds.md", "shipping.md", "staff/holidays.md"]
    write(folder, {"shipping.md": "# Shipping\n\nParcels arrive tomorrow.\n"})
    (folder / "refunds.md").unlink()
    done, embedded = index(tmp_path, folder)
    assert (done.added, done.unchanged, done.removed) == (1, 2, 1)
    assert embedded == ["shipping.md"]
    done, embedded = index(tmp_path, folder, include=("*.py",))
    assert (done.unchanged, done.removed, embedded) == (1, 2, [])


async def test_a_changed_text_replaces_its_passages(corpus: Path) -> None:
    write(corpus / "texts", {"shipping.md": "# Shipping\n\nParcels arrive tomorrow.\n"})
    (corpus / "texts/refunds.md").unlink()
    index(corpus, corpus / "texts")
    texts = [str(one["text"]) for one in await found(corpus, "parcels refunds money", top_k=20)]
    assert sum("Parcels" in text for text in texts) == 1
    assert not any("money" in text for text in texts)


async def test_nothing_indexed_names_the_command(tmp_path: Path) -> None:
    error = await refusal(Workspace(tmp_path), "Retriever.search", {"query": "x"})
    assert (error.type, error.non_retryable) == (FailureType.FUNCTION_FAILED, True)
    assert error.message == "nothing is indexed here; run `coterie index PATH` first"


def test_the_same_text_always_has_the_same_vector() -> None:
    first, second = embedder().embed("two words"), embedder().embed("two words")
    assert (first, len(first)) == (second, 384 * 4)


def test_rankings_are_joined_by_weight_and_ties_are_stable() -> None:
    assert fused([1, 2, 3], [3, 4], (3.0, 1.0)) == [3, 1, 2, 4]
    assert fused([1, 2], [9], (1.0, 3.0)) == [9, 1, 2]
    assert fused([2], [1], (1.0, 1.0)) == [1, 2]


def test_chunks_are_whole_lines_and_keep_every_word() -> None:
    lines = [f"word{number} " + "x" * 90 for number in range(100)]
    text = "# First\n\n" + "\n".join(lines[:60]) + "\n\nSecond\n------\n" + "\n".join(lines[60:])
    chunks = list(chunks_of(text))
    assert all(len(one.text) <= MAX_CHARS + 200 for one in chunks)
    assert {one.title for one in chunks} == {"First", "Second"}
    joined = "\n".join(one.text for one in chunks)
    assert all(line in joined for line in lines)
    for before, after in pairwise(chunks):
        assert before.start_line <= before.end_line < after.start_line
    for one in chunks:
        assert one.text == "\n".join(text.splitlines()[one.start_line - 1 : one.end_line])


def test_a_comment_in_a_code_block_is_no_heading() -> None:
    text = "# Title\n\n```sh\n# a comment\nrun\n```\n\n## Next\n\nText\n"
    assert [one.title for one in chunks_of(text)] == ["Title", "Next"]


def test_a_line_longer_than_a_chunk_is_cut() -> None:
    assert [len(one.text) for one in chunks_of("y" * 4500)] == [2000, 2000, 500]
    assert list(chunks_of(" \n\n")) == []


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package; returns the file with its README."""
    file = tmp_path / "site" / "sun_watch-1.0.dist-info" / "METADATA"
    file.parent.mkdir(parents=True)
    file.write_text(README)
    monkeypatch.setattr(sys, "path", [str(file.parent.parent), *sys.path])
    return file


README = """Metadata-Version: 2.1
Name: sun-watch
Version: 1.0

# Sun Watch

`rise(place)` tells when the day begins.
"""


async def test_the_documentation_of_an_installed_package_is_found_without_an_index(
    tmp_path: Path, package: Path
) -> None:
    (first,) = await found(tmp_path, "When does the sun come up?", packages=["sun_watch"])
    assert (first["source"], first["path"], first["start_line"]) == (
        "package sun-watch",
        "README",
        1,
    )
    write(package.parent, {"METADATA": README.replace("day begins", "sun comes up")})
    (again,) = await found(tmp_path, "sun", packages=["Sun.Watch"])
    assert "sun comes up" in str(again["text"])


def test_a_long_readme_is_indexed_in_parts_and_continued(package: Path) -> None:
    sections = "\n".join(f"# Part {number}\n\nText {number}.\n" for number in range(25))
    package.write_text(README + sections)
    store = Parts(2)
    with pytest.raises(InterruptedError):
        index_package(store, "sun-watch")
    assert list(store.known) == ["README/1", "README/2"]
    store.left = 99
    index_package(store, "sun-watch")
    assert store.put_paths == ["README/1", "README/2", "README/3"]
    package.write_text(README)
    index_package(store, "sun-watch")
    assert list(store.known) == ["README/1"]


class Parts:
    """A store that is interrupted after so many documents."""

    def __init__(self, left: int) -> None:
        self.left = left
        self.known: dict[str, str] = {}
        self.put_paths: list[str] = []

    def digests(self, source: str) -> dict[str, str]:
        return dict(self.known)

    def put(
        self, source: str, path: str, digest: str, added: float, chunks: Sequence[Chunk]
    ) -> None:
        if not self.left:
            raise InterruptedError
        self.left -= 1
        self.known[path] = digest
        self.put_paths.append(path)

    def remove(self, source: str, path: str) -> bool:
        return self.known.pop(path, None) is not None


async def test_a_package_that_is_missing_or_says_nothing_is_named(
    tmp_path: Path, package: Path
) -> None:
    given: Json = {"query": "sun", "packages": ["moon-watch"]}
    error = await refusal(Workspace(tmp_path), "Retriever.search", given)
    assert error.type == FailureType.FUNCTION_FAILED
    assert "the package 'moon-watch' is not installed on this worker" in error.message
    write(package.parent, {"METADATA": README.partition("#")[0]})
    error = await refusal(
        Workspace(tmp_path), "Retriever.search", {"query": "sun", "packages": ["sun-watch"]}
    )
    assert "the package 'sun-watch' carries no documentation" in error.message
    error = await refusal(
        Workspace(tmp_path), "Retriever.search", {"query": "sun", "packages": ["../sun"]}
    )
    assert error.type == FailureType.FUNCTION_REFUSED
