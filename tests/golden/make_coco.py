#!/usr/bin/env python3
"""Writes tests/golden/coco/*.json: small sets in COCO's formats with the numbers that pycocotools makes of them, and masks
with what it makes of polygons.

Needs numpy, scipy and pycocotools (scripts/python-requirements.txt). tests/python/test_vision.py compares larger sets.
"""

import contextlib
import io
import json
import pathlib
import random
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

from coco_oracle import numbers_of, with_runs  # noqa: E402
from coco_sets import SetMaker  # noqa: E402
from pycocotools import mask as tools  # noqa: E402

SETS = {
    "small": dict(seed=1, pictures=10, categories=4),
    "ties": dict(seed=2, pictures=12, categories=3, step=0.25),
    "one_class": dict(seed=3, pictures=8, categories=1, objects=8),
    "sparse": dict(seed=4, pictures=14, categories=9, objects=2),
}
KINDS = {"box": None, "mask": None, "boundary": 0.02, "boundary_0.005": 0.005}


def expected(instances, results, runs):
    """Of results with boxes and polygons, and of the same with masks as runs only."""
    numbers = {}
    for kind, ratio in KINDS.items():
        numbers[kind] = numbers_of(instances, results, kind.split("_")[0], ratio)
    numbers["mask_of_runs"] = numbers_of(instances, runs, "mask")
    return numbers


def make_set(name):
    instances, results = SetMaker(**SETS[name]).make()
    results = results[:60] + results[-40:] if len(results) > 160 else results
    runs = with_runs(instances, results)
    return {"instances": instances, "results": results, "expected": expected(instances, results, runs)}


def make_masks():
    pick = random.Random(7)
    masks = []
    for i in range(60):
        height, width = pick.randint(1, 40), pick.randint(1, 40)
        polygons = []
        for _ in range(pick.choice((1, 1, 1, 2, 3))):
            spread = pick.choice((0, 0, 5, 60))
            digits = pick.choice((0, 1, 2, 6))
            corners = pick.choice((3, 3, 4, 5, 9))
            polygons.append([round(pick.uniform(-spread, (width if k % 2 == 0 else height) + spread), digits)
                             for k in range(2 * corners)])
            if pick.random() < 0.2:
                polygons[-1] += polygons[-1][-2:]  # a corner twice
        rle = tools.merge(tools.frPyObjects(polygons, height, width))
        masks.append({"height": height, "width": width, "polygons": polygons, "text": rle["counts"].decode(),
                      "area": int(tools.area(rle)), "box": tools.toBbox(rle).tolist()})
    return masks


def main():
    folder = HERE / "coco"
    folder.mkdir(exist_ok=True)
    for name in SETS:
        with contextlib.redirect_stdout(io.StringIO()):
            made = make_set(name)
        (folder / f"{name}.json").write_text(json.dumps(made, separators=(",", ":")) + "\n")
    (folder / "masks.json").write_text(json.dumps(make_masks(), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
