"""Thalweg's C interface (include/thalweg/c_api.h) for the ONNX backend suite and tests/onnx_models, through ctypes."""

import ctypes
import json

import ml_dtypes
import numpy as np

# In the order of tw_dtype.
DTYPES = [np.dtype(t) for t in (np.float32, np.float64, ml_dtypes.bfloat16, np.float16, np.int8, np.uint8, np.int32,
                                np.int64, np.bool_, np.int16, np.uint16, np.uint32, np.uint64, ml_dtypes.float8_e4m3fn,
                                ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz,
                                ml_dtypes.float8_e8m0fnu, ml_dtypes.float4_e2m1fn, ml_dtypes.int4, ml_dtypes.uint4,
                                ml_dtypes.int2, ml_dtypes.uint2)]
TEXT, SEQUENCE, NOTHING = 23, 24, 25


class Text(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char_p), ("size", ctypes.c_size_t)]


class Tensor(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_int), ("rank", ctypes.c_int32), ("dims", ctypes.POINTER(ctypes.c_int64)),
                ("data", ctypes.c_void_p)]


class Options(ctypes.Structure):
    _fields_ = [("threads", ctypes.c_int32), ("precision", ctypes.c_int32), ("max_programs", ctypes.c_int32),
                ("max_memory", ctypes.c_uint64), ("max_seconds", ctypes.c_double)]


# The values of tw_precision.
PRECISIONS = {"f32": 1, "bf16": 2}


class OptimizeOptions(ctypes.Structure):
    _fields_ = [("forms", ctypes.c_char_p), ("calibration", ctypes.c_char_p), ("data", ctypes.POINTER(Tensor)),
                ("num_batches", ctypes.c_size_t), ("num_inputs", ctypes.c_size_t), ("max_drop", ctypes.c_double),
                ("seconds", ctypes.c_double), ("threads", ctypes.c_int32)]


class Refused(Exception):
    """Thalweg said that it cannot do this."""


class Library:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.tw_last_error.restype = ctypes.c_char_p
        self.lib.tw_result_num_tensors.restype = ctypes.c_size_t
        self.lib.tw_result_text.restype = ctypes.c_char_p

    def check(self, status):
        if status != 0:
            raise Refused(self.lib.tw_last_error().decode(errors="replace"))

    def load(self, serialized):
        handle = ctypes.c_void_p()
        self.check(self.lib.tw_model_load_bytes(serialized, ctypes.c_size_t(len(serialized)), None,
                                                ctypes.byref(handle)))
        return Model(self, handle)

    def open(self, path, precision="f32"):
        handle = ctypes.c_void_p()
        options = Options(precision=PRECISIONS[precision])
        self.check(self.lib.tw_model_load(str(path).encode(), ctypes.byref(options), ctypes.byref(handle)))
        return Model(self, handle)

    def quantize(self, path, output, batches):
        """Writes the model in int8, calibrated on the batches, whatever it loses; what tw_optimize found."""
        tensors, kept = as_tensors([array for batch in batches for array in batch])
        options = OptimizeOptions(forms=b"int8", data=tensors, num_batches=len(batches), num_inputs=len(batches[0]),
                                  max_drop=1.0, seconds=1e-3)
        result = ctypes.c_void_p()
        self.check(self.lib.tw_optimize(str(path).encode(), str(output).encode(), ctypes.byref(options),
                                        ctypes.byref(result)))
        del kept
        try:
            return json.loads(self.lib.tw_result_text(result))["forms"][0]
        finally:
            self.lib.tw_result_free(result)


def _elements(array):
    """The dtype, shape, memory and what must live as long, of an array, a list or None."""
    if array is None:
        return NOTHING, (), None, []
    if isinstance(array, list):
        tensors, kept = as_tensors(array)
        return SEQUENCE, (len(array),), tensors, kept
    array = np.asarray(array)
    if array.dtype.kind in "OUS":
        texts = [text if isinstance(text, bytes) else str(text).encode() for text in array.ravel()]
        return TEXT, array.shape, (Text * len(texts))(*[Text(text, len(text)) for text in texts]), texts
    if array.dtype not in DTYPES:
        raise Refused(f"an input of type {array.dtype} cannot be passed")
    array = np.ascontiguousarray(array).reshape(array.shape)
    return DTYPES.index(array.dtype), array.shape, array.ctypes.data, [array]


def as_tensors(arrays):
    """Arrays, lists of them (sequences) and None as the C interface takes them, and what must live as long as they are
    used."""
    tensors = (Tensor * len(arrays))()
    kept = []
    for tensor, array in zip(tensors, arrays):
        dtype, shape, data, own = _elements(array)
        dims = (ctypes.c_int64 * len(shape))(*shape)
        kept += [own, dims, data]
        tensor.dtype, tensor.rank, tensor.dims = dtype, len(shape), dims
        tensor.data = ctypes.cast(data, ctypes.c_void_p) if isinstance(data, ctypes.Array) else data
    return tensors, kept


class Model:
    def __init__(self, library, handle):
        self.library = library
        self.handle = handle

    def __del__(self):
        if self.handle:
            self.library.lib.tw_model_free(self.handle)

    def run(self, arrays):
        tensors, kept = as_tensors(arrays)
        result = ctypes.c_void_p()
        lib = self.library.lib
        self.library.check(lib.tw_model_run(self.handle, tensors, ctypes.c_size_t(len(arrays)), ctypes.byref(result)))
        del kept
        try:
            return [self._copy(result, i) for i in range(lib.tw_result_num_tensors(result))]
        finally:
            lib.tw_result_free(result)

    def _copy(self, result, index):
        tensor = Tensor()
        self.library.check(self.library.lib.tw_result_tensor(result, ctypes.c_size_t(index), ctypes.byref(tensor)))
        return self._array(tensor)

    def _array(self, tensor):
        """An array, a list of arrays for a sequence, or None."""
        if tensor.dtype == NOTHING:
            return None
        shape = [tensor.dims[d] for d in range(tensor.rank)]
        count = int(np.prod(shape, dtype=np.int64))
        if tensor.dtype == SEQUENCE:
            items = ctypes.cast(tensor.data, ctypes.POINTER(Tensor))
            return [self._array(items[i]) for i in range(count)]
        if tensor.dtype == TEXT:
            texts = ctypes.cast(tensor.data, ctypes.POINTER(Text))
            found = [ctypes.string_at(texts[i].bytes, texts[i].size).decode() for i in range(count)]
            array = np.empty(count, object)
            array[:] = found
            return array.reshape(shape)
        dtype = DTYPES[tensor.dtype]
        return np.frombuffer(ctypes.string_at(tensor.data, count * dtype.itemsize), dtype).reshape(shape)
