"""The cases of the ONNX backend suite that the PyPI package `onnx` brings along."""

import pathlib
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test import loader

KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted", "real")


def all_cases():
    """Name -> case, of all kinds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: case for kind in KINDS for case in loader.load_model_tests(kind=kind)}


def _array(value):
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _read(path, type_proto):
    tensor = onnx.TensorProto()
    if type_proto.WhichOneof("value") != "tensor_type":
        return None
    tensor.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(tensor)


def _dummy_input(info):
    """The numbers for which the expected outputs of the light networks were computed."""
    shape = tuple(d.dim_value if d.HasField("dim_value") else 1 for d in info.type.tensor_type.shape.dim)
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) / count).astype(np.float32)


def _light(case):
    path = pathlib.Path(onnx.__file__).parent.parent / case.url
    model = onnx.load(path)
    initializers = {tensor.name for tensor in model.graph.initializer}
    inputs = [_dummy_input(info) for info in model.graph.input if info.name not in initializers]
    expected = path.with_name(path.stem + "_output_0.pb")
    return model, [(inputs, [_read(expected, model.graph.output[0].type)])]


def load(case):
    """The model, and pairs of inputs and expected outputs; lists stand for sequences, None for an empty optional."""
    if case.model is not None:
        return case.model, [([_array(v) for v in i], [_array(v) for v in o]) for i, o in case.data_sets]
    if case.url is not None:
        return _light(case)
    folder = pathlib.Path(case.model_dir)
    model = onnx.load(folder / "model.onnx")
    initializers = {tensor.name for tensor in model.graph.initializer}
    inputs = [info for info in model.graph.input if info.name not in initializers]
    sets = []
    for data in sorted(folder.glob("test_data_set_*")):
        sets.append(([_read(data / f"input_{i}.pb", info.type) for i, info in enumerate(inputs)],
                     [_read(data / f"output_{i}.pb", info.type) for i, info in enumerate(model.graph.output)]))
    return model, sets
