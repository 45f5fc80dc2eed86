"""Discounts by quantity."""

from decimal import Decimal

TIERS = (
    (50, Decimal("0.10")),
    (10, Decimal("0.05")),
)
"""Pieces, and the discount from that many on; largest first."""


def discount_rate(quantity: int) -> Decimal:
    """The discount for so many pieces of one line: 0.05 means 5 %."""
    for pieces, rate in TIERS:
        if quantity > pieces:
            return rate
    return Decimal(0)
