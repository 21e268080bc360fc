"""ONNX files that are hard to read. Run by `make test-torch`."""

import numpy as np
import pytest
import thalweg

onnx = pytest.importorskip("onnx")


def _branch(name, weights):
    nodes = [onnx.helper.make_node("Add", ["x", weights[0]], [f"{name}_sum"])]
    nodes.append(onnx.helper.make_node("Mul", [f"{name}_sum", weights[1]], [f"{name}_y"]))
    output = onnx.helper.make_tensor_value_info(f"{name}_y", onnx.TensorProto.FLOAT, [None, 2])
    return onnx.helper.make_graph(nodes, name, [], [output])


def test_a_branch_reads_a_weight_by_two_names(tmp_path):
    """As functions do, of which an argument passes on what the branch reads by itself too."""
    weight = onnx.numpy_helper.from_array(np.array([2.0, 3.0], "float32"), "weight")
    nodes = [
        onnx.helper.make_node("Identity", ["weight"], ["again"]),
        onnx.helper.make_node(
            "If", ["asked"], ["y"], then_branch=_branch("one", ["weight", "again"]), else_branch=_branch("other", ["again", "again"])
        ),
    ]
    inputs = [
        onnx.helper.make_tensor_value_info("asked", onnx.TensorProto.BOOL, []),
        onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [None, 2]),
    ]
    output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [None, 2])
    graph = onnx.helper.make_graph(nodes, "choice", inputs, [output], [weight])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), tmp_path / "choice.onnx")
    model = thalweg.load(str(tmp_path / "choice.onnx"))
    for asked in (True, False):
        y = model({"asked": np.array(asked), "x": np.ones((1, 2), "float32")})["y"]
        np.testing.assert_array_equal(y, [[6.0, 12.0]])
