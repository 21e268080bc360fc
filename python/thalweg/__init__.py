"""Thalweg: deep learning on CPUs.

>>> import numpy, thalweg
>>> net = thalweg.nn.Sequential(thalweg.nn.Linear(4, 8), thalweg.nn.ReLU(), thalweg.nn.Linear(8, 3))
>>> model = thalweg.Model(net, [thalweg.Input((None, 4))])
>>> model(numpy.zeros((2, 4), "float32")).shape
(2, 3)

``thalweg.Model.load`` runs any ONNX model; docs/python.md tells the rest.
"""

from thalweg import nn, ops
from thalweg._core import Error, Graph, InferenceModel, Input, InputError, Model, Value, __version__, trace, zoo

__all__ = [
    "Error",
    "Graph",
    "InferenceModel",
    "Input",
    "InputError",
    "Model",
    "Value",
    "__version__",
    "nn",
    "ops",
    "trace",
    "zoo",
]


def __getattr__(name):
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
