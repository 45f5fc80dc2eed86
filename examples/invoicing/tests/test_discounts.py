"""Discounts by quantity."""

from decimal import Decimal

from invoicing.discounts import discount_rate


def test_a_few_pieces_cost_the_full_price() -> None:
    assert discount_rate(1) == discount_rate(9) == 0


def test_many_pieces_are_cheaper() -> None:
    assert discount_rate(25) == Decimal("0.05")
    assert discount_rate(200) == Decimal("0.10")


def test_the_discount_begins_with_the_first_piece_of_its_tier() -> None:
    assert discount_rate(10) == Decimal("0.05")
    assert discount_rate(50) == Decimal("0.10")
