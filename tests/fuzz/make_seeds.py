#!/usr/bin/env python3
"""Writes the seeds in corpus/: small sound files, and small files that ask for much.

Needs the environment of scripts/setup-onnx.
"""

import json
import pathlib
import struct

import numpy as np
from onnx import TensorProto, helper, numpy_helper

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"
HUGE = 1 << 36
LARGEST = (1 << 63) - 1


def integers(name, *values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def model(text, *initializers, x=(None, 3), opset=17):
    """`text`: lines "Op in,in -> out,out key=value"."""
    nodes = []
    for line in text.strip().splitlines():
        op, inputs, _, outputs, *rest = line.split()
        attributes = {key: json.loads(value) for key, value in (item.split("=") for item in rest)}
        names = [] if inputs == "-" else [part.strip("_") for part in inputs.split(",")]
        nodes.append(helper.make_node(op, names, outputs.split(","), **attributes))
    return whole(nodes, initializers, x, opset)


def whole(nodes, initializers, x=(None, 3), opset=17):
    graph = helper.make_graph(nodes, "seed", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def loop(trips):
    """Doubles x `trips` times, or forever."""
    flag = helper.make_tensor_value_info("go", TensorProto.BOOL, [])
    step = helper.make_tensor_value_info("i", TensorProto.INT64, [])
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("v", "w", "s")]
    body = helper.make_graph([helper.make_node("Add", ["v", "v"], ["w"]), helper.make_node("Identity", ["w"], ["s"]),
                              helper.make_node("Identity", ["go"], ["again"])], "body", [step, flag, value[0]],
                             [helper.make_tensor_value_info("again", TensorProto.BOOL, []), value[1], value[2]])
    return whole([helper.make_node("Loop", ["n", "", "x"], ["y", "all"], body=body)], [integers("n", trips)])


def weights(name, *shape):
    return numpy_helper.from_array(np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape), name)


ONNX = {
    "layers": model("Conv x,w -> a\nRelu a -> b\nMaxPool b -> c kernel_shape=[2,2]\nFlatten c -> d\nSoftmax d -> y",
                    weights("w", 2, 3, 3, 3), x=(1, 3, 6, 6)),
    "shapes": model("Shape x -> s\nConcat s,t -> u axis=0\nExpand x,v -> e\nReshape e,r -> f\nTranspose f -> y perm=[1,0]",
                    integers("t", 1), integers("v", 2, 3), integers("r", -1, 2)),
    "matmul": model("MatMul x,w -> a\nAdd a,b -> c\nTanh c -> d\nReduceMean d -> y axes=[1]", weights("w", 3, 4),
                    weights("b", 4)),
    "data_shapes": model("NonZero x -> n\nCast n -> f to=1\nTranspose f -> y"),
    "quantized": model("QuantizeLinear x,s,z -> q\nDequantizeLinear q,s,z -> y",
                       numpy_helper.from_array(np.array(0.1, np.float32), "s"),
                       numpy_helper.from_array(np.array(3, np.uint8), "z")),
    "loop": loop(3),
    "endless_loop": loop((1 << 63) - 1),
    "huge_constant": model("ConstantOfShape n -> y", integers("n", HUGE)),
    "huge_expand": model("Expand x,n -> y", integers("n", HUGE, 2, 3)),
    "huge_range": model("Range a,n,d -> y", integers("a", 0), integers("n", HUGE), integers("d", 1)),
    "huge_tile": model("Tile x,n -> y", integers("n", HUGE, HUGE)),
    "huge_pad": model("Pad x,n -> y", integers("n", HUGE, 0, HUGE, 0)),
    "huge_resize": model("Resize x,_,_,n -> y", integers("n", HUGE, 3)),
    "huge_one_hot": model("Cast x -> i to=7\nOneHot i,n,v -> y", integers("n", HUGE), weights("v", 2)),
    "huge_reshape": model("Reshape x,n -> y", integers("n", HUGE, HUGE, 3)),
    "huge_step": model("Slice x,a,e,d,s -> y", integers("a", 0), integers("e", 9), integers("d", 0),
                       integers("s", LARGEST)),
    "huge_pads": model("Pad x,n -> y", integers("n", LARGEST, 0, LARGEST, 0)),
    "wrapped_pad": model('Pad x,n -> y mode="wrap"', integers("n", 1)),
    "huge_pool": model(f"MaxPool x -> y kernel_shape=[{HUGE},{HUGE}]", x=(1, 3, 6, 6)),
    "huge_dilation": model(f"MaxPool x -> y kernel_shape=[3,3] dilations=[{LARGEST},1]", x=(1, 3, 6, 6)),
    "huge_stride": model(f"ConvTranspose x,w -> y strides=[{LARGEST},1]", weights("w", 3, 2, 3, 3), x=(1, 3, 6, 6)),
    "huge_groups": model(f"Conv x,w -> y group={HUGE * HUGE // 1024}", weights("w", 0, 2048, 3, 3), x=(1, 3, 6, 6)),
    "huge_blocks": model(f"DepthToSpace x -> y blocksize={HUGE}", x=(1, 3, 6, 6)),
    "huge_taps": model('Resize x,_,_,n -> y keep_aspect_ratio_policy="not_smaller" mode="linear" antialias=1',
                       integers("n", 1 << 30, 1), x=(2, 3)),
    "many_parts": model(f"Split x -> y num_outputs={LARGEST}", opset=18),
    "concat_of_nothing": whole([helper.make_node("Concat", [], ["y"], axis=0)], []),
    "concat_of_absent": whole([helper.make_node("Concat", ["", "x"], ["y"], axis=0)], []),
    "conv_of_vectors": model("Conv w,w -> y", weights("w", 3)),
    "far_hardmax": model("Hardmax x -> y axis=1000"),
    "batches_of_one_index": model("GatherND x,n -> y batch_dims=1", integers("n", 0)),
    "far_eye": model(f"EyeLike x -> y k={-LARGEST - 1}"),
    "far_range": model("Range a,n,d -> y", integers("a", -LARGEST), integers("n", LARGEST), integers("d", 1 << 62)),
    "huge_quantizing_blocks": model(f"QuantizeLinear x,s -> y axis=1 block_size={LARGEST}", weights("s", 2, 3), x=(2, 3),
                                    opset=21),
    "pool_of_large_windows": model("MaxPool x -> y,i kernel_shape=[1000000,1000000] pads=[900000,900000,900000,900000]",
                                   x=(1, 1, 2, 2)),
    "long_sequence": model("Expand x,n -> s\nRNN s,w,r,_,l -> y hidden_size=2", integers("n", 1 << 34, 1, 3),
                           weights("w", 1, 2, 3), weights("r", 1, 2, 2),
                           numpy_helper.from_array(np.array([1], np.int32), "l"), x=(1, 3)),
    "lowest_quotient": model("Cast x -> i to=7\nAdd i,a -> b\nDiv b,m -> c\nMul c,a -> d\nCumSum d,z -> e\nCast e -> y to=1",
                             integers("a", -LARGEST - 1), integers("m", -1), integers("z", 0)),
    "negative_dims": model("Reshape x,n -> y", integers("n", -5, 3)),
    "cyclic": model("Add x,y -> a\nRelu a -> y"),
    "unknown_operator": model("Frobnicate x -> y"),
}


def safetensors(header, data=b"\x00" * 8):
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


SAFETENSORS = {
    "one": safetensors({"a": entry()}),
    "metadata": safetensors({"__metadata__": {"format": "pt"}, "a": entry("F16", (4,)), "b": entry("U8", (0,), (8, 8))}),
    "huge_shape": safetensors({"a": entry(shape=(HUGE, HUGE))}),
    "overlapping": safetensors({"a": entry(), "b": entry()}),
    "long_header": struct.pack("<Q", HUGE) + b"{}",
    "deep": safetensors(b'{"a":' + b"[" * 300 + b"]" * 300 + b"}"),
}


def main():
    for name, proto in ONNX.items():
        (CORPUS / "onnx" / name).write_bytes(proto.SerializeToString(deterministic=True))
    for name, data in SAFETENSORS.items():
        (CORPUS / "safetensors" / name).write_bytes(data)


if __name__ == "__main__":
    main()
