"""The effects of a run as its page shows them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from coterie.dsl.model.capabilities import Effect
from coterie.gateway.console.page_values import ShownValue, shown_value
from coterie.runs.effects_ledger import Certainty, LedgerEffect


@dataclass(frozen=True, slots=True)
class EffectRow:
    """One call that may change something."""

    at: datetime
    step: str
    """`work#1/act/charge@2.1`."""
    skill: str
    effect: Effect
    """What a repeated call does."""
    certainty: Certainty
    why: str
    input: ShownValue
    key: str
    """By which the tool function recognises a repeat."""


def effect_rows(effects: Sequence[LedgerEffect]) -> tuple[EffectRow, ...]:
    """Return the rows of a ledger."""
    return tuple(
        EffectRow(
            it.at,
            it.step,
            it.skill,
            it.effect,
            it.certainty,
            it.why,
            shown_value(it.input),
            it.key,
        )
        for it in effects
    )
