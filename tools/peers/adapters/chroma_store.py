"""Chroma: a persistent client, cosine distance. Vectors are given by the caller; asked as `own`, the question is
encoded by Chroma's own default function instead, as it is for whoever configures nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
from chromadb.config import Settings
from chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2 import ONNXMiniLM_L6_V2
from units import Unit

from adapters import Place, Store
from clew.providers.minilm import model_dir
from clew.providers.wordpiece import VOCAB


class ChromaStore(Store):
    batch = 1000

    def __init__(self, place: Place) -> None:
        client = chromadb.PersistentClient(str(place.folder), settings=Settings(anonymized_telemetry=False))
        self._vectors = place.vectors
        if place.variant == "own":
            self._vectors.encode = _own_encoder(self._vectors.home)
        self._collection = client.create_collection(
            "bench", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def add_many(self, units: Sequence[Unit]) -> None:
        texts = [unit.labelled for unit in units]
        self._collection.add(
            ids=[unit.id for unit in units], documents=texts, embeddings=self._vectors.documents(texts)
        )

    def search(self, question: str, k: int) -> list[str]:
        vector = self._vectors.query(question)
        found = self._collection.query(query_embeddings=vector[None], n_results=k)
        return list(found["ids"][0])


class _Model:
    """The weights that Clew prepared: a graph without segments, which are all 0 here."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def run(self, names: Any, inputs: Mapping[str, Any]) -> Any:
        return self._session.run(names, {name: inputs[name] for name in ("input_ids", "attention_mask")})


def _own_encoder(home: Path) -> Any:
    """Its code to cut, pad, run and pool; only what it would download, the model and its vocabulary, is ours."""

    class Own(ONNXMiniLM_L6_V2):
        DOWNLOAD_PATH = model_dir(home).parent
        EXTRACTED_FOLDER_NAME = model_dir(home).name

        @cached_property
        def tokenizer(self) -> Any:
            from tokenizers import BertWordPieceTokenizer

            made = BertWordPieceTokenizer(str(VOCAB), lowercase=True)
            made.enable_truncation(max_length=256)
            made.enable_padding(pad_id=0, pad_token="[PAD]", length=256)
            return made

        @cached_property
        def model(self) -> Any:
            return _Model(ONNXMiniLM_L6_V2.model.func(self))

        def _download_model_if_not_exists(self) -> None:
            pass

    own = Own()
    return lambda texts: np.stack(own(list(texts)))


def open_store(place: Place) -> Store:
    return ChromaStore(place)
