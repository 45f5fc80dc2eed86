"""Invoices as customers get them."""

from decimal import Decimal

import pytest

from invoicing.invoice import Invoice, Line


def test_an_invoice_without_lines_costs_nothing() -> None:
    assert Invoice([]).total() == 0


def test_lines_and_tax_add_up() -> None:
    invoice = Invoice([Line("Pen", 3, Decimal("1.20")), Line("Paper, A4", 25, Decimal("4.00"))])
    assert invoice.net() == Decimal("98.60")
    assert invoice.tax() == Decimal("18.73")
    assert invoice.total() == Decimal("117.33")


def test_ten_pieces_are_discounted_and_half_a_cent_goes_up() -> None:
    line = Line("Notebook, A5", 10, Decimal("1.23"))
    assert line.total() == Decimal("11.69")


def test_a_line_without_pieces_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Line("Pen", 0, Decimal("1.20"))
