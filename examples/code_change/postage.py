"""The price of a parcel in cents."""

STEPS = ((1_000, 399), (2_000, 549), (5_000, 799))
"""Up to so many grams, so many cents."""


def price(grams: int) -> int:
    """Return the price of a parcel by its weight."""
    for most, cents in STEPS:
        if grams < most:
            return cents
    return STEPS[-1][1]
