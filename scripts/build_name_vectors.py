"""Build the table of word vectors that compares the names of tags.

The words are the single-word nouns of WordNet and the whole words of the text model's vocabulary.
Each is embedded by itself with a sentence encoder (an ONNX file and its ``tokenizer.json``): the
mean of the token vectors under the mask. The vectors are centred, projected on their leading
principal components and rounded to int8; only angles between them are used, so each has a scale of
its own.

    python scripts/build_name_vectors.py MODEL.onnx TOKENIZER.json \
        src/sugartag/assets/wordnet/lemmas.tsv.gz src/sugartag/assets/names

Needs onnxruntime and tokenizers. The same inputs and versions give the same bytes.
"""

import gzip
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

COMPONENTS = 64
LONGEST_TEXT, BATCH = 32, 256
WHOLE_WORD = re.compile(r"[a-z]{3,}")


@click.command()
@click.argument("model", type=click.Path(exists=True, path_type=Path))
@click.argument("tokenizer", type=click.Path(exists=True, path_type=Path))
@click.argument("lemmas", type=click.Path(exists=True, path_type=Path))
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def main(model: Path, tokenizer: Path, lemmas: Path, folder: Path) -> None:
    """Write ``words.txt.gz`` and ``vectors.npy``."""
    words = chosen_words(lemmas, tokenizer)
    codes = coded(embedded(words, model, tokenizer))
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "vectors.npy", codes)
    packed = gzip.compress("\n".join(words).encode(), mtime=0)
    (folder / "words.txt.gz").write_bytes(packed)
    click.echo(f"{len(words):,} words, {codes.nbytes / 1e6:.1f} MB")


def chosen_words(lemmas: Path, tokenizer: Path) -> list[str]:
    """Return the nouns of one word and the whole words of the tokenizer, lower case, sorted."""
    with gzip.open(lemmas, "rt", encoding="utf-8") as lines:
        nouns = {line.split("\t")[0].lower() for line in lines}
    vocabulary = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
    whole = {word for word in vocabulary if WHOLE_WORD.fullmatch(word)}
    return sorted({noun for noun in nouns if "_" not in noun} | whole)


def embedded(words: Sequence[str], model: Path, tokenizer: Path) -> np.ndarray:
    """Return a unit vector for each word."""
    import onnxruntime
    from tokenizers import Tokenizer

    tokens: Any = Tokenizer.from_file(str(tokenizer))
    tokens.enable_padding()
    tokens.enable_truncation(LONGEST_TEXT)
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    order = sorted(range(len(words)), key=lambda number: (len(words[number]), words[number]))
    found = np.zeros((len(words), 0), dtype=np.float32)
    for start in range(0, len(order), BATCH):
        some = order[start : start + BATCH]
        encoded = tokens.encode_batch([words[number] for number in some])
        ids = np.array([one.ids for one in encoded], dtype=np.int64)
        mask = np.array([one.attention_mask for one in encoded], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = session.run(None, inputs)[0]
        mean = (hidden * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        if not found.shape[1]:
            found = np.zeros((len(words), mean.shape[1]), dtype=np.float32)
        found[some] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    return found


def coded(vectors: np.ndarray) -> np.ndarray:
    """Return the leading principal components, each row scaled to int8."""
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, directions = np.linalg.eigh(centred.T @ centred)
    leading = directions[:, ::-1][:, :COMPONENTS]
    signs = np.sign(leading[np.abs(leading).argmax(axis=0), np.arange(COMPONENTS)])
    projected = centred @ (leading * signs)
    largest = np.abs(projected).max(axis=1, keepdims=True)
    return np.rint(127.0 * projected / largest).astype(np.int8)


if __name__ == "__main__":
    main()
