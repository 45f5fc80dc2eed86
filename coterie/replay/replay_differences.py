"""Compare recorded effects with replayed ones, exactly; report the first difference first."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from pydantic import JsonValue

from coterie.dsl.values import Json
from coterie.replay.effects import WorldEffect

_MAX_VALUE_LENGTH = 100
_BEFORE = 20
"""Characters of a long text to show before the first difference."""


class NoValue(Enum):
    """Represents a missing value."""

    NOTHING = "nothing"


Value = JsonValue | NoValue


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that this code decides differently."""

    step: str
    """Location in the run; empty for its end."""
    field: str
    recorded: Value
    now: Value

    @property
    def description(self) -> str:
        """A description on one line."""
        before, now = _shown_values(self.recorded, self.now)
        where = f"{self.step}: " if self.step else ""
        return f"{where}{self.field}: recorded {before}, now {now}"

    @property
    def only_more(self) -> bool:
        """Whether a result or state only has a field that the recording version did not have.

        No decision depends on it, so it is reported but is not a difference.
        """
        depth = 2 if self.field.startswith("carried.") else 1
        more = self.recorded is NoValue.NOTHING and self.field.count(".") < depth
        return more and not self.step

    @property
    def only_wording(self) -> bool:
        """Whether only the wording of the run's end differs.

        Its content is compared too, by types, limits and the digest of the trail.
        """
        return not self.step and self.field.rpartition(".")[2] in ("because", "message")


def differences(
    recorded: Sequence[WorldEffect], now: Sequence[WorldEffect], steps: Sequence[str]
) -> Iterator[Difference]:
    """Yield every difference between effects of the same kind and key.

    Args:
        recorded: From the history.
        now: From the replay, in order.
        steps: Location in the run for each of `now`.
    """
    then = {(effect.kind, effect.key): effect for effect in recorded}
    for effect, step in zip(now, steps, strict=True):
        before = then.get((effect.kind, effect.key))
        if before is not None and before.facts != effect.facts:
            yield from _in_value(
                step if effect.kind != "end" else "", "", before.facts, effect.facts
            )


def first_other(recorded: Sequence[WorldEffect], now: Sequence[WorldEffect]) -> str | None:
    """Describe the first call or timer that only one side has."""
    kinds = ("call", "timer")
    then = [effect for effect in recorded if effect.kind in kinds]
    new_keys = {(effect.kind, effect.key) for effect in now}
    were = {(effect.kind, effect.key) for effect in then}
    missing = next((effect for effect in then if (effect.kind, effect.key) not in new_keys), None)
    other = next((d for d in now if d.kind in kinds and (d.kind, d.key) not in were), None)
    match missing, other:
        case None, None:
            return None
        case WorldEffect(), None:
            return f"recorded {missing.description}, now nothing like it"
        case None, WorldEffect():
            return f"now {other.description}, recorded nothing like it"
        case WorldEffect(), WorldEffect():
            return f"recorded {missing.description}, now {other.description}"


def _in_value(step: str, field: str, before: Value, after: Value) -> Iterator[Difference]:
    match before, after:
        case dict(), dict():
            for key in dict.fromkeys((*before, *after)):
                inner = f"{field}.{key}" if field else str(key)
                old, new = _at(before, key), _at(after, key)
                yield from _in_value(step, inner, old, new)
        case list(), list() if len(before) == len(after):
            for index, (old, new) in enumerate(zip(before, after, strict=True)):
                yield from _in_value(step, f"{field}[{index}]", old, new)
        case _ if before != after:
            yield Difference(step, field, before, after)
        case _:
            pass


def _at(value: Json, key: str) -> Value:
    return value.get(key, NoValue.NOTHING)


def _shown_values(before: Value, after: Value) -> tuple[str, str]:
    """Shorten two values to a line each, with their first difference in view."""
    texts = _as_text(before), _as_text(after)
    same = 0
    while same < min(map(len, texts)) and texts[0][same] == texts[1][same]:
        same += 1
    begin = max(same - _BEFORE, 0) if max(map(len, texts)) > _MAX_VALUE_LENGTH else 0
    return _cut(texts[0], begin), _cut(texts[1], begin)


def _cut(text: str, begin: int) -> str:
    excerpt = text[begin:]
    if len(excerpt) > _MAX_VALUE_LENGTH:
        excerpt = f"{excerpt[: _MAX_VALUE_LENGTH - 3]}..."
    return f"...{excerpt}" if begin else excerpt


def _as_text(value: Value) -> str:
    return value.value if isinstance(value, NoValue) else json.dumps(value, ensure_ascii=False)
