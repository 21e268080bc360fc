"""Arrays go in and out without copies where their layout allows."""

import gc
import weakref

import ml_dtypes
import numpy as np
import pyarrow as pa
import pytest

import thalweg

DTYPES = ["float32", "float64", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"]


def round_trip(array):
    """What the engine holds of an array: a constant's content."""
    return thalweg.Graph().constant(array).data


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)])
def test_numpy_round_trip(dtype, shape, rng):
    array = (rng.random(shape) * 100).astype(dtype)
    back = round_trip(array)
    assert back.dtype == array.dtype and back.shape == array.shape
    np.testing.assert_array_equal(back, array)


def test_layouts_that_are_not_row_major_are_copied(rng):
    array = rng.random((4, 6)).astype("float32")
    for view in (array.T, array[:, ::2], array[::-1], np.asfortranarray(array)):
        np.testing.assert_array_equal(round_trip(view), view)
    np.testing.assert_array_equal(round_trip(array.astype(">f4")), array)


def test_bfloat16():
    array = np.arange(6, dtype="float32").reshape(2, 3).astype(ml_dtypes.bfloat16)
    back = round_trip(array)
    assert back.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(back.astype("float32"), array.astype("float32"))


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float4_e2m1fn", "int4", "uint4", "int2"])
def test_numbers_of_few_bits(name):
    array = np.array([[0, 1], [1, 0]]).astype(getattr(ml_dtypes, name))
    back = round_trip(array)
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back.astype("float32"), array.astype("float32"))


def test_texts():
    for array in (np.array([["a", "\u00e4b"]]), np.array([["a", "\u00e4b"]], dtype=object), np.array([[b"a", "\u00e4b".encode()]])):
        back = round_trip(array)
        assert back.dtype == object and back.shape == (1, 2)
        assert back.tolist() == [["a", "\u00e4b"]]


def test_arrow_arrays():
    np.testing.assert_array_equal(round_trip(pa.array([1.5, 2.5, 3.5])), [1.5, 2.5, 3.5])
    np.testing.assert_array_equal(round_trip(pa.array([1, 2, 3, 4], pa.int32()).slice(1, 2)), [2, 3])
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(12, dtype="float32")), 3)
    np.testing.assert_array_equal(round_trip(vectors), np.arange(12).reshape(4, 3))
    np.testing.assert_array_equal(round_trip(vectors.slice(1, 2)), np.arange(3, 9).reshape(2, 3))


def test_arrays_that_are_no_numbers_are_refused(perceptron):
    for bad in (np.array(["a", "b"]), np.array([None, 1], dtype=object), pa.array([1.0, None]), "text", {"a": 1}):
        with pytest.raises((TypeError, thalweg.InputError)):
            perceptron(bad)
    with pytest.raises(TypeError, match="element type object"):
        perceptron(np.array([[None] * 4], dtype=object))


class Exporter:
    """An array that is reached through DLPack only, as those of other libraries."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack(perceptron, rng):
    array = rng.random((2, 4)).astype("float32")
    np.testing.assert_array_equal(perceptron(Exporter(array)), perceptron(array))


def test_results_stay_valid_without_the_model(perceptron, rng):
    x = rng.random((5, 4)).astype("float32")
    result = perceptron(x)
    copy = result.copy()
    perceptron(np.zeros_like(x))
    np.testing.assert_array_equal(result, copy)
    assert result.flags.writeable


def test_inputs_are_let_go_of(perceptron, rng):
    class Array(np.ndarray):
        """Unlike its base class it can be watched."""

    x = rng.random((2, 4)).astype("float32").view(Array)
    watched = weakref.ref(x)
    perceptron(x)
    del x
    gc.collect()
    assert watched() is None
