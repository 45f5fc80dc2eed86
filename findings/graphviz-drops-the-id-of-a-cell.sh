#!/usr/bin/env bash
# Graphviz takes an ID on a cell of an HTML-like label and leaves it out of the SVG, without a word, unless
# the cell also has a TITLE, TOOLTIP or HREF. With one of these, the id stands on a group around a link, as
# `a_ID`. So style sheets and scripts find a cell only if it is a link of sorts.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pygraphviz==2.0.4
"$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import re

import pygraphviz


def ids(attributes: str) -> list[str]:
    graph = pygraphviz.AGraph()
    cell = f'<TD ID="amount" {attributes}>20</TD>'
    graph.add_node("order", shape="plain", label=f"<<TABLE><TR>{cell}</TR></TABLE>>")
    return re.findall(r'id="([^"]*amount)"', graph.draw(format="svg", prog="dot").decode())


found = {attributes: ids(attributes) for attributes in ("", 'BGCOLOR="gray"', 'TITLE="in dollars"')}
print("pygraphviz", pygraphviz.__version__)
for attributes, there in found.items():
    print(f"{attributes or 'alone':20} {there or 'no id'}")
assert list(found.values()) == [[], [], ["a_amount"]], "the behaviour has changed"
PYTHON
