"""What people hand to fit, evaluate and predict, as arrays of the engine or as a dataset."""

import sys

from thalweg._core import InputError, data


def _module(value):
    return type(value).__module__.split(".")[0]


def is_dataset(value):
    return isinstance(value, data.Dataset) or is_loader(value)


def is_loader(value):
    torch_data = sys.modules.get("torch.utils.data")
    return torch_data is not None and isinstance(value, torch_data.DataLoader)


def _table_columns(table):
    """Names and arrays of a pandas frame or an Arrow table."""
    if _module(table) == "pyarrow":
        table = table.combine_chunks()
        return [(name, _chunk(table.column(name), name)) for name in table.column_names]
    return [(str(name), _numbers(table[name].to_numpy(), str(name))) for name in table.columns]


def _chunk(column, name):
    if column.null_count > 0:
        raise InputError(f"column '{name}' has {column.null_count} nulls: leave such rows out or fill them")
    return _numbers(column.to_numpy(), name)


def _numbers(array, name):
    if array.dtype.kind not in "fiub":
        raise InputError(f"column '{name}' holds {array.dtype}, not numbers: encode it or leave it out")
    return array


def is_table(value):
    return hasattr(value, "columns") and (hasattr(value, "column_names") or hasattr(value, "dtypes"))


def arrays_of(value):
    """Each input with the names of its columns: a table is one matrix, a tuple or list of arrays several inputs."""
    if is_table(value):
        columns = _table_columns(value)
        return [(data.join_columns(columns), [name for name, _ in columns])]
    if isinstance(value, tuple):
        return [item for part in value for item in arrays_of(part)]
    if isinstance(value, dict):
        return [item for part in value.values() for item in arrays_of(part)]
    if _module(value) in ("pandas", "pyarrow") and hasattr(value, "to_numpy"):
        name = getattr(value, "name", None)
        return [(_numbers(value.to_numpy(), "target" if name is None else str(name)), [])]
    return [(value, [])]
