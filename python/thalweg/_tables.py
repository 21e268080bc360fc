"""Loads the module of tables, with Arrow's libraries out of the installed pyarrow before it.

The libraries need not be found by name once they are in the process, so pyarrow may lie anywhere.
"""

import ctypes
import glob
import os

import pyarrow

# In an order in which each finds those it needs.
_LIBRARIES = ("arrow", "arrow_compute", "arrow_acero", "parquet", "arrow_dataset")


def _preload():
    for name in _LIBRARIES:
        for folder in pyarrow.get_library_dirs():
            for path in glob.glob(os.path.join(glob.escape(folder), f"lib{name}.so.*")):
                ctypes.CDLL(path)


_preload()
from thalweg._arrow import *  # noqa: E402, F403
