"""A BERT encoder written as an ONNX graph, from plain arrays: no torch, no exporter.

`read_safetensors` takes the weights out of their file, `write_bert` lays the graph. Both are pure: bytes and
arrays in, bytes and arrays out. The names of the weights are those of a Hugging Face BERT.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.providers.minilm import require

Weights = Mapping[str, NDArray[Any]]

OPSET = 17  # the first with LayerNormalization
IR_VERSION = 8  # the one that came with it; a newer onnx would write its own and lock older runtimes out
EPSILON = 1e-12  # BERT's, for every layer norm
MASKED = -1e9  # added to the scores of padding, so that the softmax gives it nothing

_DTYPES = {"F32": "<f4", "I64": "<i8"}  # all that a BERT checkpoint holds; little-endian by definition


def read_safetensors(data: bytes) -> dict[str, NDArray[Any]]:
    """The tensors of a safetensors file: eight bytes of header length, a JSON header, then raw arrays."""
    body = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:body])
    header.pop("__metadata__", None)
    return {name: _tensor(data, body, entry) for name, entry in header.items()}


def _tensor(data: bytes, body: int, entry: Mapping[str, Any]) -> NDArray[Any]:
    start, end = entry["data_offsets"]
    flat = np.frombuffer(memoryview(data)[body + start : body + end], _DTYPES[entry["dtype"]])
    return flat.reshape(entry["shape"])


def write_bert(weights: Weights, *, layers: int, heads: int) -> bytes:
    """The serialised model: `input_ids` and `attention_mask` in, `last_hidden_state` out."""
    graph = _Graph(require("onnx"), weights, heads)
    hidden = graph.embeddings()
    padding = graph.padding()
    for number in range(layers):
        hidden = graph.layer(hidden, padding, f"encoder.layer.{number}")
    return graph.finish(hidden)


class _Graph:
    """Nodes and constants gathered while the encoder is told from input to output."""

    def __init__(self, onnx: Any, weights: Weights, heads: int) -> None:
        self._onnx = onnx
        self._weights = weights
        self._heads = heads
        self._width = weights["embeddings.LayerNorm.weight"].shape[0]
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}

    def embeddings(self) -> str:
        words = self._op("Gather", self._weight("embeddings.word_embeddings.weight"), "input_ids")
        # Every token is of type 0 when single sentences are embedded, so its row joins the positions here.
        positions = (
            self._weights["embeddings.position_embeddings.weight"]
            + self._weights["embeddings.token_type_embeddings.weight"][0]
        )
        length = self._op("Slice", self._op("Shape", "input_ids"), self._ints(1), self._ints(2))
        first = self._op("Slice", self._constant("positions", positions), self._ints(0), length, self._ints(0))
        return self._norm(self._op("Add", words, first), "embeddings.LayerNorm")

    def padding(self) -> str:
        """What is added to the attention scores: 0 for a token, a large negative number for padding."""
        mask = self._op("Cast", "attention_mask", to=self._onnx.TensorProto.FLOAT)
        mask = self._op("Unsqueeze", mask, self._ints(1, 2))
        return self._op("Mul", self._op("Sub", self._float(1), mask), self._float(MASKED))

    def layer(self, hidden: str, padding: str, name: str) -> str:
        mixed = self._attention(hidden, padding, f"{name}.attention.self")
        mixed = self._dense(mixed, f"{name}.attention.output.dense")
        hidden = self._norm(self._op("Add", mixed, hidden), f"{name}.attention.output.LayerNorm")
        wide = self._gelu(self._dense(hidden, f"{name}.intermediate.dense"))
        narrow = self._dense(wide, f"{name}.output.dense")
        return self._norm(self._op("Add", narrow, hidden), f"{name}.output.LayerNorm")

    def finish(self, hidden: str) -> bytes:
        helper, kinds = self._onnx.helper, self._onnx.TensorProto
        self._nodes.append(helper.make_node("Identity", [hidden], ["last_hidden_state"], name="last"))
        inputs = [
            helper.make_tensor_value_info(name, kinds.INT64, ["batch", "tokens"])
            for name in ("input_ids", "attention_mask")
        ]
        shape = ["batch", "tokens", self._width]
        outputs = [helper.make_tensor_value_info("last_hidden_state", kinds.FLOAT, shape)]
        graph = helper.make_graph(self._nodes, "bert", inputs, outputs, list(self._constants.values()))
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="clew")
        self._onnx.checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString())

    def _attention(self, hidden: str, padding: str, name: str) -> str:
        query, key, value = self._projections(hidden, name)
        scores = self._op("Add", self._op("MatMul", query, key), padding)
        mixed = self._op("MatMul", self._op("Softmax", scores, axis=-1), value)
        return self._op("Reshape", self._turn(mixed, 0, 2, 1, 3), self._ints(0, 0, self._width))

    def _projections(self, hidden: str, name: str) -> tuple[str, str, str]:
        """Query, key and value by head, out of one wide product."""
        head = self._width // self._heads
        # The division of the scores by the root of the head's width is part of the query's weights.
        scales = {"query": 1 / math.sqrt(head), "key": 1.0, "value": 1.0}
        kernel = np.concatenate([self._weights[f"{name}.{p}.weight"].T * k for p, k in scales.items()], axis=1)
        bias = np.concatenate([self._weights[f"{name}.{p}.bias"] * k for p, k in scales.items()])
        shape = self._ints(0, 0, len(scales), self._heads, head)
        parts = self._op("Reshape", self._linear(hidden, name, kernel, bias), shape)
        query, key, value = (self._op("Gather", parts, self._index(i), axis=2) for i in range(3))
        # Heads come before tokens; the key is turned over for the product with the query.
        return self._turn(query, 0, 2, 1, 3), self._turn(key, 0, 2, 3, 1), self._turn(value, 0, 2, 1, 3)

    def _dense(self, hidden: str, name: str) -> str:
        kernel, bias = self._weights[f"{name}.weight"].T, self._weights[f"{name}.bias"]
        return self._linear(hidden, name, kernel, bias)

    def _linear(self, hidden: str, name: str, kernel: NDArray[Any], bias: NDArray[Any]) -> str:
        product = self._op("MatMul", hidden, self._constant(f"{name}.kernel", kernel))
        return self._op("Add", product, self._constant(f"{name}.bias", bias))

    def _gelu(self, hidden: str) -> str:
        """x / 2 * (1 + erf(x / sqrt(2))), the exact form BERT was trained with."""
        erf = self._op("Erf", self._op("Div", hidden, self._float(math.sqrt(2))))
        return self._op("Mul", self._op("Mul", hidden, self._op("Add", erf, self._float(1))), self._float(0.5))

    def _norm(self, hidden: str, name: str) -> str:
        scale, shift = self._weight(f"{name}.weight"), self._weight(f"{name}.bias")
        return self._op("LayerNormalization", hidden, scale, shift, axis=-1, epsilon=EPSILON)

    def _op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"{kind.lower()}_{len(self._nodes)}"
        # Nodes carry names: onnxruntime 1.20 derives names from them when fusing, and trips over empty ones.
        self._nodes.append(self._onnx.helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def _turn(self, value: str, *axes: int) -> str:
        return self._op("Transpose", value, perm=axes)

    def _weight(self, name: str) -> str:
        return self._constant(name, self._weights[name])

    def _float(self, value: float) -> str:
        return self._constant(f"float {value}", np.array(value))

    def _ints(self, *values: int) -> str:
        return self._constant(f"ints {values}", np.array(values), np.int64)

    def _index(self, value: int) -> str:
        return self._constant(f"index {value}", np.array(value), np.int64)

    def _constant(self, name: str, array: NDArray[Any], dtype: type[np.generic] = np.float32) -> str:
        # Asking twice for a constant of one name keeps one copy.
        self._constants[name] = self._onnx.numpy_helper.from_array(np.asarray(array, dtype, order="C"), name)
        return name
