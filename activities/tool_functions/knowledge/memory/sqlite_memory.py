"""Memories in one SQLite file of the worker's state, searched by sqlite-vec and full text.

A search compares all vectors of the one memory, so it misses nothing, and what others remember
cannot push an entry out of the candidates.
"""

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import cast

from coterie.activities.tool_functions.knowledge.embedding import MODEL
from coterie.activities.tool_functions.knowledge.memory.memory_store import (
    MAX_ENTRIES,
    MAX_SWEPT,
    MAX_TOPICS,
    Embed,
    FoundMemory,
    ListedMemory,
    MemoryFilter,
    NewMemory,
    Owner,
    StoreReceipt,
    TooManyTopics,
)
from coterie.activities.tool_functions.knowledge.ranking import (
    CANDIDATES,
    fused,
    similarity,
    text_to_embed,
    weights_of,
    words_of,
)
from coterie.activities.tool_functions.knowledge.sqlite_file import (
    SqliteFile,
    SqlValue,
    open_sqlite,
)
from coterie.activities.workspace.function_failures import FunctionFailure
from coterie.dsl.model.memory_terms import MemoryScope

_MIGRATIONS = (
    (
        "create table entries (id integer primary key, scope text not null, owner text not null, "
        "topic text not null, name text not null, digest text not null, model text not null, "
        "text text not null, stored real not null, expires real, untrusted integer not null, "
        "run text not null, unique (scope, owner, topic, name))",
        "create index entries_expiry on entries (expires) where expires is not null",
        "create table chunks (id integer primary key, entry integer not null, text text not null, "
        "embedding blob not null)",
        "create index chunks_of_entries on chunks (entry)",
        "create virtual table words using fts5 (title, text, content='', contentless_delete=1, "
        "tokenize='porter unicode61')",
    ),
)
"""The statements that lead to each version of the schema; a released one never changes."""

_LIVE = (
    "e.scope = ? and e.owner = ? and (e.expires is null or e.expires > ?) "
    "and (? or e.topic in (select value from json_each(?)))"
)
_BY_MEANING = (
    f"select c.id from chunks c join entries e on e.id = c.entry where {_LIVE} and e.model = ? "
    "order by vec_distance_cosine(c.embedding, ?), c.id limit ?"
)
_BY_WORDS = (
    "select c.id from words join chunks c on c.id = words.rowid join entries e on e.id = c.entry "
    f"where words match ? and {_LIVE} order by bm25(words, 3.0, 1.0), c.id limit ?"
)
_CHOSEN = (
    "(?1 is null or scope = ?1) and (?2 is null or owner = ?2) and (?3 is null or topic = ?3) "
    "and (?4 or name in (select value from json_each(?5)))"
)


class SqliteMemory:
    """One open file."""

    def __init__(self, file: SqliteFile, location: str, embed: Embed) -> None:
        self._file = file
        self._embed = embed
        self.location = location

    def put(self, owner: Owner, entry: NewMemory) -> StoreReceipt:
        """Store an entry in place of the one with its id, all or nothing; drop expired ones."""
        same = self._digest(owner, entry) == (entry.digest, MODEL)
        vectors = [] if same else self._vectors(entry)
        with self._file.writing():
            self._sweep(entry.stored)
            before = self._digest(owner, entry)
            if before is None:
                self._check_topics(owner, entry)
            if before != (entry.digest, MODEL):
                self._write(owner, entry, vectors or self._vectors(entry))
            self._file.rows(
                "update entries set stored = ?, expires = ?, untrusted = ?, run = ? "
                "where scope = ? and owner = ? and topic = ? and name = ?",
                *(entry.stored, entry.expires, int(entry.untrusted), entry.run),
                *(*owner, entry.topic, entry.id),
            )
            old = self._ids(
                "select id from entries where scope = ? and owner = ? and topic = ? "
                "order by stored desc, id desc limit -1 offset ?",
                *(*owner, entry.topic, MAX_ENTRIES),
            )
            self._delete(old)
        return StoreReceipt(replaced=before is not None, forgotten=len(old))

    def search(
        self, owner: Owner, query: str, topics: Sequence[str], limit: int, now: float
    ) -> list[FoundMemory]:
        """Return the entries of a memory that fit a query, the best first."""
        vector = self._embed(query)
        live = (*owner, now, int(not topics), json.dumps(topics))
        quoted = " OR ".join(f'"{word}"' for word in words_of(query))
        with self._file.transaction():  # one snapshot
            by_meaning = self._ids(_BY_MEANING, *live, MODEL, vector, CANDIDATES)
            by_words = self._ids(_BY_WORDS, quoted, *live, CANDIDATES) if quoted else []
            ranked = fused(by_meaning, by_words, weights_of(query))
            found = self._read_chunks(ranked, vector)
        best: dict[tuple[str, str], FoundMemory] = {}
        for chunk in ranked:
            best.setdefault((found[chunk].topic, found[chunk].id), found[chunk])
        return list(islice(best.values(), limit))

    def entries(self, chosen: MemoryFilter, limit: int, now: float) -> list[ListedMemory]:
        """Return entries, the newest first."""
        rows = self._file.rows(
            "select scope, owner, topic, name, text, stored, expires, untrusted, run from entries "
            f"where {_CHOSEN} and (expires is not null and expires <= ?6) = ?7 "
            "order by stored desc, id desc limit ?8",
            *(*_bindings(chosen), now, int(chosen.expired), limit),
        )
        return [
            ListedMemory(
                Owner(cast("MemoryScope", scope), str(name)),
                *(str(topic), str(id), str(text), cast("float", stored)),
                *(cast("float | None", expires), bool(untrusted), str(run)),
            )
            for scope, name, topic, id, text, stored, expires, untrusted, run in rows
        ]

    def forget(self, chosen: MemoryFilter, now: float) -> int:
        """Delete entries for good; return their number."""
        with self._file.writing():
            ids = self._ids(
                f"select id from entries where {_CHOSEN} "
                "and (not ?6 or (expires is not null and expires <= ?7))",
                *(*_bindings(chosen), int(chosen.expired), now),
            )
            self._delete(ids)
            if ids:  # else the index keeps the words until it merges its parts
                self._file.rows("insert into words (words) values ('optimize')")
        self._file.rows("pragma wal_checkpoint(truncate)")
        return len(ids)

    def _digest(self, owner: Owner, entry: NewMemory) -> tuple[str, str] | None:
        """Return what an entry holds, and the model of its vectors."""
        rows = self._file.rows(
            "select digest, model from entries where scope = ? and owner = ? and topic = ? "
            "and name = ?",
            *(*owner, entry.topic, entry.id),
        )
        return (str(rows[0][0]), str(rows[0][1])) if rows else None

    def _vectors(self, entry: NewMemory) -> list[bytes]:
        return [self._embed(text_to_embed(chunk)) for chunk in entry.chunks]

    def _check_topics(self, owner: Owner, entry: NewMemory) -> None:
        ((others,),) = self._file.rows(
            "select count(distinct topic) from entries where scope = ? and owner = ? "
            "and topic <> ? and (expires is null or expires > ?)",
            *(*owner, entry.topic, entry.stored),
        )
        if cast("int", others) >= MAX_TOPICS:
            raise TooManyTopics

    def _write(self, owner: Owner, entry: NewMemory, vectors: Sequence[bytes]) -> None:
        self._delete(
            self._ids(
                "select id from entries where scope = ? and owner = ? and topic = ? and name = ?",
                *(*owner, entry.topic, entry.id),
            )
        )
        number = self._file.insert(
            "insert into entries (scope, owner, topic, name, digest, model, text, stored, "
            "untrusted, run) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(*owner, entry.topic, entry.id, entry.digest, MODEL, entry.text, entry.stored),
            *(int(entry.untrusted), entry.run),
        )
        for chunk, vector in zip(entry.chunks, vectors, strict=True):
            chunk_id = self._file.insert(
                "insert into chunks (entry, text, embedding) values (?, ?, ?)",
                *(number, chunk.text, vector),
            )
            self._file.rows(
                "insert into words (rowid, title, text) values (?, ?, ?)",
                *(chunk_id, chunk.title, chunk.text),
            )

    def _sweep(self, now: float) -> None:
        self._delete(
            self._ids(
                "select id from entries where expires is not null and expires <= ? limit ?",
                *(now, MAX_SWEPT),
            )
        )

    def _delete(self, ids: Sequence[int]) -> None:
        for id in ids:
            self._file.rows(
                "delete from words where rowid in (select id from chunks where entry = ?)", id
            )
            self._file.rows("delete from chunks where entry = ?", id)
            self._file.rows("delete from entries where id = ?", id)

    def _read_chunks(self, chunks: Sequence[int], vector: bytes) -> dict[int, FoundMemory]:
        rows = self._file.rows(
            "select c.id, e.topic, e.name, c.text, e.stored, "
            "case when e.model = ? then 1 - vec_distance_cosine(c.embedding, ?) else 0.0 end "
            "from chunks c join entries e on e.id = c.entry "
            "where c.id in (select value from json_each(?))",
            *(MODEL, vector, json.dumps(chunks)),
        )
        return {
            cast("int", chunk): FoundMemory(
                *(str(topic), str(id), str(text), cast("float", stored)),
                similarity(cast("float", score)),
            )
            for chunk, topic, id, text, stored, score in rows
        }

    def _ids(self, statement: str, *values: SqlValue) -> list[int]:
        return [cast("int", row[0]) for row in self._file.rows(statement, *values)]


def _bindings(chosen: MemoryFilter) -> tuple[SqlValue, ...]:
    return (
        *(chosen.scope, chosen.name, chosen.topic),
        *(int(not chosen.ids), json.dumps(chosen.ids)),
    )


@contextmanager
def open_sqlite_memory(file: Path, embed: Embed) -> Generator[SqliteMemory]:
    """Open the memories of a file; create it if missing, and bring it to the latest schema.

    Raises:
        OSError: It cannot be reached now.
        FunctionFailure: It is damaged, or of a later version of Coterie.
    """
    with open_sqlite(file) as opened:
        opened.rows("pragma secure_delete = on")  # what is forgotten leaves the file
        _migrate(opened, file.name)
        yield SqliteMemory(opened, str(file), embed)


def _migrate(file: SqliteFile, name: str) -> None:
    latest = len(_MIGRATIONS)
    if _version(file) == latest:
        return
    with file.writing():
        version = _version(file)
        if version > latest:
            raise FunctionFailure(
                f"{name} of the worker has the schema {version}, and this version of Coterie knows "
                f"{latest}; upgrade Coterie"
            )
        for statements in _MIGRATIONS[version:]:
            for statement in statements:
                file.rows(statement)
        file.rows(f"pragma user_version = {latest}")


def _version(file: SqliteFile) -> int:
    ((version,),) = file.rows("pragma user_version")
    return cast("int", version)
