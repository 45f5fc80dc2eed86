"""Tools that pay at the bank of the test, which says where a call stops until it is killed."""

from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

from coterie import ToolContext, ToolError, tool

BANK = "bank.txt"
"""The file with the bank's address."""
_opener = build_opener(ProxyHandler({}))


def ask(path: str, **query: str) -> str:
    """Ask the bank, which answers when it likes."""
    address = Path(BANK).read_text()
    with _opener.open(f"{address}/{path}?{urlencode(query)}") as answer:
        return answer.read().decode()


def pass_point(point: str, order: str) -> None:
    """Go on, or stop here for good if the bank holds the order at this point."""
    ask("pass", point=point, order=order)


def paid_once(order: str, key: str) -> str:
    """Pay an order, with every point at which a call can be interrupted."""
    pass_point("before", order)
    try:
        receipt = ask("pay", order=order, key=key)
    except HTTPError as error:
        error.close()
        raise ToolError("the bank has refused the payment") from None
    pass_point("answered", order)
    return receipt


@tool(effect="once", timeout=300)
def pay(order: str, context: ToolContext) -> str:
    """Pays an order, which must not happen twice."""
    return paid_once(order, context.call)


@tool(effect="idempotent", retries=20, timeout=300)
def transfer(order: str, context: ToolContext) -> str:
    """Pays an order; the bank knows a repeated call by its key."""
    return paid_once(order, context.call)


@tool(effect="idempotent", retries=0, timeout=300)
def try_transfer(order: str, context: ToolContext) -> str:
    """Pays an order as `transfer` does, and gives up when it is interrupted."""
    return paid_once(order, context.call)


@tool(effect="read", retries=20, timeout=300)
def was_paid(order: str) -> str:
    """Asks the bank whether it has counted a payment."""
    pass_point("verifying", order)
    return ask("paid", order=order)


@tool(effect="read", retries=20, timeout=300)
def read_balance(order: str) -> str:
    """Reads something after the payment."""
    pass_point("recorded", order)
    return ask("paid", order=order)
