"""Amounts of money: exact while one computes, whole cents when one is done."""

from decimal import Decimal

CENT = Decimal("0.01")


def rounded(amount: Decimal) -> Decimal:
    """The amount in whole cents; half a cent is rounded up."""
    return amount.quantize(CENT)
