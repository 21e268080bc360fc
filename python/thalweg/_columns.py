"""Columns of tables as the engine's features take them: arrays of numbers and lists of texts."""

import datetime

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
        values = values.cast("timestamp[s]", safe=False) if str(values.type).startswith(("date", "timestamp")) else values
        array = _inputs._arrow_array(values)
    elif hasattr(values, "to_numpy"):
        # With a zone, pandas gives objects unless it is told.
        zoned = getattr(getattr(values, "dtype", None), "tz", None) is not None
        array = values.to_numpy("datetime64[s]") if zoned else _inputs._series_array(values)
    else:
        array = numpy.asarray(values)
    if array.dtype == object and len(array) > 0 and all(isinstance(value, datetime.date) for value in array):
        array = numpy.array([_without_zone(value) for value in array], "datetime64[s]")
    if array.dtype.kind == "M":
        return _seconds(array)
    return array if array.dtype.kind in "fiub" else None


def _without_zone(time):
    """A date, or a time in UTC."""
    zone = getattr(time, "tzinfo", None)
    return time if zone is None else time.astimezone(datetime.timezone.utc).replace(tzinfo=None)


def _seconds(times):
    """Since 1970, in UTC; those that are missing are NaN."""
    seconds = times.astype("datetime64[s]").astype("int64")
    absent = numpy.isnat(times)
    return numpy.where(absent, numpy.nan, seconds) if absent.any() else seconds


def _texts(values, name):
    texts = values.to_pylist() if _is_arrow(values) else list(values)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"column '{name}' holds {text!r} in row {row}, which is neither number nor text")
    return [str(text) for text in texts]


def _column(values, name):
    if _is_arrow(values) and values.null_count > 0:
        raise InputError(f"column '{name}' has {values.null_count} nulls: leave such rows out, or fill them (a feature of kind impute)")
    numbers = _numbers(values)
    return _texts(values, name) if numbers is None else numbers


def _missing(values, listed):
    """Which of the values, also given as a list, are none: None, pandas' and Arrow's nulls, NaN."""
    if _is_arrow(values):
        return [value is None for value in listed]
    if hasattr(values, "isna"):
        return [bool(absent) for absent in values.isna()]
    return [value is None or (isinstance(value, float) and value != value) for value in listed]


def _has_nulls(values):
    """Of a kind that NaN does not tell without making fractions of whole numbers."""
    if _is_arrow(values):
        return values.null_count > 0
    # Only pandas' own kinds of columns have a value for what is absent.
    is_nullable = getattr(getattr(values, "dtype", None), "na_value", None) is not None
    return is_nullable and bool(values.isna().any())


def _column_with_gaps(values, name):
    """The column, with a list of what it lacks where NaN does not say it."""
    numbers = None if _has_nulls(values) else _numbers(values)
    if numbers is not None:
        return numbers
    listed = values.to_pylist() if _is_arrow(values) else list(values)
    missing = _missing(values, listed)
    present = [value for value, absent in zip(listed, missing) if not absent]
    if all(isinstance(value, str) for value in present):
        return ["" if absent else str(value) for value, absent in zip(listed, missing)], missing
    known = _column(numpy.asarray(present), name)
    if isinstance(known, list):
        raise InputError(f"column '{name}' holds numbers and texts")
    filled = numpy.zeros(len(listed), known.dtype)
    filled[~numpy.asarray(missing, bool)] = known
    return filled, missing


def columns_of(table, names=(), imputed=()):
    """All columns by their names, or these; those that may lack values as pairs, if need be, with a list of which do."""
    series = _series(table)
    for name in names:
        if name not in series:
            raise InputError(f"there is no column '{name}'; there are {', '.join(series)}")
    return {name: (_column_with_gaps if name in imputed else _column)(series[name], name) for name in (names or series)}


def names_of(table):
    """Of all columns, and of those that hold numbers."""
    series = _series(table)
    return list(series), [name for name, values in series.items() if _numbers(values) is not None]
