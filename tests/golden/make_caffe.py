#!/usr/bin/env python3
"""Makes tests/golden/caffe: small Caffe networks with weights, and what OpenCV's reader of such files answers.

Needs the PyPI packages opencv-python-headless 4.14.0.94 (version 5 no longer reads Caffe's files), numpy and safetensors.
For each network NAME.prototxt there are NAME.caffemodel and NAME.safetensors, which holds "input" and the blobs that
the network gives, by their names.
"""

import pathlib
import re
import struct

import cv2
import numpy as np
from safetensors.numpy import save_file

FOLDER = pathlib.Path(__file__).with_name("caffe")


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number, content):
    """A field that has a length, or a number."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def blob(array, old):
    data = field(5, array.astype("<f4").tobytes())
    if old:
        dims = (1,) * (4 - array.ndim) + array.shape
        return b"".join(field(i + 1, int(dim)) for i, dim in enumerate(dims)) + data
    return field(7, field(1, b"".join(varint(dim) for dim in array.shape))) + data


def caffemodel(weights, old):
    """`old`: layers of Caffe's second form, whose blobs have four dimensions each."""
    net = b""
    for layer, arrays in weights.items():
        if old:
            net += field(2, field(4, layer) + b"".join(field(6, blob(a, True)) for a in arrays))
        else:
            net += field(100, field(1, layer) + b"".join(field(7, blob(a, False)) for a in arrays))
    return net


def layer(text):
    """"name Type bottom,bottom -> top,top {parameters}" as a layer of the present form."""
    name, kind, bottoms, tops, parameters = re.fullmatch(r"(\S+) (\S+) (\S+) -> (\S+) ?(.*)", text.strip()).groups()
    lines = [f'  name: "{name}"', f'  type: "{kind}"']
    lines += [f'  bottom: "{b}"' for b in bottoms.split(",")] + [f'  top: "{t}"' for t in tops.split(",")]
    lines += [f"  {parameters}"] if parameters else []
    return "layer {\n" + "\n".join(lines) + "\n}\n"


def network(name, shape, layers):
    dims = " ".join(f"dim: {d}" for d in shape)
    first = f'name: "{name}"\nlayer {{ name: "data" type: "Input" top: "data" input_param {{ shape {{ {dims} }} }} }}\n'
    return first + "".join(layer(line) for line in layers.strip().splitlines())


# Name: shape of the input, layers, shapes of the weights, outputs.
NETWORKS = {
    "convolutions": ((2, 3, 19, 22), """
c1 Convolution data -> c1 convolution_param { num_output: 8 kernel_size: 3 pad: 1 stride: 2 }
bn1 BatchNorm c1 -> c1 batch_norm_param { eps: 1e-3 }
sc1 Scale c1 -> c1 scale_param { bias_term: true }
r1 ReLU c1 -> c1
n1 LRN c1 -> n1 lrn_param { local_size: 5 alpha: 0.5 beta: 0.75 }
p1 Pooling n1 -> p1 pooling_param { pool: MAX kernel_size: 3 stride: 2 }
p2 Pooling n1 -> p2 pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 }
c2 Convolution p1 -> c2 convolution_param { num_output: 8 kernel_size: 3 pad: 2 dilation: 2 group: 4 bias_term: false }
c3 Convolution p2 -> c3 convolution_param { num_output: 6 kernel_h: 2 kernel_w: 3 pad_h: 0 pad_w: 1 stride_h: 1 stride_w: 2 }
e1 Eltwise p1,c2 -> e1 eltwise_param { operation: SUM coeff: 0.5 coeff: -1.5 }
e2 Eltwise p1,c2 -> e2 eltwise_param { operation: MAX }
cat Concat e1,e2 -> cat
sl Slice cat -> s1,s2,s3 slice_param { axis: 1 slice_point: 3 slice_point: 10 }
z2 Scale s2 -> z2 scale_param { axis: 1 bias_term: false }
z3 Power s3 -> z3 power_param { scale: -1.5 }
fc1 InnerProduct s1 -> fc1 inner_product_param { num_output: 7 }
fc2 InnerProduct c3 -> fc2 inner_product_param { num_output: 4 bias_term: false }
prob Softmax fc1 -> prob
""", {"c1": [(8, 3, 3, 3), (8,)], "bn1": [(8,), (8,), (1,)], "sc1": [(8,), (8,)], "c2": [(8, 2, 3, 3)],
      "c3": [(6, 8, 2, 3), (6,)], "z2": [(7,)], "fc1": [(7, 3 * 5 * 5), (7,)], "fc2": [(4, 6 * 5 * 3)]},
                     ["prob", "fc2", "z2", "z3"]),
    "functions": ((2, 6, 7, 8), """
pr PReLU data -> pr
el ELU pr -> el elu_param { alpha: 0.7 }
le ReLU el -> le relu_param { negative_slope: 0.1 }
po Power le -> po power_param { power: 2 scale: 0.5 shift: 0.3 }
ab AbsVal le -> ab
th TanH ab -> th
si Sigmoid po -> si
bn BNLL th -> bn
ep Exp si -> ep exp_param { base: 2 scale: 0.5 shift: 0.1 }
pd Eltwise bn,ep -> pd eltwise_param { operation: PROD }
dr Dropout pd -> dr dropout_param { dropout_ratio: 0.4 }
no Normalize dr -> no norm_param { across_spatial: false channel_shared: false }
mv MVN dr -> mv mvn_param { normalize_variance: true }
up Deconvolution no -> up convolution_param { num_output: 4 kernel_size: 4 stride: 2 pad: 1 group: 2 }
cr Crop up,data -> cr crop_param { axis: 2 offset: 3 offset: 5 }
pe Permute mv -> pe permute_param { order: 0 order: 2 order: 3 order: 1 }
re Reshape pe -> re reshape_param { shape { dim: 0 dim: -1 dim: 3 } }
so Softmax re -> so softmax_param { axis: 2 }
fl Flatten so -> fl
ax Flatten cr -> ax flatten_param { axis: 1 end_axis: 2 }
gp Pooling pd -> gp pooling_param { pool: AVE global_pooling: true }
""", {"pr": [(6,)], "no": [(6,)], "up": [(6, 2, 4, 4), (4,)]}, ["fl", "ax", "gp"]),
    "ssd": ((2, 3, 32, 32), """
c1 Convolution data -> c1 convolution_param { num_output: 8 kernel_size: 3 pad: 1 stride: 4 }
r1 ReLU c1 -> c1
n1 Normalize c1 -> n1 norm_param { across_spatial: false channel_shared: false }
c2 Convolution c1 -> c2 convolution_param { num_output: 8 kernel_size: 3 pad: 1 stride: 2 }
l1 Convolution n1 -> l1 convolution_param { num_output: 16 kernel_size: 3 pad: 1 }
l1p Permute l1 -> l1p permute_param { order: 0 order: 2 order: 3 order: 1 }
l1f Flatten l1p -> l1f flatten_param { axis: 1 }
k1 Convolution n1 -> k1 convolution_param { num_output: 20 kernel_size: 3 pad: 1 }
k1p Permute k1 -> k1p permute_param { order: 0 order: 2 order: 3 order: 1 }
k1f Flatten k1p -> k1f flatten_param { axis: 1 }
b1 PriorBox n1,data -> b1 prior_box_param { min_size: 6 max_size: 12 aspect_ratio: 2 flip: true clip: false variance: 0.1 variance: 0.1 variance: 0.2 variance: 0.2 step: 4 offset: 0.5 }
l2 Convolution c2 -> l2 convolution_param { num_output: 24 kernel_size: 3 pad: 1 }
l2p Permute l2 -> l2p permute_param { order: 0 order: 2 order: 3 order: 1 }
l2f Flatten l2p -> l2f flatten_param { axis: 1 }
k2 Convolution c2 -> k2 convolution_param { num_output: 30 kernel_size: 3 pad: 1 }
k2p Permute k2 -> k2p permute_param { order: 0 order: 2 order: 3 order: 1 }
k2f Flatten k2p -> k2f flatten_param { axis: 1 }
b2 PriorBox c2,data -> b2 prior_box_param { min_size: 12 max_size: 20 aspect_ratio: 2 aspect_ratio: 3 flip: true clip: true variance: 0.1 variance: 0.1 variance: 0.2 variance: 0.2 }
mbox_loc Concat l1f,l2f -> mbox_loc concat_param { axis: 1 }
mbox_conf Concat k1f,k2f -> mbox_conf concat_param { axis: 1 }
mbox_prior Concat b1,b2 -> mbox_prior concat_param { axis: 2 }
conf_re Reshape mbox_conf -> conf_re reshape_param { shape { dim: 0 dim: -1 dim: 5 } }
conf_so Softmax conf_re -> conf_so softmax_param { axis: 2 }
conf_fl Flatten conf_so -> conf_fl flatten_param { axis: 1 }
out DetectionOutput mbox_loc,conf_fl,mbox_prior -> out detection_output_param { num_classes: 5 share_location: true background_label_id: 0 nms_param { nms_threshold: 0.45 top_k: 40 } code_type: CENTER_SIZE keep_top_k: 25 confidence_threshold: 0.2 }
""", {"c1": [(8, 3, 3, 3), (8,)], "n1": [(8,)], "c2": [(8, 8, 3, 3), (8,)], "l1": [(16, 8, 3, 3), (16,)],
      "k1": [(20, 8, 3, 3), (20,)], "l2": [(24, 8, 3, 3), (24,)], "k2": [(30, 8, 3, 3), (30,)]}, ["out"]),
}

# The second of Caffe's forms, with the spelling of its day; "old" below.
OLD = """name: "old"
input: "data"
input_dim: 2
input_dim: 3
input_dim: 15
input_dim: 15
layers { name: "conv1" type: CONVOLUTION bottom: "data" top: "conv1" blobs_lr: 1 blobs_lr: 2 weight_decay: 1 weight_decay: 0
  convolution_param { num_output: 4 kernel_size: 5 stride: 2 } }
layers { name: "relu1" type: RELU bottom: "conv1" top: "conv1" }
layers { name: "pool1" type: POOLING bottom: "conv1" top: "pool1" pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layers { name: "drop" type: DROPOUT bottom: "pool1" top: "pool1" dropout_param { dropout_ratio: 0.5 } }
layers { name: "fc" type: INNER_PRODUCT bottom: "pool1" top: "fc" inner_product_param { num_output: 6 } }
layers { name: "prob" type: SOFTMAX bottom: "fc" top: "prob" }
"""
OLD_WEIGHTS = {"conv1": [(4, 3, 5, 5), (4,)], "fc": [(6, 36), (6,)]}


def weights_of(shapes, random):
    weights = {}
    for name, all_shapes in shapes.items():
        arrays = [random.normal(scale=0.6 / max(1.0, np.prod(s[1:])) ** 0.5, size=s).astype(np.float32) for s in all_shapes]
        if name.startswith("bn"):
            arrays = [arrays[0], np.abs(arrays[1]) + 0.5, np.full((1,), 2.0, np.float32)]
        if name.startswith("n"):
            arrays = [np.abs(arrays[0]) + 4]
        weights[name] = arrays
    return weights


def write(name, text, weights, shape, outputs, random, old=False):
    path = FOLDER / name
    path.with_suffix(".prototxt").write_text(text)
    path.with_suffix(".caffemodel").write_bytes(caffemodel(weights, old))
    net = cv2.dnn.readNetFromCaffe(str(path.with_suffix(".prototxt")), str(path.with_suffix(".caffemodel")))
    x = random.normal(size=shape).astype(np.float32)
    net.setInput(x)
    tensors = {"input": x}
    # OpenCV asks for layers; all that are named here have one top, which is called as they are.
    for blob_name, output in zip(outputs, net.forward(outputs)):
        if name == "ssd":
            # The best of a picture first, where Caffe has them class by class.
            rows = output[0, 0]
            output = rows[np.lexsort((-rows[:, 2], rows[:, 1], rows[:, 0]))][None, None]
        tensors[blob_name] = np.ascontiguousarray(output)
        print(name, blob_name, output.shape)
    save_file(tensors, path.with_suffix(".safetensors"))


def main():
    FOLDER.mkdir(exist_ok=True)
    for name, (shape, layers, shapes, outputs) in NETWORKS.items():
        random = np.random.default_rng(7)
        write(name, network(name, shape, layers), weights_of(shapes, random), shape, outputs, random)
    random = np.random.default_rng(8)
    write("old", OLD, weights_of(OLD_WEIGHTS, random), (2, 3, 15, 15), ["prob"], random, old=True)


if __name__ == "__main__":
    main()
