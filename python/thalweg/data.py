"""Where samples come from: arrays, tables, files, functions and PyTorch's DataLoader.

>>> import numpy, thalweg
>>> data = thalweg.data.TensorDataset([numpy.zeros((10, 4), "float32")], [numpy.zeros(10, "int64")])
>>> len(data), data.input_types
(10, [('float32', (None, 4))])
"""

from typing import TYPE_CHECKING

from thalweg._core.data import *  # noqa: F403
from thalweg._core.data import FunctionDataset

if TYPE_CHECKING:
    from thalweg._arrow import Table, read_columns, remote_files, table_columns  # noqa: F401


def __getattr__(name):
    # Arrow is loaded when a table is first asked for.
    if name not in ("Table", "read_columns", "remote_files", "table_columns"):
        raise AttributeError(f"module 'thalweg.data' has no attribute '{name}'")
    from thalweg import _tables

    return getattr(_tables, name)


def from_loader(loader) -> FunctionDataset:
    """A dataset of what a torch.utils.data.DataLoader over a map-style dataset yields.

    Samples go through the loader's own collate function; order and batches are the trainer's. The last item of a
    sample is the target.
    """
    if not hasattr(loader.dataset, "__getitem__") or not hasattr(loader.dataset, "__len__"):
        raise TypeError("the DataLoader's dataset can only be iterated over; it needs __getitem__ and __len__")

    def fetch(indices):
        *inputs, target = loader.collate_fn([loader.dataset[index] for index in indices])
        return inputs, [target]

    return FunctionDataset(fetch, len(loader.dataset))
