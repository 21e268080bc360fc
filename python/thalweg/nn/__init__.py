"""Layers with PyTorch's names, arguments and defaults.

A module is called with values of a graph, not with arrays, and appends to that graph; thalweg.Model makes a model of
it. Weights are named after attributes, as in PyTorch: "encoder.0.weight".

>>> import thalweg
>>> class Net(thalweg.nn.Module):
...     def __init__(self):
...         super().__init__()
...         self.body = thalweg.nn.Linear(8, 16)
...         self.head = thalweg.nn.Linear(16, 2)
...
...     def forward(self, x):
...         return self.head(self.body(x).relu())
>>> thalweg.Model(Net(), [thalweg.Input((None, 8))]).weight_names()
['body.weight', 'body.bias', 'head.weight', 'head.bias']
"""

from thalweg._core.nn import *  # noqa: F403
from thalweg.nn.containers import (  # noqa: F401
    Concat,
    Lambda,
    ModuleDict,
    ModuleList,
    Residual,
    Sequential,
    Sum,
    TimeDistributed,
    TransformerEncoder,
)
from thalweg.nn.losses import *  # noqa: F403
