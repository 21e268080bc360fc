"""Finds the form in which a model runs fastest on this machine."""

import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any

from thalweg._core import InputError, Model, OptimizeReport, optimize_file


def optimize(
    model: Any,
    precision: str | Sequence[str] = "auto",
    calibration: Iterable[Any] | None = None,
    *,
    output: str | os.PathLike[str] | None = None,
    show: bool = True,
    **options: Any,
) -> "Optimized":
    """Tries a model in several precisions, prints a table of them, and returns the fastest that agrees with f32.

    ``model`` is the path of an ONNX file, a PyTorch module, or something with save(path): a Model, an
    Estimator. ``precision`` is "auto", a form ("f32", "bf16", "f16", "int8", "int8-dynamic") or a list of forms.
    ``calibration`` is a list of batches, each an array or a tuple of the model's inputs: int8 takes its ranges from them,
    and all forms are compared and timed on them; a PyTorch module is converted for inputs like the first. ``options`` are
    max_drop, threads, seconds and shapes (docs/optimize.md). ``output`` keeps the ONNX file; what was measured is in the
    attribute ``report`` of the result.
    """
    forms = [] if precision == "auto" else [precision] if isinstance(precision, str) else list(precision)
    batches = _batches(calibration)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        if isinstance(model, (str, os.PathLike)):
            path = os.fspath(model)
        else:
            _savable(model, batches).save(path)
        written = os.path.join(folder, "optimized.onnx") if output is None else os.fspath(output)
        report = optimize_file(path, written, forms=forms, data=batches, **options)
        if show:
            print(report, end="")
        return Optimized(Model.load(written), report)


def _savable(model, batches):
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        from thalweg._torch import from_torch

        if not batches:
            raise InputError("to convert a PyTorch module, optimize needs inputs: give calibration=[batch, ...]")
        return from_torch(model, tuple(torch.as_tensor(array) for array in batches[0]), training=False)
    if not hasattr(model, "save"):
        raise TypeError(f"optimize takes a path, a PyTorch module or a model, not a {type(model).__name__}")
    return model


def _batches(calibration):
    if calibration is None:
        return []
    return [list(batch) if isinstance(batch, (tuple, list)) else [batch] for batch in calibration]


class Optimized:
    """A model that is called like any other, with the report of how it was chosen."""

    def __init__(self, model: Model, report: OptimizeReport):
        self.model = model
        self.report = report

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        return self.model(*inputs, **named)

    def __getattr__(self, name):
        # pickle asks for methods before there is a model.
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.model, name)
