"""Write hotel.json: what the servers of a group of hotels offer, 300 operations in OpenAPI."""

import json
from pathlib import Path

VERBS = (  # method, path, name, summary
    ("get", "", "list{Many}", "Lists {many} of a hotel, newest first; {about}."),
    ("post", "", "create{One}", "Creates {a} {one}: {about}."),
    ("get", "/{{id}}", "get{One}", "Reads one {one} by its id: {about}."),
    ("patch", "/{{id}}", "update{One}", "Changes fields of {a} {one}."),
    ("delete", "/{{id}}", "delete{One}", "Deletes {a} {one} for good."),
)
"""What every resource has."""
FOLDER = Path(__file__).parent


HINTS = {
    "Id": "The id of the {what}, as its own operation returned it.",
    "At": "A date and time in ISO 8601, with its offset.",
    "Amount": "In the smallest unit of the currency.",
}


def schema_of(field: str) -> dict[str, object]:
    """Return the schema of a field, by its name."""
    numbers = ("amount", "points", "covers", "beds", "seats", "floor", "quantity", "minutes")
    found: dict[str, object] = {"type": "integer" if field.lower() in numbers else "string"}
    for ending, hint in HINTS.items():
        if field.endswith(ending):
            found["description"] = hint.format(what=field.removesuffix("Id"))
    if field.endswith(("Day", "Date", "From", "Until", "On", "arrival", "departure")):
        found["format"] = "date"
    return found


def operation(name: str, method: str, path: str, summary: str, fields: str) -> dict[str, object]:
    """Return an operation: fields of a read are in its query, all others in its body."""
    parameters: list[dict[str, object]] = []
    if "{id}" in path:
        parameters.append(
            {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
        )
    names = [field.strip() for field in fields.split(",") if field.strip()]
    made: dict[str, object] = {"operationId": name, "summary": summary}
    if method in ("get", "delete"):
        parameters += [{"name": one, "in": "query", "schema": schema_of(one)} for one in names]
    else:
        properties = {one: schema_of(one) for one in names}
        body: dict[str, object] = {"type": "object", "properties": properties}
        if method == "post":
            body["required"] = names[:2]
        made["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return {**made, "parameters": parameters, "responses": {"200": {"description": "Done."}}}


def rows(section: str) -> list[list[str]]:
    """Return the rows of a section, without its heading."""
    return [[part.strip() for part in line.split("|")] for line in section.splitlines()[1:]]


def document() -> dict[str, object]:
    """Return the whole document."""
    text = (FOLDER / "operations.txt").read_text(encoding="utf-8")
    resources, actions = map(rows, text.strip().split("\n\n"))
    paths: dict[str, dict[str, object]] = {}
    for one, many, about, fields in resources:
        path = "/" + many.replace(" ", "-")
        words = {
            "one": one,
            "many": many,
            "about": about,
            "a": "an" if one[0] in "aeiou" and not one.startswith("user") else "a",
            "One": "".join(word.capitalize() for word in one.replace("-", " ").split()),
            "Many": "".join(word.capitalize() for word in many.replace("-", " ").split()),
        }
        for method, below, name, summary in VERBS:
            where = path + below.format()
            asked = "page, pageSize, sortBy" if name.startswith("list") else fields
            asked = "" if method == "delete" or name.startswith("get") else asked
            made = operation(name.format(**words), method, where, summary.format(**words), asked)
            paths.setdefault(where, {})[method] = made
    for name, method, path, summary, fields in actions:
        paths.setdefault(path, {})[method] = operation(name, method, path, summary, fields)
    return {"openapi": "3.1.0", "info": {"title": "Grand hotels", "version": "1.0"}, "paths": paths}


if __name__ == "__main__":
    made = document()
    paths = made.pop("paths")
    assert isinstance(paths, dict)
    lines = ",\n".join(f"{json.dumps(path)}: {json.dumps(paths[path])}" for path in paths)
    head = json.dumps(made).removesuffix("}")
    (FOLDER / "hotel.json").write_text(f'{head}, "paths": {{\n{lines}\n}}}}\n', encoding="utf-8")
