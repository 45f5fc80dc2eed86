"""Read what a browser sends with a form."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple, cast

from pydantic import JsonValue
from starlette.datastructures import FormData, UploadFile

from coterie.dsl.strict_json import unsound_part
from coterie.gateway.console.fields.form_fields import Typed
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.request_gate import MAX_BODY

MAX_PICKS = 1_000
MAX_COUNT = 50
_FIELD, _ITEMS, _DROP, _FILE = "field:", "items:", "drop:", "file:"


class Pick(NamedTuple):
    """A request as the page showed it."""

    run: str
    request: str
    digest: str


def picks_of(form: FormData) -> list[Pick]:
    """Return the requests that a form names.

    Raises:
        Rejection: It names none, or not as our pages do.
    """
    picks: list[Pick] = []
    for value in form.getlist("pick")[:MAX_PICKS]:
        parts = json_of(value if isinstance(value, str) else "", "the choice")
        if not isinstance(parts, dict) or not all(isinstance(p, str) for p in parts.values()):
            raise Rejection(422, "invalid", "the form does not name a request")
        names = cast("Mapping[str, str]", parts)
        picks.append(Pick(names.get("run", ""), names.get("request", ""), names.get("digest", "")))
    if not picks:
        raise Rejection(422, "invalid", "no request is chosen", "Choose at least one.")
    return picks


def text_of(form: FormData, name: str) -> str:
    """Return the text of one field; empty without it."""
    value = form.get(name)
    return value if isinstance(value, str) else ""


def json_of(text: str, what: str) -> JsonValue:
    """Return a value that a form holds as JSON.

    Raises:
        Rejection: It is not JSON.
    """
    try:
        value = cast("JsonValue", json.loads(text))
    except (ValueError, RecursionError):
        raise Rejection(422, "invalid", f"{what} is not JSON", "Correct it.") from None
    unsound = unsound_part(value)
    if unsound is not None:
        raise Rejection(422, "invalid", f"in {what}, {unsound}")
    return value


def typed_in(form: FormData) -> Typed:
    """Return what a person typed into the fields of a schema."""
    texts: dict[str, str] = {}
    counts: dict[str, int] = {}
    dropped: set[str] = set()
    for name, value in form.multi_items():
        if not isinstance(value, str):
            continue
        if name.startswith(_FIELD):
            texts[name.removeprefix(_FIELD)] = value
        elif name.startswith(_ITEMS) and value.isdecimal():
            counts[name.removeprefix(_ITEMS)] = min(int(value[:4]), MAX_COUNT)
        elif name.startswith(_DROP):
            dropped.add(name.removeprefix(_DROP))
    return Typed(texts, counts, frozenset(dropped))


def has_fields(form: FormData) -> bool:
    """Return whether a form holds the fields of a schema."""
    return any(name.startswith((_FIELD, _ITEMS)) for name in form)


def with_added(form: FormData, typed: Typed) -> tuple[Typed, str | None]:
    """Return what was typed with the item that a person adds, and the name of the list."""
    if "add" not in form:
        return typed, None
    name = text_of(form, "add")
    counts = {**typed.counts, name: min(typed.counts.get(name, 0) + 1, MAX_COUNT)}
    return replace(typed, counts=counts), name


class SentFile(NamedTuple):
    """A text file that a person sent instead of typing."""

    name: str
    """Of the field; empty for the whole form."""
    file: str
    text: str
    problem: str = ""


async def files_in(form: FormData) -> list[SentFile]:
    """Return the files of a form; the request's bound holds for all of them together."""
    found: list[SentFile] = []
    for name, value in form.multi_items():
        if not isinstance(value, UploadFile):
            continue
        data = await value.read(MAX_BODY)
        await value.close()
        if not name.startswith(_FILE) or not value.filename:
            continue
        field = name.removeprefix(_FILE)
        try:
            text = data.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError:
            found.append(SentFile(field, value.filename, "", "got a file that is not UTF-8 text"))
        else:
            found.append(SentFile(field, value.filename, text))
    return found
