"""Where samples come from: arrays, tables, files, functions and PyTorch's DataLoader.

>>> import numpy, thalweg
>>> data = thalweg.data.TensorDataset([numpy.zeros((10, 4), "float32")], [numpy.zeros(10, "int64")])
>>> len(data), data.input_types
(10, [('float32', (None, 4))])
"""

from typing import TYPE_CHECKING

from thalweg._core.data import *  # noqa: F403
from thalweg._core.data import Dataset
from thalweg._loaders import LoaderSource

if TYPE_CHECKING:
    from thalweg._arrow import Table, read_columns, remote_files, table_columns  # noqa: F401


def __getattr__(name):
    # Arrow is loaded when a table is first asked for.
    if name not in ("Table", "read_columns", "remote_files", "table_columns"):
        raise AttributeError(f"module 'thalweg.data' has no attribute '{name}'")
    from thalweg import _tables

    return getattr(_tables, name)


def from_loader(loader, target: str | None = None) -> Dataset:
    """A dataset of the samples that a torch.utils.data.DataLoader over a map-style dataset draws.

    The loader's sampler says which samples an epoch has, anew for each, and they go through its collate function; how they
    are shuffled and made into batches is the trainer's. The last item of a sample is the target, or in a dict what goes
    by the name ``target`` (if it is None: label, labels, target, targets or y); all else are inputs.
    """
    source = LoaderSource(loader, target)
    return source.dataset(labelled=source.is_labelled)
