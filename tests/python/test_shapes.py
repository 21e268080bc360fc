"""Pictures with objects as batches, on the generated shapes of tests/support/make_shapes.py."""

import json

import make_shapes
import numpy as np
import pytest

import thalweg
from thalweg import vision

SIZE = 96


@pytest.fixture(scope="module")
def shapes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shapes")
    return folder, make_shapes.make(folder, pictures=12, seed=3, height=SIZE, width=SIZE)


def test_shapes_are_sound_annotations(shapes, tmp_path):
    folder, made = shapes
    truth = vision.Annotations(folder / "instances.json", strict=True)
    assert len(truth) == len(made["annotations"]) > 20
    assert len({a["category_id"] for a in made["annotations"]}) >= 6
    for image in made["images"]:
        masks = [vision.rle_decode(a["segmentation"]) for a in made["annotations"] if a["image_id"] == image["id"]]
        assert sum(masks).max() <= 1, "what hides something else is not part of it"
    for a in made["annotations"]:
        assert vision.rle_area(a["segmentation"]) == a["area"] and vision.rle_box(a["segmentation"]) == a["bbox"]
    make_shapes.make(tmp_path, pictures=2, seed=3, height=SIZE, width=SIZE)
    again = json.loads((tmp_path / "instances.json").read_text())
    assert again["annotations"] == [a for a in made["annotations"] if a["image_id"] <= 2]
    assert (tmp_path / "pictures/000002.jpg").read_bytes() == (folder / "pictures/000002.jpg").read_bytes()


def test_the_truth_finds_everything(shapes):
    _, made = shapes
    found = [{key: a[key] for key in ("image_id", "category_id", "bbox", "segmentation")} | {"score": 1} for a in made["annotations"]]
    for kind in ("box", "mask", "boundary"):
        scores = vision.evaluate(made, found, kind)
        assert scores["AP"] == scores["AR100"] == pytest.approx(1)


def test_batches_have_boxes_labels_and_masks(shapes):
    folder, made = shapes
    resize = {"transforms": [{"name": "resize", "height": SIZE, "width": SIZE}]}
    data = thalweg.data.ObjectPictures(folder / "instances.json", folder, resize, max_objects=10, masks=(SIZE, SIZE))
    assert (len(data), data.classes, data.problems) == (12, list(make_shapes.KINDS), {})
    (images,), (boxes, labels, crowds, masks) = data.fetch(range(12))
    assert images.shape == (12, 3, SIZE, SIZE) and masks.shape == (12, 10, SIZE, SIZE) and not crowds.any()
    for row in range(12):
        number = int(data.file(row).split("/")[1].split(".")[0])
        objects = [a for a in made["annotations"] if a["image_id"] == number]
        assert (labels[row] >= 0).sum() == len(objects)
        for i, a in enumerate(objects):
            x, y, width, height = a["bbox"]
            assert labels[row, i] == a["category_id"] - 1
            np.testing.assert_allclose(boxes[row, i] * SIZE, [x, y, x + width, y + height], atol=1e-4)
            np.testing.assert_array_equal(masks[row, i], vision.rle_decode(a["segmentation"]))


def test_augmented_masks_stay_in_their_boxes(shapes):
    folder, made = shapes
    pipeline = {"transforms": [{"name": "color_jitter", "brightness": 0.1, "hue": 0.05}, {"name": "expand"}, {"name": "random_box_crop"},
                               {"name": "horizontal_flip"}, {"name": "resize", "height": 64, "width": 64}]}
    data = thalweg.data.ObjectPictures(made, folder, pipeline, masks=(64, 64), min_side=0.05, mosaic_probability=0.5,
                                       mosaic_size=(128, 128))
    _, (boxes, labels, _, masks) = data.fetch(range(12))
    assert (labels >= 0).sum() > 10
    for box, mask in zip(boxes[labels >= 0] * 64, masks[labels >= 0]):
        ys, xs = np.nonzero(mask)
        if len(ys):
            assert xs.min() >= box[0] - 2 and xs.max() < box[2] + 2 and ys.min() >= box[1] - 2 and ys.max() < box[3] + 2
