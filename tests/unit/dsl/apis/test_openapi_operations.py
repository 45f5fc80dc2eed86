"""Operations of OpenAPI documents as tools; what cannot be one is left out, with its place."""

import json

import pytest

from coterie.dsl.apis.openapi_operations import ReadOperations, operations_of
from coterie.dsl.apis.openapi_reading import MAX_PLACED, Unreadable, read_api_document
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.capabilities import ServerTool
from coterie.dsl.values import Json, JsonValue

SERVER = "https://api.example/v1"


def read(paths: str, version: str = "3.1.0", components: str = "{}") -> ReadOperations:
    text = f"openapi: {version}\npaths:\n{paths}\ncomponents: {components}\n"
    return operations_of(read_api_document(text, "api.yaml"), SERVER)


def tool(paths: str, version: str = "3.1.0", components: str = "{}") -> ServerTool:
    found = read(paths, version, components)
    assert found.left_out == ()
    (made,) = found.tools
    return made


def of_schema(schema: str, version: str, components: str = "{}") -> Json:
    """The schema of a body, in an operation of its own."""
    made = tool(
        f"  /a: {{ post: {{ requestBody: {{ content: {{ application/json: {{ schema: {schema} "
        "} } } } }",
        version,
        components,
    )
    properties = made.input_schema["properties"]
    assert isinstance(properties, dict)
    body = properties["body"]
    assert isinstance(body, dict)
    return body


def test_an_operation_is_a_tool_with_its_parameters_and_its_body() -> None:
    made = tool(
        """
  /pets/{id}:
    parameters:
      - { name: id, in: path, required: true, schema: { type: integer } }
      - { name: page, in: query, description: Of the path., schema: { type: integer } }
    put:
      operationId: "change pet: now"
      summary: Changes a pet.
      description: It stays the same pet.
      parameters:
        - { name: page, in: query, description: Which page., schema: { type: string } }
        - { name: id, in: header, schema: { type: string } }
        - { name: Accept, in: header, schema: { type: string } }
        - { $ref: "#/components/parameters/filter" }
      requestBody: { $ref: "#/components/requestBodies/pet" }
      responses: { 200: { description: Done. } }
""",
        components=(
            "{ parameters: { filter: { name: filter, in: query, style: deepObject, explode: true, "
            "schema: { type: object } } }, requestBodies: { pet: { required: true, description: "
            "The pet., content: { application/json: { schema: { type: object } } } } } }"
        ),
    )
    assert (made.name, made.description) == (
        "change_pet_now",
        "Changes a pet.\nIt stays the same pet.",
    )
    assert made.input_schema == {
        "type": "object",
        "properties": {
            "id_path": {"type": "integer"},
            "page": {"type": "string", "description": "Which page."},
            "id_header": {"type": "string"},
            "filter": {"type": "object"},
            "body": {"type": "object", "description": "The pet."},
        },
        "required": ["id_path", "body"],
        "additionalProperties": False,
    }
    assert made.request is not None
    assert [(one.name, one.place, one.style, one.explode) for one in made.request.parameters] == [
        ("id", "path", "simple", False),
        ("page", "query", "form", True),
        ("id", "header", "simple", False),
        ("filter", "query", "deepObject", True),
    ]
    assert (made.request.method, made.request.path) == ("PUT", "/pets/{id}")


@pytest.mark.parametrize("name", ["Host", "Cookie", "transfer-encoding", "Content-Length", "A B"])
def test_no_argument_is_a_header_of_the_connection_or_one_without_a_name(name: str) -> None:
    made = tool(f"  /a: {{ get: {{ parameters: [{{ name: {name}, in: header }}] }} }}")
    assert made.input_schema["properties"] == {}
    assert made.request is not None
    assert made.request.parameters == ()


def test_an_operation_without_an_id_has_the_name_of_its_method_and_path() -> None:
    assert tool("  /pets/{id}/toys: { get: { parameters: [{ name: id, in: path }] } }").name == (
        "get/pets/id/toys"
    )


@pytest.mark.parametrize(
    ("schema", "translated"),
    [
        ("{ type: string, nullable: true, example: a }", {"type": ["string", "null"]}),
        (
            "{ type: string, enum: [a], nullable: true }",
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        ("{ type: number, minimum: 1, exclusiveMinimum: true }", {"type": "number",
            "exclusiveMinimum": 1}),
        ("{ type: number, maximum: 1, exclusiveMaximum: false }", {"type": "number", "maximum": 1}),
        (
            "{ nullable: true, allOf: [{ type: object }] }",
            {"anyOf": [{"allOf": [{"type": "object"}]}, {"type": "null"}]},
        ),
        (
            "{ type: object, required: [id, name], properties: { id: { readOnly: true }, name: {} "
            "} }",
            {"type": "object", "required": ["name"], "properties": {"name": {}}},
        ),
        ("{ type: object, xml: { name: a }, discriminator: { propertyName: b } }",
            {"type": "object"}),
        ("{ type: string, pattern: '^(?!a)' }", {"type": "string"}),
        ("{ type: string, pattern: '^a+$' }", {"type": "string", "pattern": "^a+$"}),
    ],
)  # fmt: skip
def test_a_schema_of_3_0_is_said_in_json_schema(schema: str, translated: JsonValue) -> None:
    assert of_schema(schema, "3.0.3") == translated


def test_a_schema_of_3_1_is_json_schema() -> None:
    schema = "{ type: [string, 'null'], const: a, exclusiveMinimum: 1 }"
    assert of_schema(schema, "3.1.0") == {
        "type": ["string", "null"],
        "const": "a",
        "exclusiveMinimum": 1,
    }


def test_schemas_that_refer_to_themselves_are_definitions_of_the_tool() -> None:
    components = """
    { schemas: {
        Tree: { type: object, properties: { left: { $ref: "#/components/schemas/Tree" },
          leaf: { $ref: "#/components/schemas/Leaf~1part" } } },
        Leaf/part: { type: string }, Unused: { type: integer } } }"""
    made = tool(
        "  /a: { post: { requestBody: { content: { application/json: { schema: "
        '{ $ref: "#/components/schemas/Tree" } } } } } }',
        components=components,
    )
    assert made.input_schema["$defs"] == {
        "Tree": {
            "type": "object",
            "properties": {
                "left": {"$ref": "#/$defs/Tree"},
                "leaf": {"$ref": "#/$defs/Leaf_1part"},
            },
        },
        "Leaf_1part": {"type": "string"},
    }


GOOD = "  /good: { get: { operationId: good } }"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (
            "{ requestBody: { content: { multipart/form-data: {} } } }",
            "its body is multipart/form-data, and JSON, forms and texts are sent",
        ),
        (
            "{ servers: [{ url: https://files.example }] }",
            "it is at another server, https://files.example: configure an API of its own for that "
            "one",
        ),
        (
            "{ parameters: [{ $ref: '#/components/parameters/none' }] }",
            "its reference '#/components/parameters/none' names nothing",
        ),
        (
            "{ parameters: [{ $ref: 'other.yaml#/a' }] }",
            "it refers to 'other.yaml#/a', and only references within the document (`#/...`) are "
            "followed: bundle the document into one file",
        ),
        (
            "{ parameters: [{ name: a, in: query, required: true, style: label }] }",
            "its parameter 'a': the style 'label' is none of a query: form, spaceDelimited, "
            "pipeDelimited, deepObject",
        ),
        ("{ parameters: [{ name: a, in: body }] }", "its parameter 'a' is in 'body'"),
        ("{ parameters: [{ in: query }] }", "one of its parameters has no name"),
        (
            "{ parameters: [{ name: a, in: query, required: true, content: { text/csv: {} } }] }",
            "its parameter 'a': its value is 'text/csv', and only JSON is written here",
        ),
        ("[]", "a part of it is not a mapping"),
        (
            "{ parameters: [{ name: a, in: query, schema: { type: file } }] }",
            "the schema of its arguments cannot be checked: it is not a valid JSON Schema, at "
            "$.properties.a.type: 'file' is not one of object, array, string, integer, number, "
            "boolean, null, or a list of them",
        ),
    ],
)
def test_an_unusable_operation_is_left_out_alone_with_its_place(wrong: str, why: str) -> None:
    found = read(f"{GOOD}\n  /bad:\n    post: {wrong}")
    assert [made.name for made in found.tools] == ["good"]
    ((name, reason),) = found.left_out
    assert name == "post/bad"
    assert reason.startswith("api.yaml:5:5: ")
    assert reason.removeprefix("api.yaml:5:5: ") == why


def test_a_path_without_its_parameter_and_a_repeated_name_are_left_out() -> None:
    found = read(
        "  /a/{id}: { get: {} }\n  /b: { get: { operationId: one }, put: { operationId: one } }"
    )
    assert [made.name for made in found.tools] == ["one"]
    assert [one.why.partition(": ")[2] for one in found.left_out] == [
        "its path has 'id', which is no parameter",
        "an earlier one has the same name",
    ]


def test_an_optional_parameter_that_cannot_be_sent_is_not_offered() -> None:
    made = tool("  /a: { get: { parameters: [{ name: a, in: query, style: label }] } }")
    assert made.input_schema["properties"] == {}


def test_the_server_of_an_operation_may_be_the_pinned_one() -> None:
    assert tool("  /a: { get: { servers: [{ url: 'https://api.example/v1/' }] } }").request


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "info: {}\nswagger: '2.0'",
            "api.yaml:2:1: this is a document of Swagger 2.0; OpenAPI 3.0 and 3.1 are read: "
            "convert it, for example with `npx swagger2openapi`",
        ),
        (
            "openapi: 4.0.0",
            "api.yaml:1:1: OpenAPI '4.0.0' is not known; documents of OpenAPI 3.0 and 3.1 are read",
        ),
        (
            "info: {}",
            "api.yaml:1:1: `openapi` is missing; documents of OpenAPI 3.0 and 3.1 are read",
        ),
        ("openapi: 3.0.0\npaths: []", "api.yaml:2:1: `paths` is not a mapping"),
    ],
)
def test_another_document_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read_api_document(text, "api.yaml")
    assert str(caught.value) == said


def test_a_text_that_is_not_yaml_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidDocument) as caught:
        read_api_document("openapi: 3.0.0\npaths: {", "api.yaml")
    assert caught.value.problems[0].line == 2


def test_a_large_json_text_is_read_without_positions() -> None:
    content: Json = {
        "openapi": "3.0.0",
        "x": "x" * MAX_PLACED,
        "paths": {"/a": {"get": {"operationId": "a"}, "put": []}},
    }
    found = operations_of(read_api_document(json.dumps(content), "api.json"), SERVER)
    assert [made.name for made in found.tools] == ["a"]
    assert found.left_out[0].why == "api.json, paths./a.put: a part of it is not a mapping"


def test_only_included_operations_are_read() -> None:
    document = read_api_document(
        "openapi: 3.0.0\npaths: { /a: { get: { operationId: issues/list }, put: {} } }", "a.yaml"
    )
    names = [made.name for made in operations_of(document, SERVER, ("issues/*",)).tools]
    assert names == ["issues/list"]
