#!/usr/bin/env bash
# `refresh_bindings()` of Textual removes every key of the footer and mounts new widgets in their
# place, also when no binding has changed. A program that calls it at each update pays for layout and
# styles of all keys each time.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check textual==8.2.8
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio
from importlib.metadata import version

from textual.app import App
from textual.widgets import Footer


class Keys(App):
    BINDINGS = [(key, f"press_{key}", f"Press {key}") for key in "abcdef"]

    def compose(self):
        yield Footer()


async def main():
    app = Keys()
    async with app.run_test(size=(100, 5)) as pilot:
        await pilot.pause()
        first = list(app.query("FooterKey"))
        app.refresh_bindings()
        await pilot.pause()
        second = list(app.query("FooterKey"))
    kept = sum(key in first for key in second)
    same = [key.description for key in first] == [key.description for key in second]
    print("textual", version("textual"))
    print(f"keys before: {len(first)}, after: {len(second)}, the same texts: {same}; kept: {kept}")
    assert (len(first), len(second), same, kept) == (7, 7, True, 0), "the behaviour has changed"


asyncio.run(main())
PYTHON
