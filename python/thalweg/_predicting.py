"""What Model.predict takes and gives: raw data as people have them in, answers with names out."""

import collections.abc
import os
import pathlib
import weakref

import numpy

from thalweg import _inputs
from thalweg._core import InputError, Predictor, columns_needed, data, inputs_from_table, is_table_file

# Pictures that are decoded at once: they need memory.
_PICTURES_AT_ONCE = 64
_ROWS_AT_ONCE = 256
# Of models that have been asked: to read what a file says, a vocabulary say, takes longer than many an answer.
_PREDICTORS = weakref.WeakKeyDictionary()


class _Raw:
    """What was given, as items of one kind. A single item gets a single answer."""

    def __init__(self, make, items, single=False, at_once=_ROWS_AT_ONCE):
        # From some of the items to the inputs of the model.
        self.make = make
        self.items = items
        self.single = single
        self.at_once = at_once

    def __len__(self):
        return len(self.items)


def predict(model, given, top=None, batch_size=None):
    predictor = _PREDICTORS.get(model)
    if predictor is None:
        predictor = _PREDICTORS[model] = Predictor(model)
    raw = _recognised(model, predictor, given)
    answers = _Answers(model, predictor, top)
    if batch_size is not None and batch_size < 1:
        raise InputError(f"batch_size is {batch_size}, must be at least 1")
    at_once = _rows_that_fit(model) or batch_size or (raw.at_once if predictor.gives_rows else 1)
    for begin in range(0, len(raw), at_once):
        items = raw.items[begin : begin + at_once]
        answers.add(_run(model, raw.make, items), len(items))
    return answers.of_all(raw.single)


def _rows_that_fit(model):
    """The number of rows that the model insists on, or None."""
    shape = model.inputs[0].shape
    return shape[0] if shape else None


def _run(model, make, items):
    """The outputs, a list for each of them: of all items in one run if each output has a row for each, else one by one."""
    fixed = _rows_that_fit(model)
    padded = [*items, *([items[-1]] * (fixed - len(items)))] if fixed and len(items) < fixed else items
    inputs = make(padded)
    outputs = model(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    if all(output.ndim > 0 and len(output) == len(padded) for output in outputs):
        return [output[: len(items)] for output in outputs]
    if len(items) == 1:
        return [output[None] for output in outputs]
    # What was found in each picture, say: nobody knows where that of one ends.
    return [[output[0] for output in parts] for parts in zip(*(_run(model, make, items[i : i + 1]) for i in range(len(items))))]


# What was given.


def _recognised(model, predictor, given):
    if _is_text_or_path(given) or isinstance(given, (bytes, bytearray, memoryview)) or _is_picture(given):
        return _one(model, predictor, given)
    if _inputs.is_table(given) or _is_columns(model, given):
        return _table(model, predictor, given)
    if isinstance(given, collections.abc.Mapping):
        return _row_of_columns(model, predictor, given)
    if isinstance(given, numpy.ndarray) and given.dtype.kind not in "OUS":
        return _array(model, predictor, given)
    listed = _as_list(given)
    if listed == [] and (predictor.takes_texts or predictor.takes_pictures):
        return _Raw(None, [])
    if not listed:
        return _arrays(model, given)
    if isinstance(listed[0], collections.abc.Mapping) and predictor.takes_columns:
        return _table(model, predictor, _columns_of_rows(listed))
    if _is_text_or_path(listed[0]) or isinstance(listed[0], (bytes, bytearray, memoryview)) or _is_picture(listed[0]):
        return _several(model, predictor, listed)
    if isinstance(listed[0], numpy.ndarray) and _is_pixels(model, predictor, listed[0]):
        return _pictures(predictor, listed)
    return _arrays(model, given)


def _is_text_or_path(value):
    return isinstance(value, (str, os.PathLike))


def _is_picture(value):
    """Of PIL's."""
    return _inputs._module(value) == "PIL" and hasattr(value, "convert")


def _as_list(given):
    """Of texts, paths, pictures or rows; None for anything else."""
    if isinstance(given, (list, tuple)):
        return list(given)
    if hasattr(given, "to_pylist"):
        return given.to_pylist()
    if isinstance(given, numpy.ndarray) or _inputs._module(given) == "pandas":
        return list(given)
    return None


def _one(model, predictor, given):
    if isinstance(given, str) and predictor.takes_texts:
        return _texts(predictor, [given], single=True)
    if not _is_text_or_path(given):
        return _pictures(predictor, [given], single=True)
    path = pathlib.Path(os.fspath(given))
    if predictor.takes_texts:
        return _texts(predictor, [line for line in _content_text(path).splitlines() if line])
    if is_table_file(path.name):
        return _table(model, predictor, _read_table(model, path))
    if path.is_dir():
        return _pictures(predictor, _pictures_below(path))
    if path.suffix.lower() == ".npy":
        return _array(model, predictor, numpy.load(path, allow_pickle=False))
    return _pictures(predictor, [given], single=True)


def _several(model, predictor, listed):
    return _texts(predictor, listed) if predictor.takes_texts else _pictures(predictor, listed)


def _pictures_below(folder):
    found = data.image_files(folder)
    if not found:
        raise InputError(f"{os.fspath(folder)}: there are no pictures in this folder")
    return [folder / path for path in found]


def _read_table(model, path):
    """The columns that the model needs."""
    from thalweg import _tables

    names, may_lack = columns_needed(model, [name for name, _ in _tables.table_columns(os.fspath(path))])
    return _tables.read_columns(os.fspath(path), names, may_lack=may_lack)


# Texts.


def _content_text(path):
    try:
        return _content(path).decode()
    except UnicodeDecodeError:
        raise InputError(f"{path}: is no text in UTF-8, which the model's file says that it takes") from None


def _texts(predictor, texts, single=False):
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"row {number} holds {text!r}, which is no text")
    return _Raw(predictor.from_texts, texts, single)


# Pictures.


def _pictures(predictor, pictures, single=False):
    if predictor.takes_texts or predictor.takes_columns:
        takes = "texts" if predictor.takes_texts else "columns of a table"
        raise InputError(f"{_told(pictures[0])}: the model's file says that it takes {takes}")

    def make(items):
        return predictor.from_pictures([_name(item, number) for number, item in enumerate(items)], [_content(item) for item in items])

    return _Raw(make, pictures, single, _PICTURES_AT_ONCE)


def _told(picture):
    return repr(picture) if _is_text_or_path(picture) else type(picture).__name__


def _name(picture, number):
    if _is_text_or_path(picture):
        return os.fspath(picture)
    return getattr(picture, "filename", "") or f"picture {number}"


def _content(picture):
    """The bytes of a file, or pixels."""
    if _is_text_or_path(picture):
        try:
            return pathlib.Path(picture).read_bytes()
        except OSError as error:
            raise InputError(f"{os.fspath(picture)}: {error.strerror or error}") from None
    if isinstance(picture, (bytes, bytearray, memoryview)):
        return bytes(picture)
    if _is_picture(picture):
        return numpy.asarray(picture.convert("L" if picture.mode in ("1", "L") else "RGB"))
    return numpy.ascontiguousarray(picture)


def _is_pixels(model, predictor, array):
    """Whether an array is one picture rather than what the model takes as it is."""
    if array.dtype != numpy.uint8 or array.ndim not in (2, 3) or array.ndim == 3 and array.shape[2] not in (1, 3, 4):
        return False
    shape = model.inputs[0].shape
    return predictor.takes_pictures or (len(model.inputs) == 1 and shape is not None and len(shape) == 4)


# Columns.


def _is_columns(model, given):
    """A dict of whole columns, that is, rather than of the model's inputs."""
    if not isinstance(given, collections.abc.Mapping) or given.keys() == {value.name for value in model.inputs}:
        return False
    return any(isinstance(values, (list, tuple, numpy.ndarray)) or hasattr(values, "__len__") and not isinstance(values, str)
               for values in given.values())  # fmt: skip


def _columns_of_rows(rows):
    names = list(rows[0])
    for number, row in enumerate(rows):
        for name in names:
            if name not in row:
                raise InputError(f"row {number} has no '{name}', which row 0 has")
    return {name: [row[name] for row in rows] for name in names}


def _table(model, predictor, table, single=False):
    if predictor.takes_texts or predictor.takes_pictures:
        takes = "texts" if predictor.takes_texts else "pictures"
        raise InputError(f"a table: the model's file says that it takes {takes}; give the column that holds them")
    inputs = inputs_from_table(model, table)
    return _arrays(model, tuple(inputs), single)


def _row_of_columns(model, predictor, given):
    if predictor.takes_columns:
        return _table(model, predictor, {name: [value] for name, value in given.items()}, single=True)
    names = [value.name for value in model.inputs]
    if set(given) != set(names):
        raise InputError(f"the model's inputs are {', '.join(names)}, and its file names no columns; got {', '.join(map(str, given))}")
    return _arrays(model, tuple(given[name] for name in names))


# Arrays that are what the model takes.


def _array(model, predictor, array):
    if _is_pixels(model, predictor, array):
        return _pictures(predictor, [array], single=True)
    if array.ndim == 4 and array.dtype == numpy.uint8 and predictor.takes_pictures:
        return _pictures(predictor, list(array))
    return _arrays(model, array)


def _lacks_the_batch(array, value):
    return value.shape is not None and numpy.ndim(array) == len(value.shape) - 1


def _arrays(model, given, single=False):
    declared = model.graph.inputs
    arrays = [array for array, _ in _inputs.arrays_of(given, "the data")]
    if len(arrays) != len(declared):
        raise InputError(f"the model has {len(declared)} inputs, got {len(arrays)}")
    if not single and all(map(_lacks_the_batch, arrays, declared)):
        # One sample, without the dimension of the batch.
        arrays, single = [numpy.asarray(array)[None] for array in arrays], True
    data.require_same_rows(arrays, [f"input '{value.name}'" for value in declared])

    def fitted(arrays):
        return [data.fit_input(array, value, []) for array, value in zip(arrays, declared)]

    rows = numpy.arange(len(arrays[0]))
    if _rows_that_fit(model):
        return _Raw(lambda items: fitted([array[items] for array in arrays]), rows, single)
    arrays = fitted(arrays)
    return _Raw(lambda items: [array[items] for array in arrays], rows, single)


# What comes back.


class _Answers:
    """Those of all rows: classes with scores, or values."""

    def __init__(self, model, predictor, top):
        if top is not None and top < 1:
            raise InputError(f"top is {top}, must be at least 1")
        self._names = [value.name for value in model.outputs]
        self._predictor = predictor
        self._top = top
        self._classes = top is not None or predictor.gives_classes
        self._ranked = []
        # Of each output, an array with several rows, or a list of them, for each run.
        self._parts = [[] for _ in self._names]

    def add(self, outputs, rows):
        if self._classes:
            first = numpy.asarray(outputs[0])
            named = {} if self._top is None else {"top": self._top}
            self._ranked.extend(self._predictor.ranked(first.reshape(rows, -1), **named))
            return
        for parts, output in zip(self._parts, outputs):
            parts.append(output)

    def of_all(self, single):
        if self._classes:
            return self._ranked[0] if single else self._ranked
        values = [_values(parts) for parts in self._parts]
        values = [column[0] for column in values] if single else values
        return values[0] if len(values) == 1 else dict(zip(self._names, values))


def _values(parts):
    """As one array, [rows] where each row is a number; a list of rows if they differ in shape."""
    if not parts:
        return numpy.zeros(0, "float32")
    if len({numpy.shape(row) for part in parts for row in (part if isinstance(part, list) else part[:1])}) > 1:
        return [row for part in parts for row in part]
    joined = numpy.concatenate([numpy.asarray(part) for part in parts])
    return joined[:, 0] if joined.ndim == 2 and joined.shape[1] == 1 else joined
