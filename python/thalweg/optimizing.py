"""Finds the form in which a model runs fastest on this machine."""

import os
import tempfile

from thalweg._core import InferenceModel, optimize_file


def optimize(model, precision="auto", calibration=None, *, output=None, show=True, **options):
    """Tries a model in several precisions, prints a table of them, and returns the fastest that agrees with f32.

    ``model`` is the path of an ONNX file, or something with save(path): a Model, an InferenceModel, an Estimator.
    ``precision`` is "auto", a form ("f32", "bf16", "f16", "int8", "int8-dynamic") or a list of forms. ``calibration`` is
    a list of batches, each an array or a tuple of the model's inputs: int8 takes its ranges from them, and all forms are
    compared and timed on them. ``options`` are max_drop, threads, seconds and shapes (docs/optimize.md). ``output`` keeps the ONNX file; what was measured is in the attribute ``report`` of the result.
    """
    forms = [] if precision == "auto" else [precision] if isinstance(precision, str) else list(precision)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        if isinstance(model, (str, os.PathLike)):
            path = os.fspath(model)
        else:
            model.save(path)
        written = os.path.join(folder, "optimized.onnx") if output is None else os.fspath(output)
        report = optimize_file(path, written, forms=forms, data=_batches(calibration), **options)
        if show:
            print(report, end="")
        return Optimized(InferenceModel.load(written), report)


def _batches(calibration):
    if calibration is None:
        return []
    return [list(batch) if isinstance(batch, (tuple, list)) else [batch] for batch in calibration]


class Optimized:
    """A model that is called like any other, with the report of how it was chosen."""

    def __init__(self, model, report):
        self.model = model
        self.report = report

    def __call__(self, *inputs, **named):
        return self.model(*inputs, **named)

    def __getattr__(self, name):
        return getattr(self.model, name)
