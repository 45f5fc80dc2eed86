"""The tools of the ticket desk: complaints come from a SQLite file, refunds go into it."""

import csv
import sqlite3
from contextlib import closing
from pathlib import Path

from pydantic import BaseModel, PositiveInt

from coterie import ToolContext, ToolError, tool

DATABASE = "tickets.db"


class Ticket(BaseModel):
    """A complaint of a customer about an order."""

    id: int
    customer: str
    price: int
    text: str


class Receipt(BaseModel):
    """A refund that stands in the database."""

    ticket: int
    euros: int


class Export(BaseModel):
    """A CSV file with its rows, and the sum of its refunds."""

    file: str
    rows: int
    euros: int


@tool(effect="read", labels=["private", "untrusted"])
def open_tickets(context: ToolContext) -> list[Ticket]:
    """List the tickets that have no answer yet, oldest first."""
    with closing(_database(context)) as database:
        rows = database.execute(
            "SELECT id, customer, price, text FROM tickets"
            " WHERE id NOT IN (SELECT ticket FROM replies) ORDER BY id"
        ).fetchall()
    return [Ticket(id=row[0], customer=row[1], price=row[2], text=row[3]) for row in rows]


@tool(effect="idempotent")
def refund(ticket: int, euros: PositiveInt, context: ToolContext) -> Receipt:
    """Pay back what a customer has paid for an order, or a part of it."""
    with closing(_database(context)) as database, database:
        price = database.execute("SELECT price FROM tickets WHERE id = ?", [ticket]).fetchone()
        if price is None or euros > price[0]:
            raise ToolError(f"ticket {ticket} has no order of {euros} euros or more")
        # One call, one refund: `context.call` is the same when a killed worker's call is repeated.
        database.execute(
            "INSERT OR IGNORE INTO refunds (call, ticket, euros) VALUES (?, ?, ?)",
            [context.call, ticket, euros],
        )
    return Receipt(ticket=ticket, euros=euros)


@tool(effect="idempotent")
def close_ticket(ticket: int, reply: str, context: ToolContext) -> int:
    """Store the reply to a ticket; it is not open any more."""
    with closing(_database(context)) as database, database:
        database.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", [ticket, reply])
    return ticket


@tool(effect="idempotent")
def export(file: str, context: ToolContext) -> Export:
    """Write a CSV file with each ticket, its refund and its reply."""
    with closing(_database(context)) as database:
        rows = database.execute(
            "SELECT id, customer, coalesce(sum(euros), 0), coalesce(reply, '') FROM tickets"
            " LEFT JOIN refunds ON refunds.ticket = id LEFT JOIN replies ON replies.ticket = id"
            " GROUP BY id ORDER BY id"
        ).fetchall()
    with (context.workspace / file).open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerows([("ticket", "customer", "refund", "reply"), *rows])
    return Export(file=file, rows=len(rows), euros=sum(row[2] for row in rows))


def _database(context: ToolContext) -> sqlite3.Connection:
    """Open the database of the workspace; the first call fills it from `tickets.csv`."""
    folder = Path(context.workspace)
    database = sqlite3.connect(folder / DATABASE, timeout=20)
    with database:
        database.execute("BEGIN IMMEDIATE")
        if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'tickets'").fetchone():
            return database
        database.execute(
            "CREATE TABLE tickets (id INTEGER PRIMARY KEY, customer, price INTEGER, text)"
        )
        database.execute("CREATE TABLE refunds (call PRIMARY KEY, ticket INTEGER, euros INTEGER)")
        database.execute("CREATE TABLE replies (ticket INTEGER PRIMARY KEY, reply)")
        with (folder / "tickets.csv").open(newline="", encoding="utf-8") as source:
            rows = [(r["id"], r["customer"], r["price"], r["text"]) for r in csv.DictReader(source)]
        database.executemany("INSERT INTO tickets VALUES (?, ?, ?, ?)", rows)
    return database
