"""Memories in PostgreSQL with pgvector, which workers on several hosts share.

A search compares all vectors of the one memory: an approximate index finds the nearest of all
memories first, and may then find none of this one.
"""

import errno
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import islice

import numpy as np
from psycopg.errors import InsufficientPrivilege
from sqlalchemy import Connection, CursorResult, create_engine, text
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    OperationalError,
    SQLAlchemyError,
    TimeoutError,
)

from coterie.activities.tool_functions.knowledge.embedding import MODEL
from coterie.activities.tool_functions.knowledge.memory.memory_schema import upgrade
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
from coterie.activities.workspace.function_failures import FunctionFailure

_CONNECT_SECONDS = 10
_STATEMENT_MILLISECONDS = 30_000
_LOCK_MILLISECONDS = 20_000

_DRIVER = "postgresql+psycopg"

Value = str | int | float | bool | bytes | datetime | None | list[str] | list[int]

_OWNED = "project = :project and scope = :scope and owner = :owner"
_ENTRY = f"{_OWNED} and topic = :topic and name = :name"
_LIVE = (
    "e.project = :project and e.scope = :scope and e.owner = :owner "
    "and (e.expires is null or e.expires > :now) and (:all_topics or e.topic = any(:topics))"
)
_BY_MEANING = (
    "select c.id from coterie_memory_chunks c join coterie_memories e on e.id = c.entry "
    f"where {_LIVE} and e.model = :model "
    "order by c.embedding <=> cast(:vector as vector), c.id limit :limit"
)
_BY_WORDS = (
    "select c.id from coterie_memory_chunks c join coterie_memories e on e.id = c.entry "
    f"where {_LIVE} and c.words @@ to_tsquery('english', :words) "
    "order by ts_rank_cd(c.words, to_tsquery('english', :words)) desc, c.id limit :limit"
)
_CHOSEN = (
    "project = :project and (cast(:scope as text) is null or scope = :scope) "
    "and (cast(:owner as text) is null or owner = :owner) "
    "and (cast(:topic as text) is null or topic = :topic) and (:all_ids or name = any(:ids))"
)
_EXPIRED = "(expires is not null and expires <= :now)"
_FOUND = (
    "select c.id, e.topic, e.name, c.text, e.stored, case when e.model = :model "
    "then 1 - (c.embedding <=> cast(:vector as vector)) else 0 end "
    "from coterie_memory_chunks c join coterie_memories e on e.id = c.entry "
    "where c.id = any(:chunks)"
)


class PostgresMemory:
    """The memories of one project in a database."""

    def __init__(self, engine: Engine, project: str, embed: Embed) -> None:
        self._engine = engine
        self._project = project
        self._embed = embed

    @property
    def location(self) -> str:
        """The URL without its passwords, and the project."""
        known = self._engine.url
        secrets = [key for key in known.query if "password" in key]  # libpq takes them there too
        url = known.difference_update_query(secrets).render_as_string(hide_password=True)
        return f"{url} (project {self._project})"

    def put(self, owner: Owner, entry: NewMemory) -> StoreReceipt:
        """Store an entry in place of the one with its id, all or nothing; drop expired ones."""
        owned = self._owner_values(owner)
        named: dict[str, Value] = {**owned, "topic": entry.topic, "name": entry.id}
        with self._transaction() as connection:
            before = _digest(connection, named)
        vectors = [] if before == (entry.digest, MODEL) else self._vectors(entry)
        with self._transaction() as connection:
            _sweep(connection, entry.stored)
            before = _digest(connection, named, lock=True)
            if before is None:
                _check_topics(connection, named, entry.stored)
            id = _put_row(connection, named, entry)
            if before != (entry.digest, MODEL):
                _put_chunks(connection, id, entry, vectors or self._vectors(entry))
            forgotten = _evict(connection, named)
        return StoreReceipt(replaced=before is not None, forgotten=forgotten)

    def search(
        self, owner: Owner, query: str, topics: Sequence[str], limit: int, now: float
    ) -> list[FoundMemory]:
        """Return the entries of a memory that fit a query, the best first."""
        vector = _vector(self._embed(query))
        values: dict[str, Value] = {
            **self._owner_values(owner),
            "now": _time(now),
            "all_topics": not topics,
            "topics": list(topics),
            "limit": CANDIDATES,
        }
        words = " | ".join(words_of(query))
        with self._transaction() as connection:
            ids = partial(_ids, connection)
            by_meaning = ids(_BY_MEANING, {**values, "model": MODEL, "vector": vector})
            by_words = ids(_BY_WORDS, {**values, "words": words}) if words else []
            ranked = fused(by_meaning, by_words, weights_of(query))
            found = _read_chunks(connection, ranked, vector)
        best: dict[tuple[str, str], FoundMemory] = {}
        for memory in (found[chunk] for chunk in ranked if chunk in found):
            best.setdefault((memory.topic, memory.id), memory)
        return list(islice(best.values(), limit))

    def entries(self, chosen: MemoryFilter, limit: int, now: float) -> list[ListedMemory]:
        """Return entries, the newest first."""
        statement = (
            "select scope, owner, topic, name, text, stored, expires, untrusted, run "
            f"from coterie_memories where {_CHOSEN} and {_EXPIRED} = :expired "
            "order by stored desc, id desc limit :limit"
        )
        values = self._filter_values(chosen, now)
        with self._transaction() as connection:
            rows = connection.execute(
                text(statement), {**values, "expired": chosen.expired, "limit": limit}
            ).all()
        return [
            ListedMemory(
                *(Owner(scope, owner), topic, id, words, stored.timestamp()),
                *(None if expires is None else expires.timestamp(), untrusted, run),
            )
            for scope, owner, topic, id, words, stored, expires, untrusted, run in rows
        ]

    def forget(self, chosen: MemoryFilter, now: float) -> int:
        """Delete entries for good; return their number."""
        statement = f"delete from coterie_memories where {_CHOSEN} and (not :expired or {_EXPIRED})"
        values = self._filter_values(chosen, now)
        with self._transaction() as connection:
            return _run(connection, statement, {**values, "expired": chosen.expired}).rowcount

    def _owner_values(self, owner: Owner) -> dict[str, Value]:
        return {"project": self._project, "scope": owner.scope, "owner": owner.name}

    def _filter_values(self, chosen: MemoryFilter, now: float) -> dict[str, Value]:
        return {
            "project": self._project,
            "scope": chosen.scope,
            "owner": chosen.name,
            "topic": chosen.topic,
            "all_ids": not chosen.ids,
            "ids": list(chosen.ids),
            "now": _time(now),
        }

    def _vectors(self, entry: NewMemory) -> list[str]:
        return [_vector(self._embed(text_to_embed(chunk))) for chunk in entry.chunks]

    def _transaction(self) -> AbstractContextManager[Connection]:
        return transaction(self._engine)


@contextmanager
def transaction(engine: Engine) -> Generator[Connection]:
    """Open a transaction; every error of the database is one sentence without its password.

    Raises:
        OSError: The database cannot be reached now.
        FunctionFailure: It refuses.
    """
    try:
        with engine.begin() as connection:
            yield connection
    except (OperationalError, InterfaceError, TimeoutError) as error:
        if isinstance(error, OperationalError) and not _is_absence(error):
            raise _unusable(error) from None
        words = f"the database of memories does not answer: {_reason(error)}"
        raise ConnectionError(errno.ECONNABORTED, words) from None
    except SQLAlchemyError as error:
        raise _unusable(error) from None


def _unusable(error: SQLAlchemyError) -> FunctionFailure:
    cause = error.orig if isinstance(error, DBAPIError) else None
    words = f"the database of memories refuses: {_reason(error)}"
    if "extension" in words and "vector" in words:
        words += "; an administrator installs pgvector and runs `create extension vector` once"
    elif isinstance(cause, InsufficientPrivilege):
        words += "; grant the worker's role what it lacks"
    return FunctionFailure(words)


def _is_absence(error: OperationalError) -> bool:
    """Return whether the server may answer the same later.

    A server that lacks the files of the extension says so by a class of its own (58, 0A); a wrong
    password or database has none when it ends the connection, and may be put right meanwhile.
    """
    state = getattr(error.orig, "sqlstate", None)
    return state is None or state[:2] in ("08", "40", "53", "55", "57")


def _digest(
    connection: Connection, named: Mapping[str, Value], *, lock: bool = False
) -> tuple[str, str] | None:
    """Return what an entry holds, and the model of its vectors."""
    suffix = " for update" if lock else ""
    row = connection.execute(
        text(f"select digest, model from coterie_memories where {_ENTRY}{suffix}"), named
    ).one_or_none()
    return None if row is None else (row[0], row[1])


def _check_topics(connection: Connection, named: Mapping[str, Value], now: float) -> None:
    others = connection.execute(
        text(
            f"select count(distinct topic) from coterie_memories where {_OWNED} "
            f"and topic <> :topic and not {_EXPIRED}"
        ),
        {**named, "now": _time(now)},
    ).scalar_one()
    if others >= MAX_TOPICS:
        raise TooManyTopics


def _put_row(connection: Connection, named: Mapping[str, Value], entry: NewMemory) -> int:
    row = connection.execute(
        text(
            "insert into coterie_memories (project, scope, owner, topic, name, digest, model, "
            "text, stored, expires, untrusted, run) values (:project, :scope, :owner, :topic, "
            ":name, :digest, :model, :text, :stored, :expires, :untrusted, :run) "
            "on conflict (project, scope, owner, topic, name) do update set "
            "digest = excluded.digest, model = excluded.model, text = excluded.text, "
            "stored = excluded.stored, expires = excluded.expires, "
            "untrusted = excluded.untrusted, run = excluded.run returning id"
        ),
        {
            **named,
            "digest": entry.digest,
            "model": MODEL,
            "text": entry.text,
            "stored": _time(entry.stored),
            "expires": None if entry.expires is None else _time(entry.expires),
            "untrusted": entry.untrusted,
            "run": entry.run,
        },
    )
    return row.scalar_one()


def _put_chunks(
    connection: Connection, entry_id: int, entry: NewMemory, vectors: Sequence[str]
) -> None:
    _run(connection, "delete from coterie_memory_chunks where entry = :entry", {"entry": entry_id})
    connection.execute(
        text(
            "insert into coterie_memory_chunks (entry, text, embedding, words) values (:entry, "
            ":text, cast(:vector as vector), setweight(to_tsvector('english', :title), 'A') "
            "|| to_tsvector('english', :text))"
        ),
        [
            {"entry": entry_id, "text": chunk.text, "title": chunk.title, "vector": vector}
            for chunk, vector in zip(entry.chunks, vectors, strict=True)
        ],
    )


def _sweep(connection: Connection, now: float) -> None:
    """Delete some expired entries, of any project; what another worker deletes is skipped."""
    statement = (
        "delete from coterie_memories where id in (select id from coterie_memories "
        f"where {_EXPIRED} limit :limit for update skip locked)"
    )
    _run(connection, statement, {"now": _time(now), "limit": MAX_SWEPT})


def _evict(connection: Connection, named: Mapping[str, Value]) -> int:
    statement = (
        "delete from coterie_memories where id in (select id from coterie_memories "
        f"where {_OWNED} and topic = :topic order by stored desc, id desc offset :keep)"
    )
    return _run(connection, statement, {**named, "keep": MAX_ENTRIES}).rowcount


def _read_chunks(
    connection: Connection, chunks: Sequence[int], vector: str
) -> dict[int, FoundMemory]:
    values = {"model": MODEL, "vector": vector, "chunks": list(chunks)}
    rows = connection.execute(text(_FOUND), values).all()
    return {
        chunk: FoundMemory(topic, id, words, stored.timestamp(), similarity(score))
        for chunk, topic, id, words, stored, score in rows
    }


def _ids(connection: Connection, statement: str, values: Mapping[str, Value]) -> list[int]:
    return list(connection.execute(text(statement), values).scalars())


def _run(
    connection: Connection, statement: str, values: Mapping[str, Value]
) -> CursorResult[tuple[object, ...]]:
    return connection.execute(text(statement), values)


def _vector(embedded: bytes) -> str:
    numbers: list[float] = np.frombuffer(embedded, dtype=np.float32).tolist()
    return f"[{','.join(map(repr, numbers))}]"


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _reason(error: SQLAlchemyError) -> str:
    """Return the first line of the driver's own words."""
    words = str(error.orig) if isinstance(error, DBAPIError) else str(error)
    return (words.strip().splitlines() or ["unknown"])[0]


_engines: dict[str, Engine] = {}
_opening = threading.Lock()


def open_postgres_memory(address: str, project: str, embed: Embed) -> PostgresMemory:
    """Return the memories of a project in a database, with its tables in their latest form.

    Raises:
        OSError: The database cannot be reached now.
        FunctionFailure: The address is none of PostgreSQL, or the database cannot be used.
    """
    with _opening:
        engine = _engines.get(address)
        if engine is None:
            engine = _open_engine(_url(address))
            _engines[address] = engine
    return PostgresMemory(engine, project, embed)


def close_databases() -> None:
    """Close all connections; the next call opens new ones."""
    with _opening:
        while _engines:
            _engines.popitem()[1].dispose()


def _open_engine(url: URL) -> Engine:
    """Return what connects to a database, with its tables in their latest form."""
    engine = _engine(url)
    try:
        with transaction(engine) as connection:
            upgrade(connection)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _url(address: str) -> URL:
    wanted = "postgresql://user:password@host/name"
    try:
        url = make_url(address)
    except ArgumentError:
        raise FunctionFailure(
            f"the address of the database of memories is no URL; write {wanted}"
        ) from None
    if url.drivername not in ("postgresql", "postgres", _DRIVER):
        raise FunctionFailure(
            f"memories cannot be kept in {url.drivername!r}; the address reads {wanted}"
        )
    return url.set(drivername=_DRIVER)


def _engine(url: URL) -> Engine:
    limits = f"-c statement_timeout={_STATEMENT_MILLISECONDS} -c lock_timeout={_LOCK_MILLISECONDS}"
    return create_engine(
        url,
        pool_size=4,
        max_overflow=4,
        pool_timeout=_CONNECT_SECONDS,
        pool_pre_ping=True,
        connect_args={"connect_timeout": _CONNECT_SECONDS, "options": limits},
    )
