"""The required forms of values, and how to write a value of another form."""

from coterie.dsl.problem_details import ProblemText, rule


def wanted_form(kind: str, key: str, message: str) -> str:
    """Return the required form, by pydantic's code of the error; else pydantic's own message."""
    if key == "requires_approval":
        return "true, false, before, after, or a mapping with terms"
    return _WANTED.get(kind, message)


def policy_renamed() -> str:
    return "write `extend`, which joins the lists of the branches"


@rule("E107")
def calls_with_one_call(key: str) -> ProblemText:
    return ProblemText(
        f"`{key}` is part of one call, and `calls` makes several",
        fix=f"remove `{key}`, or write it in an item of `calls`: `calls: [{{tool: ..., "
        "arguments: {...}}]`",
    )


def write_boolean(value: str) -> str:
    return f"write {value}"


def write_each_key(key: str) -> str:
    return f'write each key with its own template: `{key}: {{key: "{{{{ ... }}}}"}}`'


def write_variable(name: str, *, wants_name: bool) -> str:
    """Return the fix for `${NAME}`, which nothing expands."""
    if wants_name:
        return f"`${{...}}` is not expanded here: write the name alone, `{name}`"
    return "`${...}` is not expanded here: write the value itself"


def write_value() -> str:
    return "templates are not expanded here: write the value itself"


_WANTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
