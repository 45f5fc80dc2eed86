#!/usr/bin/env bash
# Graphviz puts names in for \N (the node) and \G (the graph) in HTML-like labels, too. These labels look
# like markup, where only < > & and quotes need an escape, and \n is no line break there; but a path of
# Windows that is escaped as XML comes out with the node's name in it. A character reference for the
# backslash or for the letter changes nothing; only a doubled backslash does.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pygraphviz==2.0.4
"$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import re

import pygraphviz


def texts(cell: str) -> list[str]:
    graph = pygraphviz.AGraph(name="routes")
    graph.add_node("writer", shape="plain", label=f"<<TABLE><TR><TD>{cell}</TD></TR></TABLE>>")
    drawn = graph.draw(format="svg", prog="dot").decode()
    return re.findall(r"<text[^>]*>([^<]*)", drawn)


shown = texts(r"C:\New\Gate"), texts(r"C:\next"), texts("C:&#92;New"), texts(r"C:\\New")
print("pygraphviz", pygraphviz.__version__)
for one in shown:
    print(one)
expected = (["C:writerewroutesate"], [r"C:\next"], ["C:writerew"], [r"C:\New"])
assert shown == expected, "the behaviour has changed"
PYTHON
