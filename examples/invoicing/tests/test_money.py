"""Rounding to whole cents."""

from decimal import Decimal

from invoicing.money import rounded


def test_whole_cents_stay_as_they_are() -> None:
    assert rounded(Decimal("7.40")) == Decimal("7.40")


def test_parts_of_a_cent_go_to_the_nearest_cent() -> None:
    assert rounded(Decimal("7.404")) == Decimal("7.40")
    assert rounded(Decimal("7.406")) == Decimal("7.41")
