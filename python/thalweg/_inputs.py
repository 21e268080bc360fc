"""What people hand to fit, evaluate and predict, as arrays of the engine or as a dataset."""

import sys

import numpy

from thalweg._core import InputError, data


def _module(value):
    return type(value).__module__.split(".")[0]


def is_dataset(value):
    return isinstance(value, data.Dataset) or is_loader(value)


def is_loader(value):
    torch_data = sys.modules.get("torch.utils.data")
    return torch_data is not None and isinstance(value, torch_data.DataLoader)


def _arrow_columns(table):
    """Of a table or a record batch."""
    for name in table.schema.names:
        column = table.column(name)
        if column.null_count > 0:
            raise InputError(f"column '{name}' has {column.null_count} nulls: leave such rows out or fill them")
        yield name, _numbers(_arrow_array(column), name, column.type)


def _arrow_array(array):
    # A ChunkedArray always copies; an Array refuses to unless it is told.
    return array.to_numpy() if hasattr(array, "chunks") else array.to_numpy(zero_copy_only=False)


def _frame_columns(frame):
    """Of a pandas frame or what looks like one."""
    for position, name in enumerate(frame.columns):
        column = frame.iloc[:, position] if hasattr(frame, "iloc") else frame[name]
        yield str(name), _numbers(_series_array(column), str(name), column.dtype)


def _series_array(series):
    array = series.to_numpy()
    # pandas' own numbers that may be absent come as objects; NaN then stands for those that are.
    is_nullable = array.dtype == object and getattr(series.dtype, "kind", "O") in "fiub"
    return series.to_numpy(dtype="float64", na_value=float("nan")) if is_nullable else array


def _numbers(array, name, dtype):
    if array.dtype.kind not in "fiub":
        raise InputError(f"column '{name}' holds {dtype}, not numbers: encode it or leave it out")
    return array


def holds_texts(values):
    """Whether what should be numbers begins with a text."""
    try:
        first = numpy.asarray(values[:1]).reshape(-1).tolist()
    except (TypeError, KeyError, ValueError, RuntimeError):
        return False
    return any(isinstance(value, str) for value in first)


def is_table(value):
    return hasattr(value, "columns") and (hasattr(value, "schema") or hasattr(value, "dtypes"))


def column_names(value):
    """Of a table whose columns have names, else None."""
    if not is_table(value):
        return None
    names = list(value.schema.names if _module(value) == "pyarrow" else value.columns)
    return names if all(isinstance(name, str) for name in names) else None


def trained_names(value):
    """Of the columns that a model is trained with, in memory or in files; None if they have none."""
    return getattr(value, "input_columns", None) if isinstance(value, data.Dataset) else column_names(value)


def in_order(table, names):
    """The table with its columns in this order."""
    given = column_names(table)
    if given == names:
        return table
    if sorted(given) != sorted(names):
        missing = [name for name in names if name not in given]
        unknown = [name for name in given if name not in names]
        told = [f"{what}: {', '.join(some)}" for what, some in (("missing", missing), ("not known", unknown)) if some]
        raise InputError(f"the columns are not those of the training data; {'; '.join(told) or 'some come twice'}")
    return table.select(names) if _module(table) == "pyarrow" else table[names]


def _is_sparse(value):
    """A matrix of scipy's, as encoders of categories and texts give."""
    return _module(value) == "scipy" and hasattr(value, "toarray") and hasattr(value, "nnz")


def _dense(matrix, what):
    if matrix.dtype.kind not in "fiub":
        raise InputError(f"{what} is a sparse matrix of {matrix.dtype}, not numbers")
    # In float32 before it is made larger.
    matrix = matrix.astype("float32") if matrix.dtype.kind == "f" else matrix
    try:
        return matrix.toarray()
    except MemoryError:
        rows, columns = matrix.shape
        raise InputError(f"{what}: a sparse matrix of {rows} x {columns} has no place in memory as a dense one") from None


def arrays_of(value, what):
    """Each input with the names of its columns: a table is one matrix, a tuple or dict of arrays several inputs."""
    if is_table(value):
        columns = list(_arrow_columns(value) if _module(value) == "pyarrow" else _frame_columns(value))
        return [(data.join_columns(columns), [name for name, _ in columns])]
    if _is_sparse(value):
        return [(_dense(value, what), [])]
    if isinstance(value, tuple):
        return [item for part in value for item in arrays_of(part, what)]
    if isinstance(value, dict):
        return [item for name, part in value.items() for item in arrays_of(part, f"{what}['{name}']")]
    if _module(value) == "pyarrow" and hasattr(value, "null_count"):
        return [(_numbers(_arrow_array(value), what, value.type), [])]
    if _module(value) == "pandas" and hasattr(value, "to_numpy"):
        return [(_numbers(_series_array(value), what, value.dtype), [])]
    return [(data.as_array(value, what), [])]
