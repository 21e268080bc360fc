"""Thalweg: deep learning on CPUs.

>>> import numpy, thalweg
>>> net = thalweg.nn.Sequential(thalweg.nn.Linear(4, 8), thalweg.nn.ReLU(), thalweg.nn.Linear(8, 3))
>>> model = thalweg.Model(net, [thalweg.Input((None, 4))])
>>> model(numpy.zeros((2, 4), "float32")).shape
(2, 3)

``thalweg.load`` reads any ONNX model, whose ``predict`` takes raw data; docs/python.md tells the rest.
"""

import importlib
from typing import TYPE_CHECKING

from thalweg import _pickling, data, losses, metrics, nn, ops, optim, schedules, vision  # noqa: F401
from thalweg._core import (
    Callback,
    EpochRecord,
    Error,
    Graph,
    Input,
    InputError,
    Metric,
    Model,
    OptimizeReport,
    Optimizer,
    RateCurve,
    Scheme,
    Trainer,
    TrainState,
    Value,
    __version__,
    find_learning_rate,
    groups,
    trace,
    zoo,
)
from thalweg.history import History

load = Model.load

if TYPE_CHECKING:
    from thalweg._torch import accelerate, from_torch, load_into_torch  # noqa: F401
    from thalweg.classifier import Classifier
    from thalweg.estimator import Estimator
    from thalweg.optimizing import Optimized, optimize
    from thalweg.regressor import Regressor

__all__ = [
    "Callback",
    "Classifier",
    "EpochRecord",
    "Error",
    "Estimator",
    "Graph",
    "History",
    "Input",
    "InputError",
    "Metric",
    "Model",
    "OptimizeReport",
    "Optimized",
    "Optimizer",
    "RateCurve",
    "Regressor",
    "Scheme",
    "TrainState",
    "Trainer",
    "Value",
    "__version__",
    "data",
    "find_learning_rate",
    "groups",
    "load",
    "losses",
    "metrics",
    "nn",
    "ops",
    "optim",
    "optimize",
    "schedules",
    "trace",
    "vision",
    "zoo",
]


# What takes long to import and not every program needs.
_LATER = {
    "Classifier": "classifier",
    "Estimator": "estimator",
    "Optimized": "optimizing",
    "Regressor": "regressor",
    "optimize": "optimizing",
}


def __getattr__(name):
    if name in _LATER:
        return getattr(importlib.import_module(f"thalweg.{_LATER[name]}"), name)
    # PyTorch is optional, and slow to import.
    if name not in ("accelerate", "from_torch", "load_into_torch"):
        raise AttributeError(f"module 'thalweg' has no attribute '{name}'")
    try:
        from thalweg import _torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ModuleNotFoundError(f"thalweg.{name} needs PyTorch: pip install torch", name="torch") from None
    return getattr(_torch, name)
