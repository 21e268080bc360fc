"""Columns of tables as the engine's features take them: arrays of numbers and lists of texts."""

import numpy

from thalweg import _inputs
from thalweg._core import InputError


def _series(table):
    """Each column of a frame, an Arrow table or a dict by its name."""
    if isinstance(table, dict):
        return {str(name): values for name, values in table.items()}
    if _inputs.is_table(table) and _inputs._module(table) == "pyarrow":
        return {name: table.column(name) for name in table.schema.names}
    if _inputs.is_table(table):
        return {str(name): table[name] for name in table.columns}
    raise TypeError(f"a table is a pandas frame, an Arrow table or a dict of columns, not a {type(table).__name__}")


def _is_arrow(values):
    return hasattr(values, "null_count") and hasattr(values, "to_pylist")


def _numbers(values):
    """An array of numbers, or None if it is something else."""
    if _is_arrow(values):
        if str(values.type).startswith(("string", "large_string", "dictionary")):
            return None
        array = _inputs._arrow_array(values)
    elif hasattr(values, "to_numpy"):
        array = _inputs._series_array(values)
    else:
        array = numpy.asarray(values)
    return array if array.dtype.kind in "fiub" else None


def _texts(values, name):
    texts = values.to_pylist() if _is_arrow(values) else list(values)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"column '{name}' holds {text!r} in row {row}, which is neither number nor text")
    return [str(text) for text in texts]


def _column(values, name):
    if _is_arrow(values) and values.null_count > 0:
        raise InputError(f"column '{name}' has {values.null_count} nulls: leave such rows out or fill them")
    numbers = _numbers(values)
    return _texts(values, name) if numbers is None else numbers


def columns_of(table, names=()):
    """All columns by their names, or these."""
    series = _series(table)
    for name in names:
        if name not in series:
            raise InputError(f"there is no column '{name}'; there are {', '.join(series)}")
    return {name: _column(series[name], name) for name in (names or series)}


def names_of(table):
    """Of all columns, and of those that hold numbers."""
    series = _series(table)
    return list(series), [name for name, values in series.items() if _numbers(values) is not None]
