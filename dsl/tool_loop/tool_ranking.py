"""Rank tools by a query: BM25 over the words of names, descriptions and parameters. Pure.

The fields of a tool are weighted, then counted as one text (BM25F). A word of the query also finds
words for the same thing, with less weight.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from coterie.dsl.tool_loop.tool_words import related, stems
from coterie.dsl.values import Json, JsonValue

_SATURATION = 1.2
_LENGTH = 0.4
"""How much a long text counts less (`b` of BM25): descriptions differ for no good reason."""
_NAME, _DESCRIPTION, _PARAMETER, _DETAIL = 3.0, 1.5, 1.0, 0.4
_RELATED = 0.5
_MAX_QUERY_WORDS = 40
_MAX_DESCRIPTION = 2_000
"""Characters of a description that count."""
_MAX_TEXT = 1_000_000
"""Characters of all tools that count, in equal parts: a workflow has little time for them."""
_MAX_PARAMETERS = 100
_MAX_DEPTH = 4


class SearchedTool(NamedTuple):
    """What a search knows of a tool."""

    name: str
    description: str
    input_schema: Json


class ToolIndex:
    """Tools, ready for searches."""

    def __init__(self, tools: Sequence[SearchedTool]) -> None:
        self._names = tuple(tool.name for tool in tools)
        self._lengths: list[float] = []
        self._postings: dict[str, dict[int, float]] = {}
        """`{stem: {tool by index: weighted count}}`."""
        room = _MAX_TEXT // max(1, len(tools))
        for index, tool in enumerate(tools):
            counts = _Words(tool, room).counts
            self._lengths.append(sum(counts.values()))
            for word, count in counts.items():
                self._postings.setdefault(word, {})[index] = count
        self._average = sum(self._lengths) / len(tools) if tools else 1.0

    def ranked(self, query: str, most: int) -> tuple[str, ...]:
        """Return the names of the tools that fit best, best first; equal ones in their order."""
        scores: dict[int, float] = {}
        words = dict.fromkeys(islice(stems(query), _MAX_QUERY_WORDS))
        for word in words:
            for index, score in self._scores(word).items():
                scores[index] = scores.get(index, 0.0) + score
        best = sorted(scores, key=lambda index: (-round(scores[index], 9), index))
        return tuple(self._names[index] for index in best[:most])

    def _scores(self, word: str) -> dict[int, float]:
        """Return `{tool by index: score}` for a word of a query: its best form counts."""
        scores: dict[int, float] = {}
        for form, weight in ((word, 1.0), *((other, _RELATED) for other in related(word))):
            matches = self._postings.get(form, {})
            rarity = weight * self._rarity(len(matches))
            for index, count in matches.items():
                score = rarity * self._part(index, count)
                scores[index] = max(score, scores.get(index, 0.0))
        return scores

    def _rarity(self, matches: int) -> float:
        return math.log(1 + (len(self._names) - matches + 0.5) / (matches + 0.5))

    def _part(self, index: int, count: float) -> float:
        length = 1 - _LENGTH + _LENGTH * self._lengths[index] / self._average
        return count * (_SATURATION + 1) / (count + _SATURATION * length)


class _Words:
    """The weighted words of one tool, from so many characters at most."""

    def __init__(self, tool: SearchedTool, room: int) -> None:
        self.counts: dict[str, float] = {}
        self._room = room
        self._add(tool.name, _NAME)
        self._add(tool.description[:_MAX_DESCRIPTION], _DESCRIPTION)
        self._add_parameters(tool.input_schema, 0)

    def _add_parameters(self, schema: Json, depth: int) -> None:
        properties = schema.get("properties")
        if not isinstance(properties, Mapping) or depth > _MAX_DEPTH:
            return
        for name, part in list(properties.items())[:_MAX_PARAMETERS]:
            self._add(name, _PARAMETER)
            if isinstance(part, dict) and self._room > 0:
                self._add(_text(part.get("description")), _DETAIL)
                choices = part.get("enum")
                for choice in choices[:_MAX_PARAMETERS] if isinstance(choices, list) else ():
                    self._add(_text(choice), _DETAIL)
                self._add_parameters(part, depth + 1)

    def _add(self, text: str, weight: float) -> None:
        if self._room <= 0:
            return
        for word in stems(text[: self._room]):
            self.counts[word] = self.counts.get(word, 0.0) + weight
        self._room -= len(text)


def _text(value: JsonValue) -> str:
    return value[:_MAX_DESCRIPTION] if isinstance(value, str) else ""
