"""The JSON Schemas of all kinds of documents, for editors."""

from typing import Literal

from coterie.dsl.editor_schema.editor_schema import (
    document_schema,
    model_schema,
    override_schema,
    persona_schema,
)
from coterie.dsl.values import Json
from coterie.evals.suite_document import SuiteDocument
from coterie.testing.files.case_document import TestDocument

DocumentKind = Literal["document", "override", "persona", "test", "suite"]


def schema_of(of: DocumentKind) -> Json:
    """Return the schema of a kind of document."""
    match of:
        case "document":
            return document_schema()
        case "override":
            return override_schema()
        case "persona":
            return persona_schema()
        case "test":
            return model_schema(TestDocument, "A Coterie test file")
        case "suite":
            return model_schema(SuiteDocument, "A Coterie eval suite")
