#!/usr/bin/env python3
"""Benchmark worker: evaluates detections with pycocotools or with the Python package thalweg, which PYTHONPATH leads to. The
line protocol is that of worker.py."""

import contextlib
import io
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent.parent / "tests" / "support"))

import worker  # noqa: E402
from coco_cases import COCO_CASES  # noqa: E402
from coco_sets import SetMaker  # noqa: E402


class Pycocotools:
    def __init__(self, kind, instances, results):
        import importlib.metadata

        from pycocotools.coco import COCO

        self.version = f"pycocotools {importlib.metadata.version('pycocotools')}"
        self.kind = {"box": "bbox", "mask": "segm"}[kind]
        with contextlib.redirect_stdout(io.StringIO()):
            self.truth = COCO()
            self.truth.dataset = instances
            self.truth.createIndex()
            self.found = self.truth.loadRes(results)
        self.masks = [(one, one["segmentation"]) for side in (self.truth, self.found) for one in side.anns.values()]

    def reset(self):
        """It leaves runs where polygons were."""
        for one, segmentation in self.masks:
            one["segmentation"] = segmentation

    def step(self):
        from pycocotools.cocoeval import COCOeval

        with contextlib.redirect_stdout(io.StringIO()):
            evaluation = COCOeval(self.truth, self.found, self.kind)
            evaluation.evaluate()
            evaluation.accumulate()
            evaluation.summarize()
        return [float(x) for x in evaluation.stats]

    def loss(self, numbers):
        return sum(numbers)


class Thalweg:
    def __init__(self, kind, instances, results, threads):
        import thalweg

        self.version = f"thalweg {thalweg.__version__}"
        self.vision, self.kind, self.threads = thalweg.vision, kind, threads
        self.truth = thalweg.vision.Annotations(instances)
        self.found = thalweg.vision.Detections(results)

    def step(self):
        return self.vision.evaluate(self.truth, self.found, self.kind, threads=self.threads)

    def loss(self, scores):
        names = ("AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl")
        return sum(-1.0 if scores[name] != scores[name] else scores[name] for name in names)


def make_runner(options):
    kind = "mask" if "masks" in options.case else "box"
    instances, results = SetMaker(seed=5, pictures=5000, categories=80, objects=7, side=(240, 640), detections=2.5,
                                  step=0.0001).make()
    if options.config == "thalweg":
        return Thalweg(kind, instances, results, options.threads)
    return Pycocotools(kind, instances, results)


if __name__ == "__main__":
    arguments = worker.parser(__doc__, list(COCO_CASES), ("pycocotools", "thalweg"))
    sys.exit(worker.serve(arguments.parse_args(), make_runner))
