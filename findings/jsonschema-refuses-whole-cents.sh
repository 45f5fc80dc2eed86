#!/usr/bin/env bash
# `multipleOf: 0.01` of jsonschema refuses 159 of the 999 amounts from 0.01 to 9.99, such as 0.07, since
# it divides binary fractions. pydantic accepts all of them for `multiple_of=0.01`, and writes that
# keyword into the schema of the model: so a value of the model breaks the model's own schema.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jsonschema==4.26.0 pydantic==2.14.3
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field


class Payment(BaseModel):
    amount: float = Field(multiple_of=0.01)


values = [{"amount": cents / 100} for cents in range(1, 1000)]
for value in values:
    Payment.model_validate(value)
validator = Draft202012Validator(Payment.model_json_schema())
refused = [value["amount"] for value in values if not validator.is_valid(value)]
print("jsonschema", version("jsonschema"), "pydantic", version("pydantic"))
print(f"of {len(values)} amounts that the model accepts, its schema refuses {len(refused)}")
print(f"first: {refused[:6]}")
assert len(refused) == 159 and refused[0] == 0.07, "the behaviour has changed"
PYTHON
