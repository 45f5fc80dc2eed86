"""A tool: a typed function with @tool."""

from typing import Annotated

from pydantic import Field

from coterie import tool

_NUMERALS = {50: "L", 40: "XL", 10: "X", 9: "IX", 5: "V", 4: "IV", 1: "I"}


@tool(effect="read", timeout=5)
def roman(number: Annotated[int, Field(ge=1, le=89)]) -> str:
    """Write a number in Roman numerals."""
    written = ""
    for value, numeral in _NUMERALS.items():
        count, number = divmod(number, value)
        written += numeral * count
    return written
