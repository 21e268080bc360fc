"""The Python code of README.md and docs/python.md, run as it stands there."""

import importlib.util
import pathlib
import re
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thalweg
from thalweg import nn

ROOT = pathlib.Path(__file__).parents[2]
HAS_TORCH = importlib.util.find_spec("torch") is not None


class Reader(nn.Module):
    """What reader.onnx is: two inputs, two outputs."""

    def forward(self, ids, mask):
        weighted = ids.to("float32") * mask
        return {"start": weighted.sum(dim=1), "end": weighted.mean(dim=1)}


def write_files():
    """Models and data under the names that the documents give them, in the current directory."""
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
    thalweg.Model(net, [thalweg.Input((None, 3, 32, 32))]).save("resnet50.onnx")
    reader = [thalweg.Input((None, 8), "int64", "ids"), thalweg.Input((None, 8), "float32", "mask")]
    thalweg.Model(Reader(), reader).save("reader.onnx")
    photos = pathlib.Path("photos/train/cats")
    photos.mkdir(parents=True)
    shutil.copy(ROOT / "tests/golden/images/photo.jpg", photos)
    resized = {"transforms": [{"name": "resize", "height": 32, "width": 32}]}
    described = thalweg.data.ImageFolder("photos/train", resized).metadata
    thalweg.Model(net, [thalweg.Input((None, 3, 32, 32))]).save("photos.onnx", described)
    pathlib.Path("trips").mkdir()
    columns = {"distance": [1.0, 2.0], "hour": [3, 4], "fare": [5.0, -1.0], "tip": [1.0, 0.0], "city": [0, 1]}
    pq.write_table(pa.table(columns), "trips/1.parquet")


def values(columns):
    """What the documents expect a reader to have."""
    rng = np.random.default_rng(0)
    names = {"images": rng.random((4, 3, 32, 32)).astype("float32"), "ids": np.ones((2, 8), "int64")}
    names["mask"] = np.ones((2, 8), "float32")
    names["batch1"] = names["batch2"] = names["images"]
    names["frame"] = pa.table({"city": ["Oslo", "Rome"] * 20, "fare": rng.random(40), "tip": rng.random(40)})
    for end in ("", "_test"):
        names["X" + end] = rng.normal(size=(120, columns))
        names["y" + end] = rng.integers(0, 3, 120)
    if HAS_TORCH:
        import torch

        names |= {"module": torch.nn.Linear(4, 3), "example": torch.zeros(1, 4)}
    return names


@pytest.mark.parametrize("document, columns", [("README.md", 4), ("docs/python.md", 20)])
def test_code_runs(document, columns, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files()
    names = {"thalweg": thalweg, "nn": nn, **values(columns)}
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / document).read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 2
    for block in blocks:
        needs_torch = "from_torch(" in block or "import torch" in block
        # That of Spark is what tests/spark does, on clusters.
        if "thalweg.spark" in block or (needs_torch and not HAS_TORCH):
            continue
        exec(compile(block, document, "exec"), names)
