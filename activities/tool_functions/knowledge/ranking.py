"""Rank chunks by meaning and by words, the same way in every store."""

import re
from collections.abc import Sequence
from itertools import islice

from coterie.activities.tool_functions.knowledge.chunks import Chunk

CANDIDATES = 50
"""Best chunks by each kind of search that are compared."""

_RANK_SHIFT = 60
"""The constant of reciprocal rank fusion."""

_IDENTIFIER = re.compile(r"\w+[_.:/]\w+|[a-z]+[A-Z]\w*|\w+\(\)|[A-Z]{2,}\d*|\w*\d\w*")
_WORD = re.compile(r"\w+")
_MAX_WORDS = 50


def words_of(query: str) -> list[str]:
    """Return the words of a query that a search for words uses; letters and digits only."""
    return [match[0] for match in islice(_WORD.finditer(query), _MAX_WORDS)]


def weights_of(query: str) -> tuple[float, float]:
    """Return how much meaning and words count: names are found by words."""
    return (1.0, 3.0) if _is_name(query) else (3.0, 1.0)


def text_to_embed(chunk: Chunk) -> str:
    """Return the text whose vector stands for a chunk."""
    return f"{chunk.title}\n{chunk.text}" if chunk.title else chunk.text


def fused(first: Sequence[int], second: Sequence[int], weights: tuple[float, float]) -> list[int]:
    """Join two rankings by their weighted reciprocal ranks; ties keep the smaller id first."""
    scores: dict[int, float] = {}
    for ranking, weight in zip((first, second), weights, strict=True):
        for rank, item in enumerate(ranking):
            scores[item] = scores.get(item, 0.0) + weight / (_RANK_SHIFT + rank)
    return sorted(scores, key=lambda item: (-scores[item], item))


def similarity(score: float) -> float:
    """Return a cosine similarity within 0 and 1."""
    return round(min(max(score, 0.0), 1.0), 4)


def _is_name(query: str) -> bool:
    """Return whether at least half of a query's words look like identifiers."""
    names = len(_IDENTIFIER.findall(query))
    return names > 0 and names * 2 >= len(query.split())
