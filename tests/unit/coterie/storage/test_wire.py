"""Values on the wire: which converter takes them, and for whom."""

from pathlib import Path

import pytest
from temporalio.common import RawValue
from temporalio.converter import WorkflowSerializationContext

from coterie.activities.contracts import TokenUsage
from coterie.dsl.model.evaluation_budget import EvaluationBudget
from coterie.dsl.values import Json
from coterie.storage.large_values import directory_storage
from coterie.storage.wire import data_converter

CONVERTER = data_converter.payload_converter
MODEL = EvaluationBudget(steps=7)


def test_a_model_alone_is_encoded_as_among_other_values() -> None:
    (alone,) = CONVERTER.to_payloads([MODEL])
    assert CONVERTER.to_payloads([MODEL, 1])[0] == alone
    assert alone.data == b'{"steps":7}'


@pytest.mark.parametrize("value", [None, b"bytes", "text", {"key": [1]}, TokenUsage(1, 2)])
def test_any_other_value_keeps_its_own_converter(value: Json | bytes | TokenUsage | None) -> None:
    (payload,) = CONVERTER.to_payloads([value])
    assert CONVERTER.from_payloads([payload], [type(value)]) == [value]
    assert CONVERTER.to_payloads([RawValue(payload)]) == [payload]


def test_a_converter_is_the_same_for_all_runs(tmp_path: Path) -> None:
    context = WorkflowSerializationContext(namespace="default", workflow_id="w")
    for converter in (data_converter, directory_storage(tmp_path).converter):
        assert converter.with_context(context) is converter


def test_a_folder_stores_the_values_of_a_workflow_task_one_by_one(tmp_path: Path) -> None:
    assert directory_storage(tmp_path).concurrency == 1
