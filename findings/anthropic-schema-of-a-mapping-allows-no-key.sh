#!/usr/bin/env bash
# `anthropic.transform_schema`, which `messages.parse` uses, turns a field of type `dict[str, int]`
# into an object that allows no key at all: of the values of the model only `{}` matches what the
# vendor gets. An optional field stays optional, but its default becomes a text of its description.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check anthropic==2.12.0 jsonschema==4.26.0
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

from anthropic import transform_schema
from jsonschema import Draft202012Validator
from pydantic import BaseModel


class Stock(BaseModel):
    pieces: dict[str, int]
    limit: int = 7


value = {"pieces": {"apples": 3}, "limit": 7}
empty = {"pieces": {}, "limit": 7}
own, sent = Stock.model_json_schema(), transform_schema(Stock)
Stock.model_validate(value)
print("anthropic", version("anthropic"))
print("own schema: ", own["properties"])
print("sent schema:", sent["properties"])
fits = [
    Draft202012Validator(schema).is_valid(one) for schema in (own, sent) for one in (value, empty)
]
print(f"{value} fits its own schema: {fits[0]}, the sent one: {fits[2]}; {empty}: {fits[3]}")
assert fits == [True, True, False, True], "the behaviour has changed"
assert sent["properties"]["limit"]["description"] == "{default: 7}", "the behaviour has changed"
PYTHON
