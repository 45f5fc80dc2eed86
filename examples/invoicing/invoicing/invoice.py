"""Invoices: lines, their totals, the tax."""

from dataclasses import dataclass
from decimal import Decimal

from invoicing.discounts import discount_rate
from invoicing.money import rounded


@dataclass(frozen=True)
class Line:
    """So many pieces of one thing."""

    text: str
    quantity: int
    price: Decimal
    """Of one piece, before any discount."""

    def __post_init__(self) -> None:
        if self.quantity < 1:
            raise ValueError(f"{self.text}: the quantity is {self.quantity}; at least 1 is needed")

    def total(self) -> Decimal:
        """What the line costs: discounted, then rounded once."""
        full = self.price * self.quantity
        return rounded(full * (1 - discount_rate(self.quantity)))


@dataclass(frozen=True)
class Invoice:
    """Lines and the tax on them."""

    lines: list[Line]
    tax_rate: Decimal = Decimal("0.19")

    def net(self) -> Decimal:
        """The sum of the lines."""
        return sum((line.total() for line in self.lines), Decimal("0.00"))

    def tax(self) -> Decimal:
        """The tax on the sum, rounded as a line is."""
        return rounded(self.net() * self.tax_rate)

    def total(self) -> Decimal:
        """What the customer pays."""
        return self.net() + self.tax()
