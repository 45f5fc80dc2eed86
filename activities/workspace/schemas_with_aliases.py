"""Generate JSON Schemas that also name the aliases of properties."""

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from coterie.dsl.schema_keys import ALSO


class WithAliases(GenerateJsonSchema):
    """Lists the aliases of each property in its schema."""

    def model_field_schema(self, schema: core_schema.ModelField) -> JsonSchemaValue:
        """Return the schema of the field, with its aliases."""
        made = super().model_field_schema(schema)
        paths = schema.get("validation_alias")
        names = [path[0] for path in paths if isinstance(path, list)] if paths else []
        return {**made, ALSO: names[1:]} if len(names) > 1 else made
