#!/usr/bin/env python3
"""Writes the seeds in corpus/: small sound files, and small files that ask for much.

Needs the environment of scripts/setup-onnx.
"""

import json
import pathlib
import struct
import zlib

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


CAFFE_INPUT = 'layer { name: "d" type: "Input" top: "d" input_param { shape { dim: 1 dim: 2 dim: 6 dim: 6 } } }\n'


def caffe_layer(kind, parameters="", bottom="d", top="y"):
    return CAFFE_INPUT + f'layer {{ name: "l" type: "{kind}" bottom: "{bottom}" top: "{top}" {parameters} }}'


def caffe_pair(name):
    folder = pathlib.Path(__file__).resolve().parent.parent / "golden" / "caffe"
    return (folder / f"{name}.prototxt").read_bytes() + b"\0" + (folder / f"{name}.caffemodel").read_bytes()


# A network, a byte 0, and its weights.
CAFFE = {
    "old": caffe_pair("old"),
    "functions": caffe_pair("functions"),
    "huge_outputs": caffe_layer("InnerProduct", "inner_product_param { num_output: 2147483647 }"),
    "huge_embedding": caffe_layer("Embed", "embed_param { num_output: 2147483647 input_dim: 2147483647 }"),
    "huge_tiles": caffe_layer("Tile", "tile_param { axis: 1 tiles: 1048576 }"),
    "huge_window": caffe_layer("Pooling", "pooling_param { kernel_size: 1048576 pad: 1048575 }"),
    "huge_lrn": caffe_layer("LRN", "lrn_param { local_size: 1048575 norm_region: WITHIN_CHANNEL }"),
    "many_bins": caffe_layer("SPP", "spp_param { pyramid_height: 16 }"),
    "odd_reshape": caffe_layer("Reshape", "reshape_param { shape { dim: 0 dim: -1 dim: -1 dim: 0 dim: 0 } axis: 1 }"),
    "priors": caffe_layer("PriorBox", 'bottom: "d" prior_box_param { min_size: 1 aspect_ratio: 1e-300 step: 1e300 }'),
    "detections": CAFFE_INPUT.replace("dim: 2 dim: 6 dim: 6", "dim: 24")
    + 'layer { name: "p" type: "Parameter" top: "p" parameter_param { shape { dim: 1 dim: 2 dim: 24 } } }\n'
    'layer { name: "o" type: "DetectionOutput" bottom: "d" bottom: "d" bottom: "p" top: "o" detection_output_param '
    "{ num_classes: 4 keep_top_k: 3 nms_param { top_k: 5 eta: 0.5 } code_type: CORNER } }",
    "cyclic": caffe_layer("ReLU", bottom="y"),
    "deep": "a{" * 4000,
    "first_form": 'input: "d" input_dim: 1 input_dim: 2 input_dim: 4 input_dim: 4 layers { layer { name: "p" type: "padding" '
    'pad: 1 } bottom: "d" top: "p" } layers { layer { name: "c" type: "conv" num_output: 3 kernelsize: 2 } bottom: "p" top: "c" }',
}


def png(width, height, rows=None):
    """Black, one bit a pixel; of `rows` rows, if the file is to end early."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    pixels = bytes((1 + (width + 7) // 8) * (height if rows is None else rows))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(pixels, 9)) + chunk(b"IEND", b""))


# Small files of images that are long in one direction, which transforms would make large in the other as well.
IMAGES = {
    "wide.png": png(65500, 1),
    "high.png": png(1, 65500),
    "widest.png": png(1 << 20, 1),
    "highest.png": png(1, 1 << 20),
    "endless.png": png(1, 100_000_000, rows=10),
}


# Height, width and the text of a mask.
RUNS = {
    "rectangle": b"\x14\x14e09;000000000000000W6",
    "diagonal": b"\x03\x03013000",
    "all": b"\x02\x050:",
    "empty": b"\x00\x00",
    "long_number": b"\xff\xffoooooooooo",
    "below_nothing": b"\x02\x05O",
}


def instances(**lists):
    usual = {"images": [{"id": 1, "height": 9, "width": 8, "file_name": "a.jpg"}], "categories": [{"id": 1, "name": "c"}],
             "annotations": []}
    return json.dumps(usual | lists, separators=(",", ":")).encode()


def annotation(**more):
    return {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 4, 4], "area": 16, "iscrowd": 0} | more


TRIANGLE = [[1, 1, 5, 1, 3, 6]]
FOUND = b"\x01" + json.dumps([{"image_id": 1, "category_id": 1, "score": 0.5, "bbox": [1, 1, 4, 4], "segmentation": TRIANGLE}]).encode()
FOUND_RUNS = b"\x01" + json.dumps([{"image_id": 1, "category_id": 1, "score": 1,
                                   "segmentation": {"size": [9, 8], "counts": "97n0"}}]).encode()
ANNOTATIONS = {
    "polygon": instances(annotations=[annotation(segmentation=TRIANGLE)]) + FOUND,
    "crowd": instances(annotations=[annotation(iscrowd=1, segmentation={"size": [9, 8], "counts": [9, 9, 54]})]) + FOUND_RUNS,
    "far_corner": instances(annotations=[annotation(segmentation=[[1e7, 1, -1e7, 8, 3, 1e300]])]) + FOUND,
    "huge_runs": instances(annotations=[annotation(segmentation={"size": [1 << 40, 1 << 40], "counts": [1 << 62]})]),
    "huge_picture": instances(images=[{"id": 1, "height": 1 << 20, "width": 2000}], annotations=[annotation()]) + FOUND,
    "wrong_kinds": instances(annotations=[annotation(segmentation="x", bbox=None, area="y"), {}, annotation(id=1.5)]),
    "deep": b'{"images":' + b"[" * 300 + b"]" * 300 + b"}",
    "no_lists": b'{"images":{"id":1},"annotations":3}\x01{"a":[{}]}',
}

XML = {
    "voc": b"<?xml version='1.0'?><!-- c --><annotation v=\"1\"><object><name>a&amp;b</name><difficult>0</difficult><bndbox>"
           b"<xmin>1</xmin></bndbox><part/></object></annotation>",
    "entities": b"<a>&lt;&#65;&#x1F600;&bogus;</a>",
    "deep": b"<a>" * 50 + b"</a>" * 50,
    "data": b"<a><![CDATA[<b>]]></a>",
    "crossed": b"<a><b></a></b>",
    "declared": b"<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>",
}


def message(tag, body):
    """Of a member: tag and length before the bytes. Tags of collective operations have bit 32."""
    return struct.pack("<QQ", tag, len(body)) + body


FIRST, SECOND = message(1 << 32 | 1, b"a" * 16), message(2, b"b" * 40)
# The first byte says in which pieces the others come.
MESSAGES = {
    "in_order": b"\x07" + FIRST + SECOND,
    "out_of_order": b"\x3f" + SECOND + FIRST,
    "early": b"\x01" + message(3, b"c" * 16) + SECOND + FIRST,
    "unasked": b"\x10" + message(9, b"") + FIRST + message(9, b"d" * 1000) + SECOND,
    "huge": b"\x20" + struct.pack("<QQ", 9, HUGE) + b"e" * 40,
}


def channel_frame(body, *, context=0, use=0, channel=1, tag=0, kind=0, size=None):
    """Of a channel or a subgroup: a header of 32 bytes before the bytes."""
    return struct.pack("<QIIIIQ", context, use, channel, tag, kind, len(body) if size is None else size) + body


EXACT = channel_frame(b"x" * 16, context=5, use=1, channel=0, tag=1)
FRAMES = {
    "awaited": b"\x07" + channel_frame(b"a" * 100) + channel_frame(b"") + channel_frame(b"b" * 40),
    "subgroup": b"\x3f" + EXACT + channel_frame(b"a" * 10, context=5, use=2),
    "unasked": b"\x10" + channel_frame(b"c" * 30, channel=8) + channel_frame(b"d" * 9, tag=4) + EXACT,
    "grant": b"\x20" + channel_frame(b"", kind=1, size=6000256) + channel_frame(b"e"),
    "grant_too_much": b"\x20" + channel_frame(b"", kind=1, size=1 << 40),
    "huge": b"\x20" + channel_frame(b"f" * 40, size=HUGE),
    "long": b"\x20" + channel_frame(b"g" * 40, size=1 << 31),
    "wrong_size": b"\x20" + channel_frame(b"x" * 17, context=5, use=1, channel=0, tag=1),
    "unknown": b"\x20" + channel_frame(b"", use=9) + channel_frame(b"", kind=7),
}


def frame(value):
    text = value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()
    return struct.pack("<I", len(text)) + text


def member(name, **more):
    return {"id": name, "name": "worker " + name, "host": "h", "address": "127.0.0.1:1", "local": "l", "seat": -1,
            "attempt": 0} | more


def view(epoch, *names):
    return {"epoch": epoch, "members": [member(name) for name in names]}


def join(name, known=None, **more):
    return {"type": "join", "member": member(name, **more)} | ({"view": known} if known else {})


READY = {"type": "ready", "epoch": 1, "failure": "rank 1: connection closed"}
# An even first byte: from a stranger; an odd one: from somebody who has shown the secret.
CONTROL = {
    "member": b"\x01" + b"".join(map(frame, [join("a"), {"type": "beat", "status": "{}"}, READY, {"type": "finish"}])),
    "rendezvous": b"\x01" + b"".join(map(frame, [{"type": "view", "view": view(1, "a", "b")}, {"type": "waiting", "count": 1},
                                                 {"type": "over", "epoch": 1, "why": "x"},
                                                 {"type": "failed", "why": "y"}])),
    "no_objects": b"\x01" + frame(b"[]") + frame(b"{}") + frame(b"null"),
    "deep": b"\x01" + frame(b'{"type":"view","view":' + b"[" * 3000 + b"]" * 3000 + b"}"),
    "stranger": b"\x02" + b"\x00" * 200,
    "http": b"\x02GET / HTTP/1.1\r\n\r\n",
}

LISTENER = {
    "challenge": b"TWGROUP1" + b"n" * 32 + b"p" * 32,
    "short": b"TWGROUP1" + b"n" * 10,
    "http": b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
    "nothing": b"",
}


def script(*steps):
    """Each (who, what, pause): a message, or None for the end of that connection; pauses are in tens of milliseconds."""
    lines = b""
    for who, what, pause in steps:
        lines += bytes([who + 16 * pause + (12 if what is None else 0)])
        if what is not None:
            lines += json.dumps(what, separators=(",", ":")).encode() + b"\n"
    return lines


MEETING = {
    "forms": script((0, join("a"), 1), (1, join("b"), 1), (2, join("c"), 6), (0, READY, 1), (1, READY, 1), (2, READY, 1),
                    (0, {"type": "finish"}, 1)),
    "loses_one": script((0, join("a"), 1), (1, join("b"), 6), (1, None, 1), (0, READY, 1), (1, join("d"), 6)),
    "restarted": script((0, join("a", view(7, "a", "b")), 1), (1, join("b", view(7, "a", "b")), 1), (2, join("c"), 8)),
    "seats": script((0, join("a", seat=1), 1), (1, join("b", seat=0), 1), (2, join("c", seat=1, attempt=2), 1),
                    (3, join("d", seat=2), 6)),
    "comes_twice": script((0, join("a"), 6), (1, join("a"), 6), (2, join("a", view(3, "a")), 6)),
    "too_late": script((0, join("a"), 15), (0, None, 15), (0, None, 15)),
    "fails": script((0, join("a"), 6), (1, join("b"), 1), (0, {"type": "fail", "why": "\u00e9" * 5000}, 1)),
}


def main():
    wire = {"images": IMAGES, "messages": MESSAGES, "frames": FRAMES, "control": CONTROL, "listener": LISTENER, "meeting": MEETING,
            "runs": RUNS, "annotations": ANNOTATIONS, "xml": XML}
    for folder, seeds in wire.items():
        (CORPUS / folder).mkdir(exist_ok=True)
        for name, data in seeds.items():
            (CORPUS / folder / name).write_bytes(data)
    for name, proto in ONNX.items():
        (CORPUS / "onnx" / name).write_bytes(proto.SerializeToString(deterministic=True))
    (CORPUS / "caffe").mkdir(exist_ok=True)
    for name, data in CAFFE.items():
        (CORPUS / "caffe" / name).write_bytes(data.encode() if isinstance(data, str) else data)
    for name, data in SAFETENSORS.items():
        (CORPUS / "safetensors" / name).write_bytes(data)


if __name__ == "__main__":
    main()
