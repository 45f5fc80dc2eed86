"""Store chunks of texts with their vectors and words in one SQLite file, and search them.

Vectors find what means the same; words find names. A query that looks like an identifier trusts
words three times as much, any other query vectors.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple, cast

from coterie.activities.tool_functions.knowledge.chunks import Chunk
from coterie.activities.tool_functions.knowledge.embedding import DIMENSIONS, MODEL
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

Embed = Callable[[str], bytes]

_SCHEMA = (
    "create table if not exists facts (name text primary key, value text)",
    "create table if not exists documents (id integer primary key, source text not null, "
    "path text not null, digest text not null, added real not null, unique (source, path))",
    "create table if not exists chunks (id integer primary key, document integer not null, "
    "start_line integer, end_line integer, title text, text text)",
    "create index if not exists chunks_of on chunks (document)",
    "create virtual table if not exists words using fts5 (title, text, content='chunks', "
    "content_rowid='id', tokenize='porter unicode61')",
    "create virtual table if not exists vectors using vec0 (id integer primary key, "
    f"embedding float[{DIMENSIONS}] distance_metric=cosine)",
)
_EMPTYING = (
    "delete from vectors",
    "delete from chunks",
    "delete from documents",
    "insert into words (words) values ('delete-all')",
)
_BY_WORDS = "select rowid from words where words match ? order by bm25(words, 3.0, 1.0) limit ?"
_MANY_CANDIDATES = 1000
"""If only some sources count."""


class Hit(NamedTuple):
    """A chunk that fits a query."""

    source: str
    path: str
    added: float
    """When its document was stored, in seconds since 1970."""
    chunk: Chunk
    score: float
    """Similarity of meaning, from 0 to 1."""


class ChunkStore:
    """One open file."""

    def __init__(self, file: SqliteFile, embed: Embed) -> None:
        self._file = file
        self._embed = embed

    def digests(self, source: str) -> dict[str, str]:
        """Return `{path: digest}` of the documents of a source."""
        rows = self._file.rows("select path, digest from documents where source = ?", source)
        return {str(path): str(digest) for path, digest in rows}

    def count(self) -> tuple[int, int]:
        """Return the numbers of documents and chunks."""
        ((documents, chunks),) = self._file.rows(
            "select (select count(*) from documents), (select count(*) from chunks)"
        )
        return cast("int", documents), cast("int", chunks)

    def put(
        self, source: str, path: str, digest: str, added: float, chunks: Sequence[Chunk]
    ) -> None:
        """Store a document in place of its former version, all or nothing."""
        vectors = [self._embed(text_to_embed(chunk)) for chunk in chunks]
        with self._file.transaction():
            self.remove(source, path)
            document = self._file.insert(
                "insert into documents (source, path, digest, added) values (?, ?, ?, ?)",
                *(source, path, digest, added),
            )
            for chunk, vector in zip(chunks, vectors, strict=True):
                chunk_id = self._file.insert(
                    "insert into chunks (document, start_line, end_line, title, text) "
                    "values (?, ?, ?, ?, ?)",
                    *(document, chunk.start_line, chunk.end_line, chunk.title, chunk.text),
                )
                self._file.rows(
                    "insert into words (rowid, title, text) values (?, ?, ?)",
                    *(chunk_id, chunk.title, chunk.text),
                )
                self._file.rows(
                    "insert into vectors (id, embedding) values (?, ?)", chunk_id, vector
                )

    def remove(self, source: str, path: str) -> bool:
        """Delete a document; return whether it existed."""
        with self._file.transaction():
            rows = self._file.rows(
                "select id from documents where source = ? and path = ?", source, path
            )
            for (document,) in rows:
                for chunk, title, text in self._file.rows(
                    "select id, title, text from chunks where document = ?", document
                ):
                    self._file.rows(
                        "insert into words (words, rowid, title, text) values ('delete', ?, ?, ?)",
                        *(chunk, title, text),
                    )
                    self._file.rows("delete from vectors where id = ?", chunk)
                self._file.rows("delete from chunks where document = ?", document)
                self._file.rows("delete from documents where id = ?", document)
        return bool(rows)

    def beyond(self, source: str, keep: int) -> list[str]:
        """Return the paths of the documents of a source beyond the newest `keep`."""
        rows = self._file.rows(
            "select path from documents where source = ? order by added desc, id desc "
            "limit -1 offset ?",
            *(source, keep),
        )
        return [str(path) for (path,) in rows]

    def search(self, query: str, limit: int, sources: Sequence[str] = ()) -> list[Hit]:
        """Return the chunks that fit a query, the best first.

        Args:
            query: Any text.
            limit: Chunks to return.
            sources: Only these; all by default.
        """
        vector = self._embed(query)
        by_meaning = self._ids(
            "select id from vectors where embedding match ? and k = ? order by distance",
            *(vector, CANDIDATES if not sources else _MANY_CANDIDATES),
        )
        quoted = " OR ".join(f'"{word}"' for word in words_of(query))
        by_words = self._ids(_BY_WORDS, quoted, CANDIDATES) if quoted else []
        ranks = fused(by_meaning, by_words, weights_of(query))
        hits = (self._hit(chunk, vector) for chunk in ranks)
        return list(islice((hit for hit in hits if not sources or hit.source in sources), limit))

    def _ids(self, statement: str, *values: SqlValue) -> list[int]:
        return [cast("int", row[0]) for row in self._file.rows(statement, *values)]

    def _hit(self, chunk: int, vector: bytes) -> Hit:
        ((source, path, added, start, end, title, text, score),) = self._file.rows(
            "select d.source, d.path, d.added, c.start_line, c.end_line, c.title, c.text, "
            "1 - vec_distance_cosine(v.embedding, ?) from chunks c join documents d "
            "on d.id = c.document join vectors v on v.id = c.id where c.id = ?",
            *(vector, chunk),
        )
        passage = Chunk(cast("int", start), cast("int", end), str(title), str(text))
        return Hit(
            str(source),
            str(path),
            cast("float", added),
            passage,
            similarity(cast("float", score)),
        )


@contextmanager
def open_store(file: Path, embed: Embed) -> Generator[ChunkStore]:
    """Open a store; create it if missing, and empty it if another model made it."""
    with open_sqlite(file) as opened:
        _prepare(opened)
        yield ChunkStore(opened, embed)


def _prepare(file: SqliteFile) -> None:
    with file.transaction():
        for statement in _SCHEMA:
            file.rows(statement)
        if file.rows("select value from facts where name = 'model'") == [(MODEL,)]:
            return
        for statement in _EMPTYING:
            file.rows(statement)
        file.rows("insert or replace into facts values ('model', ?)", MODEL)
