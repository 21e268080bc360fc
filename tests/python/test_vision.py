"""Masks and evaluation against pycocotools, over generated sets (tests/support/coco_sets.py)."""

import copy
import json

import numpy as np
import pytest
from coco_oracle import loaded, numbers_of, runs_of, with_runs
from coco_sets import SetMaker
from pycocotools import mask as tools

import thalweg
from thalweg import vision

NAMES = ["AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl"]
SETS = {
    "many_pictures": dict(seed=11, pictures=150, categories=12),
    "large_pictures": dict(seed=12, pictures=25, categories=5, side=(300, 700)),
    "equal_scores": dict(seed=13, pictures=60, categories=4, step=0.5),
    "one_score": dict(seed=14, pictures=40, categories=3, step=1.0),
    "crowded": dict(seed=15, pictures=12, categories=2, objects=40),
    "few_objects": dict(seed=16, pictures=60, categories=30, objects=1),
    "many_detections": dict(seed=17, pictures=10, categories=2, detections=30),
}


@pytest.fixture(scope="module", params=SETS)
def made(request):
    return SetMaker(**SETS[request.param]).make()


def close(scores, expected):
    ours = [-1.0 if np.isnan(scores[name]) else scores[name] for name in NAMES]
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["box", "mask"])
def test_numbers_are_those_of_pycocotools(made, kind):
    instances, results = made
    close(vision.evaluate(instances, results, kind), numbers_of(instances, results, kind))


def test_results_of_masks_only(made):
    instances, results = made
    runs = with_runs(instances, results)
    for kind in ("box", "mask"):
        close(vision.evaluate(instances, runs, kind), numbers_of(instances, runs, kind))


@pytest.mark.parametrize("ratio", [0.005, 0.02, 0.05])
def test_boundary_numbers(ratio):
    instances, results = SetMaker(seed=21, pictures=20, categories=4).make()
    scores = vision.evaluate(instances, results, "boundary", dilation_ratio=ratio)
    close(scores, numbers_of(instances, results, "boundary", ratio))


def test_each_category(made):
    instances, results = made
    one = instances["categories"][0]
    alone = dict(instances, categories=[one])
    scores = vision.evaluate(instances, results)["by_category"][one["name"]]
    expected = numbers_of(alone, results, "box")
    np.testing.assert_allclose(np.nan_to_num([scores["AP"], scores["AP50"]], nan=-1), expected[:2], rtol=0, atol=1e-9)


def test_files_are_read(tmp_path):
    instances, results = SetMaker(seed=3, pictures=5, categories=2).make()
    (tmp_path / "instances.json").write_text(json.dumps(instances, indent=1))
    (tmp_path / "results.json").write_text(json.dumps(results))
    expected = vision.evaluate(instances, results)
    assert repr(vision.evaluate(tmp_path / "instances.json", str(tmp_path / "results.json"))) == repr(expected)
    files = thalweg.data.remote_files(f"file://{tmp_path}")
    assert repr(vision.evaluate("instances.json", "results.json", files=files)) == repr(expected)


def test_what_was_read_once_serves_again():
    instances, results = SetMaker(seed=3, pictures=5, categories=2).make()
    truth, found = vision.Annotations(instances), vision.Detections(results)
    assert (len(truth), len(found), truth.problems) == (len(instances["annotations"]), len(results), {})
    for kind in ("box", "mask"):
        assert repr(vision.evaluate(truth, found, kind)) == repr(vision.evaluate(instances, results, kind))


def test_bad_annotations_are_counted():
    instances, results = SetMaker(seed=3, pictures=5, categories=2).make()
    bad = copy.deepcopy(instances)
    bad["annotations"] += [dict(bad["annotations"][0], id=900, image_id=10**12), dict(bad["annotations"][0], id=901, category_id=-4)]
    scores = vision.evaluate(bad, results)
    assert scores["problems"] == {"unknown category": 1, "unknown picture": 1}
    close(scores, numbers_of(instances, results, "box"))
    with pytest.raises(thalweg.Error, match=r"annotations\[\d+\]: unknown"):
        vision.evaluate(bad, results, strict=True)
    with pytest.raises(thalweg.InputError, match="kind is 'boxes'"):
        vision.evaluate(instances, results, "boxes")


def test_voc_folders(tmp_path):
    (tmp_path / "Annotations").mkdir()
    box = "<bndbox><xmin>3</xmin><ymin>5</ymin><xmax>12</xmax><ymax>10</ymax></bndbox>"
    (tmp_path / "Annotations" / "2007_000027.xml").write_text(
        f"<annotation><size><width>30</width><height>20</height></size><object><name>spoon</name>{box}</object></annotation>")
    instances = vision.read_voc(tmp_path)
    assert instances["annotations"][0]["bbox"] == [2, 4, 10, 6]
    assert instances["images"][0] == {"id": 2007000027, "height": 20, "width": 30, "file_name": "JPEGImages/2007_000027.jpg"}
    found = [{"image_id": 2007000027, "category_id": 1, "score": 1, "bbox": [2, 4, 10, 6]}]
    assert vision.evaluate(instances, found, "voc")["mAP"] == 1
    assert vision.evaluate(instances, found, "voc07")["by_category"] == {"spoon": 1}


def voc_by_hand(instances, results, category, eleven):
    """VOC's rules, said again: curve and area with numpy."""
    results = sorted((r for r in results if r["category_id"] == category), key=lambda r: -r["score"])
    truth = [a for a in instances["annotations"] if a["category_id"] == category]
    taken, right, wrong = set(), [], []
    for one in results:
        here = [a for a in truth if a["image_id"] == one["image_id"]]
        overlaps = tools.iou([one["bbox"]], [a["bbox"] for a in here], [0] * len(here))[0] if here else [0]
        best = int(np.argmax(overlaps))
        matched = overlaps[best] >= 0.5
        if matched and here[best]["iscrowd"]:
            continue
        hit = matched and here[best]["id"] not in taken
        if hit:
            taken.add(here[best]["id"])
        right.append(hit)
        wrong.append(not hit)
    objects = sum(not a["iscrowd"] for a in truth)
    if objects == 0:
        return None
    recall, precision = np.cumsum(right) / objects, np.cumsum(right) / np.maximum(np.cumsum(right) + np.cumsum(wrong), 1)
    if eleven:
        return np.mean([max(precision[recall >= t / 10], default=0) for t in range(11)])
    recall, precision = np.concatenate([[0], recall, [1]]), np.concatenate([[0], precision, [0]])
    precision = np.maximum.accumulate(precision[::-1])[::-1]
    return np.sum(np.diff(recall) * precision[1:])


def test_voc_numbers(made):
    instances, results = made
    for kind in ("voc", "voc07"):
        scores = vision.evaluate(instances, results, kind)
        expected = {c["name"]: voc_by_hand(instances, results, c["id"], kind == "voc07") for c in instances["categories"]}
        known = {name: value for name, value in expected.items() if value is not None}
        for name, value in scores["by_category"].items():
            assert np.isnan(value) if name not in known else value == pytest.approx(known[name], abs=1e-12)
        assert scores["mAP"] == pytest.approx(np.mean(list(known.values())), abs=1e-12)


def as_text(rle):
    return {"size": [int(x) for x in rle["size"]], "counts": rle["counts"].decode()}


def test_masks_are_those_of_pycocotools(rng):
    for _ in range(200):
        height, width = rng.integers(1, 60, 2)
        mask = np.asfortranarray(rng.random((height, width)) < rng.choice([0, 0.1, 0.5, 0.95, 1]), np.uint8)
        rle = tools.encode(mask)
        ours = vision.rle_encode(mask)
        assert ours == as_text(rle)
        np.testing.assert_array_equal(vision.rle_decode(ours), mask)
        np.testing.assert_array_equal(vision.rle_decode(rle), mask)  # with bytes
        assert vision.rle_area(ours) == tools.area(rle)
        assert vision.rle_box(ours) == tools.toBbox(rle).tolist()


def test_polygons_are_those_of_pycocotools(rng):
    for _ in range(2000):
        height, width = (int(x) for x in rng.integers(1, 200, 2))
        spread = rng.choice([0, 0, 3, 50, 400])
        polygons = []
        for _ in range(rng.integers(1, 4)):
            corners = rng.uniform(-spread, [width + spread, height + spread], (rng.integers(3, 12), 2))
            if rng.random() < 0.5:
                corners = corners.round(int(rng.integers(0, 3)))
            if rng.random() < 0.2:
                corners = np.repeat(corners, 2, axis=0)
            polygons.append(corners.ravel().tolist())
        assert vision.rle_of_polygons(polygons, height, width) == as_text(runs_of(polygons, height, width))


def test_overlaps_are_those_of_pycocotools(rng):
    masks = [np.asfortranarray(rng.random((30, 40)) < share, np.uint8) for share in (0, 0.01, 0.3, 0.5, 0.9, 1)]
    rles = [tools.encode(mask) for mask in masks]
    crowd = [bool(x) for x in rng.integers(0, 2, len(rles))]
    expected = tools.iou(rles, rles, [int(x) for x in crowd])
    np.testing.assert_array_equal(vision.rle_iou(rles, rles, crowd), expected)
    boxes = rng.uniform(0, 20, (20, 4)).round(1)
    crowd = [bool(x) for x in rng.integers(0, 2, 20)]
    np.testing.assert_array_equal(vision.box_iou(boxes, boxes, crowd), tools.iou(boxes, boxes, [int(x) for x in crowd]))


def test_what_is_no_mask_is_refused():
    with pytest.raises(thalweg.Error, match="have 3 pixels, not 4"):
        vision.rle_decode({"size": [2, 2], "counts": [3]})
    with pytest.raises(thalweg.InputError, match="'size' and 'counts'"):
        vision.rle_decode({"size": [2, 2]})
    with pytest.raises(thalweg.InputError, match=r"\[N, 4\]"):
        vision.box_iou(np.zeros((2, 3)), np.zeros((2, 4)))


def test_sets_hold_what_they_promise(made):
    """Crowds, pictures without objects, classes without objects; else the comparisons say little."""
    instances, results = made
    with_objects = {a["image_id"] for a in instances["annotations"]}
    assert len(results) > 100
    truth, _ = loaded(instances, results)
    assert len(truth.anns) == len(instances["annotations"])
    assert len({a["category_id"] for a in instances["annotations"]}) < max(len(instances["categories"]), 2)
    assert len(instances["images"]) < 25 or len(with_objects) < len(instances["images"])
