"""What pycocotools says, for tests and golden files. Needs pycocotools, and scipy for boundaries."""

import contextlib
import copy
import io

import numpy as np
from pycocotools import mask as tools
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval


def loaded(instances, results):
    """-> both as pycocotools holds them"""
    truth = COCO()
    truth.dataset = copy.deepcopy(instances)
    truth.createIndex()
    return truth, truth.loadRes(copy.deepcopy(results))


def runs_of(segmentation, height, width):
    if isinstance(segmentation, list):
        return tools.merge(tools.frPyObjects(segmentation, height, width))
    if isinstance(segmentation["counts"], list):
        return tools.frPyObjects(segmentation, height, width)
    return segmentation


def with_runs(instances, results):
    """The results with masks as compressed runs, and without boxes."""
    sizes = {image["id"]: (image["height"], image["width"]) for image in instances["images"]}
    converted = []
    for result in results:
        rle = runs_of(result["segmentation"], *sizes[result["image_id"]])
        one = {key: result[key] for key in ("image_id", "category_id", "score")}
        one["segmentation"] = {"size": [int(x) for x in rle["size"]], "counts": rle["counts"].decode()}
        converted.append(one)
    return converted


def boundary_of(rle, ratio):
    """The pixels that are lost by erosion with 3 x 3 squares, the outside of the picture counted as outside."""
    from scipy import ndimage

    mask = tools.decode(rle)
    width = max(1, int(round(ratio * np.sqrt(mask.shape[0] ** 2 + mask.shape[1] ** 2))))
    padded = np.pad(mask, 1)
    kept = ndimage.binary_erosion(padded, np.ones((3, 3)), iterations=width, border_value=1)
    return tools.encode(np.asfortranarray(mask - kept[1:-1, 1:-1].astype(np.uint8)))


class BoundaryEval(COCOeval):
    """COCOeval of masks, but with the smaller of the overlaps of masks and boundaries for all but crowds."""

    ratio = 0.02

    def computeIoU(self, imgId, catId):
        overlaps = super().computeIoU(imgId, catId)
        truth, found = self._gts[imgId, catId], self._dts[imgId, catId]
        if len(overlaps) == 0:
            return overlaps
        order = np.argsort([-d["score"] for d in found], kind="mergesort")[:self.params.maxDets[-1]]
        found = [found[i] for i in order]
        edges = tools.iou([boundary_of(d["segmentation"], self.ratio) for d in found],
                          [boundary_of(g["segmentation"], self.ratio) for g in truth], [0] * len(truth))
        for i, one in enumerate(truth):
            if not one["iscrowd"]:
                overlaps[:, i] = np.minimum(overlaps[:, i], edges[:, i])
        return overlaps


def numbers_of(instances, results, kind, ratio=None):
    """The 12 numbers. `kind`: box, mask or boundary."""
    with contextlib.redirect_stdout(io.StringIO()):
        truth, found = loaded(instances, results)
        if kind == "boundary":
            evaluation = BoundaryEval(truth, found, "segm")
            evaluation.ratio = ratio
        else:
            evaluation = COCOeval(truth, found, {"box": "bbox", "mask": "segm"}[kind])
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return [float(x) for x in evaluation.stats]
