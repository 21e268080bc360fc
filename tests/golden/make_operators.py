#!/usr/bin/env python3
"""Makes tests/golden/onnx/microsoft_*.onnx, ml.onnx, signal.onnx and newest.onnx: operators of other domains, and those
of the standard that pictures, sound and the newest models need, each with inputs of its own, and what ONNX Runtime
answers.

Needs the PyPI packages onnx 1.23.2, onnxruntime 1.31.1, numpy and safetensors. Every model has one node for each case;
the file NAME.safetensors holds input_0, input_1, ... and output_0, output_1, ...
"""

import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator
from safetensors.numpy import save_file

FOLDER = pathlib.Path(__file__).with_name("onnx")
RANDOM = np.random.default_rng(11)
MS, ML = "com.microsoft", "ai.onnx.ml"


def f32(*shape, low=-1.0, high=1.0):
    return RANDOM.uniform(low, high, shape).astype(np.float32)


def u8(*shape):
    return RANDOM.integers(0, 256, shape).astype(np.uint8)


def i8(*shape):
    return RANDOM.integers(-128, 128, shape).astype(np.int8)


def num(value, dtype=np.float32):
    return np.array(value, dtype)


class Models:
    """One model: arrays become inputs, those in `Constant` initialisers."""

    def __init__(self, name, opsets):
        self.name, self.opsets = name, opsets
        self.nodes, self.inputs, self.initializers, self.arrays, self.outputs = [], [], [], [], []

    def case(self, domain, op, inputs, outputs=1, **attributes):
        """Outputs: how many, or which of them are looked at, as in "101"."""
        names, number = [], len(self.nodes)
        for i, array in enumerate(inputs):
            if array is None:
                names.append("")
                continue
            name = f"{op}_{number}_{i}"
            names.append(name)
            if isinstance(array, Constant):
                value = array.value
                tensor = value if isinstance(value, TensorProto) else numpy_helper.from_array(value)
                tensor.name = name
                self.initializers.append(tensor)
            else:
                kind = helper.np_dtype_to_tensor_dtype(array.dtype)
                self.inputs.append(helper.make_tensor_value_info(name, kind, array.shape))
                self.arrays.append(array)
        shown = "1" * outputs if isinstance(outputs, int) else outputs
        made = [f"{op}_{number}_out{i}" if flag == "1" else "" for i, flag in enumerate(shown)]
        self.outputs += [onnx.ValueInfoProto(name=name) for name in made if name]
        self.nodes.append(helper.make_node(op, names, made, domain=domain, name=f"{op}_{number}", **attributes))

    def write(self, by_definition=False):
        """`by_definition`: by the reference of the package onnx, for what ONNX Runtime does not have."""
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.initializers)
        opsets = [helper.make_opsetid(domain, version) for domain, version in self.opsets.items()]
        model = helper.make_model(graph, ir_version=10, opset_imports=opsets)
        model.producer_name = model.producer_version = ""
        data = model.SerializeToString()
        if by_definition:
            session = ReferenceEvaluator(model)
        else:
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        results = session.run(None, {i.name: a for i, a in zip(self.inputs, self.arrays)})
        # Numbers stay numbers, which numpy's ascontiguousarray would make vectors of.
        tensors = {f"input_{i}": np.array(a, order="C") for i, a in enumerate(self.arrays)}
        tensors |= {f"output_{i}": np.array(a, order="C") for i, a in enumerate(results)}
        (FOLDER / f"{self.name}.onnx").write_bytes(data)
        save_file(tensors, FOLDER / f"{self.name}.safetensors")
        print(self.name, len(self.nodes), "operators,", len(results), "outputs")


class Constant:
    def __init__(self, value):
        self.value = value


def quantized():
    m = Models("microsoft_quantized", {"": 21, MS: 1})
    scale, zero = num(0.02), num(120, np.uint8)
    m.case(MS, "QLinearAdd", [u8(2, 3, 4), scale, zero, u8(2, 3, 4), num(0.03), num(7, np.uint8), num(0.05), num(99, np.uint8)])
    m.case(MS, "QLinearAdd", [i8(2, 3, 4), scale, num(3, np.int8), i8(4), num(0.03), num(-7, np.int8), num(0.05), num(9, np.int8)])
    m.case(MS, "QLinearMul", [u8(2, 5), scale, zero, u8(2, 5), num(0.03), num(7, np.uint8), num(0.06), num(99, np.uint8)])
    m.case(MS, "QLinearConcat", [num(0.05), num(100, np.uint8), u8(2, 3), scale, zero, u8(2, 2), num(0.03), num(5, np.uint8)], axis=1)
    m.case(MS, "QLinearGlobalAveragePool", [u8(2, 3, 5, 5), scale, zero, num(0.01), num(130, np.uint8)])
    m.case(MS, "QLinearGlobalAveragePool", [u8(2, 5, 5, 3), scale, zero, num(0.01), num(130, np.uint8)], channels_last=1)
    m.case(MS, "QLinearAveragePool", [u8(1, 3, 6, 6), scale, zero, num(0.0173), num(120, np.uint8)], kernel_shape=[2, 2], strides=[2, 2])
    m.case(MS, "QLinearSigmoid", [u8(3, 5), scale, zero, num(1 / 256), num(0, np.uint8)])
    m.case(MS, "QLinearLeakyRelu", [u8(3, 5), scale, zero, num(0.015), num(60, np.uint8)], alpha=0.1)
    m.case(MS, "QLinearSoftmax", [u8(3, 5), scale, zero, num(1 / 256), num(0, np.uint8)], axis=-1, opset=13)
    m.case(MS, "QGemm", [u8(3, 8), num(0.02), num(120, np.uint8), Constant(i8(8, 4)), num(0.01), num(0, np.int8),
                         Constant(RANDOM.integers(-500, 500, 4).astype(np.int32)), num(0.05), num(128, np.uint8)])
    m.case(MS, "QGemm", [u8(3, 8), num(0.02), num(120, np.uint8), Constant(i8(4, 8)), num(0.01), num(0, np.int8)], transB=1)
    m.case(MS, "DynamicQuantizeMatMul", [f32(3, 8), Constant(i8(8, 4)), Constant(f32(4, low=0.01, high=0.02)),
                                         Constant(np.zeros(4, np.int8)), Constant(f32(4))])
    m.case(MS, "DynamicQuantizeMatMul", [f32(3, 8), Constant(u8(8, 4)), Constant(num([0.01])), Constant(num([113], np.uint8))])
    m.case(MS, "MatMulIntegerToFloat", [u8(3, 8), i8(8, 4), num(0.02), num(0.01), num(117, np.uint8), num(0, np.int8), f32(4)])
    m.case(MS, "DequantizeLinear", [np.arange(6, dtype=np.uint16).reshape(2, 3), num(0.5), num(2, np.uint16)])
    m.case(MS, "QuantizeLinear", [f32(2, 3), num(0.001), num(7, np.uint16)])
    m.write()


def lstm():
    m = Models("microsoft_lstm", {"": 21, MS: 1})
    weight, again = i8(1, 3, 16), i8(1, 4, 16)
    m.case(MS, "DynamicQuantizeLSTM", [f32(5, 2, 3), Constant(weight), Constant(again), Constant(f32(1, 32)), None, None, None,
                                       None, Constant(num([0.004])), Constant(num([0], np.int8)), Constant(num([0.005])),
                                       Constant(num([0], np.int8))], outputs=3, hidden_size=4)
    m.write()


def packed_nibbles(values):
    return (values[..., 0::2] | values[..., 1::2] << 4).astype(np.uint8)


def fused():
    m = Models("microsoft_fused", {"": 21, MS: 1})
    m.case(MS, "FusedMatMul", [f32(2, 4, 3), f32(2, 5, 4)], transA=1, transB=1, alpha=0.5)
    m.case(MS, "FusedMatMul", [f32(4, 2, 3), f32(2, 3, 5)], transBatchA=1, alpha=2.0)
    m.case(MS, "FusedGemm", [f32(3, 4), f32(4, 5), f32(5)], alpha=0.5, beta=2.0, activation="LeakyRelu", activation_alpha=0.2)
    m.case(MS, "FusedConv", [f32(1, 3, 6, 6), Constant(f32(4, 3, 3, 3)), Constant(f32(4))], kernel_shape=[3, 3], pads=[1, 1, 1, 1], activation="Relu")
    m.case(MS, "FusedConv", [f32(1, 3, 6, 6), Constant(f32(4, 3, 3, 3)), Constant(f32(4)), f32(1, 4, 6, 6)], kernel_shape=[3, 3], pads=[1, 1, 1, 1], activation="Clip",
           activation_params=[-0.5, 0.5])
    m.case(MS, "BiasGelu", [f32(3, 5), f32(5)])
    m.case(MS, "Gelu", [f32(3, 5)])
    m.case(MS, "FastGelu", [f32(3, 5), f32(5)])
    m.case(MS, "QuickGelu", [f32(3, 5)], alpha=1.5)
    m.case(MS, "SkipLayerNormalization", [f32(2, 3, 8), f32(2, 3, 8), f32(8), f32(8), f32(8)], outputs="1001", epsilon=1e-3)
    m.case(MS, "SkipSimplifiedLayerNormalization", [f32(2, 3, 8), f32(2, 3, 8), f32(8), f32(8)], outputs="1001", epsilon=1e-3)
    m.case("", "SimplifiedLayerNormalization", [f32(2, 3, 8), f32(8)], axis=-1, epsilon=1e-3)
    ids = RANDOM.integers(0, 7, (2, 3)).astype(np.int32)
    segments = RANDOM.integers(0, 2, (2, 3)).astype(np.int32)
    mask = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    m.case(MS, "EmbedLayerNormalization", [ids, segments, Constant(f32(7, 8)), Constant(f32(4, 8)), Constant(f32(2, 8)), Constant(f32(8)), Constant(f32(8)), mask],
           outputs=3, epsilon=1e-3)
    weights = RANDOM.integers(0, 16, (5, 3, 16)).astype(np.uint8)
    zeros = RANDOM.integers(0, 16, (5, 4)).astype(np.uint8)
    m.case(MS, "MatMulNBits", [f32(2, 40), Constant(packed_nibbles(weights)), Constant(f32(5, 3, low=0.01, high=0.02).ravel())],
           K=40, N=5, bits=4, block_size=16)
    m.case(MS, "MatMulNBits", [f32(2, 40), Constant(packed_nibbles(weights)), Constant(f32(5, 3, low=0.01, high=0.02).ravel()),
                               Constant(packed_nibbles(zeros).ravel())], K=40, N=5, bits=4, block_size=16)
    table = RANDOM.integers(0, 16, (6, 32)).astype(np.uint8)
    four = helper.make_tensor("", TensorProto.UINT4, (6, 32), packed_nibbles(table).tobytes(), raw=True)
    rows = np.array([[5, 0], [2, 2]], np.int64)
    m.case(MS, "GatherBlockQuantized", [Constant(four), rows, Constant(f32(6, 2))], block_size=16, quantize_axis=1, gather_axis=0)
    m.case(MS, "GatherBlockQuantized", [Constant(packed_nibbles(table)), rows, Constant(f32(6, 2))], block_size=16, quantize_axis=1, gather_axis=0, bits=4)
    m.write()


def attention():
    m = Models("microsoft_attention", {"": 21, MS: 1})
    x, weight, bias = f32(2, 3, 8), Constant(f32(8, 24)), Constant(f32(24))
    m.case(MS, "Attention", [x, weight, bias], num_heads=2)
    m.case(MS, "Attention", [x, weight, bias, np.array([[1, 1, 0], [1, 1, 1]], np.int32)], num_heads=2)
    m.case(MS, "Attention", [x, weight, bias, np.array([2, 3], np.int32)], num_heads=2)
    m.case(MS, "Attention", [x, weight, bias, None, f32(2, 2, 2, 4, 4)], outputs=2, num_heads=2, unidirectional=1)
    m.case(MS, "Attention", [x, weight, bias, None, None, f32(1, 2, 3, 3)], num_heads=2)
    m.case(MS, "QAttention", [u8(2, 3, 8), Constant(i8(8, 24)), Constant(f32(24)), num(0.02), num(0.01), None, num(120, np.uint8), num(0, np.int8)], num_heads=2)
    q, k, v = f32(2, 3, 8), f32(2, 5, 8), f32(2, 5, 8)
    m.case(MS, "MultiHeadAttention", [q, k, v], num_heads=2)
    m.case(MS, "MultiHeadAttention", [q, k, v, Constant(f32(24)), np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32), f32(2, 2, 3, 5)], num_heads=2)
    m.case(MS, "MultiHeadAttention", [q, f32(2, 3, 8), f32(2, 3, 8), None, None, None, f32(2, 2, 4, 4), f32(2, 2, 4, 4)], outputs=3, num_heads=2, unidirectional=1, scale=0.3)
    m.case(MS, "MultiHeadAttention", [q, f32(2, 2, 6, 4), f32(2, 2, 6, 4)], num_heads=2)
    cosine, sine = Constant(f32(16, 2)), Constant(f32(16, 2))
    m.case(MS, "RotaryEmbedding", [f32(2, 3, 8), np.array([[0, 1, 2], [4, 5, 6]], np.int64), cosine, sine])
    m.case(MS, "RotaryEmbedding", [f32(2, 2, 3, 4), np.array([5], np.int64), cosine, sine], interleaved=1)
    ends, total = np.array([2, 2], np.int32), Constant(num(3, np.int32))
    turns = [Constant(f32(8, 8)), Constant(f32(8, 8))]
    heads, turned = {"num_heads": 4, "kv_num_heads": 2}, {"num_heads": 2, "kv_num_heads": 1}
    m.case(MS, "GroupQueryAttention", [f32(2, 3, 32), f32(2, 3, 16), f32(2, 3, 16), None, None, ends, total], outputs=3, **heads)
    m.case(MS, "GroupQueryAttention", [f32(2, 3, 64), None, None, None, None, ends, total, *turns], outputs=3, do_rotary=1, **turned)
    m.case(MS, "GroupQueryAttention", [f32(1, 1, 32), f32(1, 1, 16), f32(1, 1, 16), f32(1, 1, 4, 16), f32(1, 1, 4, 16),
                                       np.array([4], np.int32), Constant(num(5, np.int32)), *turns], outputs=3, do_rotary=1,
           rotary_interleaved=1, softcap=2.0, **turned)
    m.case(MS, "GroupQueryAttention", [f32(2, 1, 32), f32(2, 1, 16), f32(2, 1, 16), f32(2, 2, 6, 8), f32(2, 2, 6, 8),
                                       np.array([3, 4], np.int32), Constant(num(5, np.int32))], outputs=3, local_window_size=2,
           **heads)
    m.write()


def classic():
    m = Models("ml", {"": 21, ML: 3})
    x = f32(6, 4, low=-2, high=2)
    m.case(ML, "Scaler", [x], offset=[0.5, 0.0, -1.0, 2.0], scale=[1.0, 2.0, 3.0, 0.5])
    for norm in ("MAX", "L1", "L2"):
        m.case(ML, "Normalizer", [np.abs(x)], norm=norm)
    m.case(ML, "Binarizer", [x], threshold=0.25)
    holes = x.copy()
    holes[0, 1] = holes[3, 2] = np.nan
    m.case(ML, "Imputer", [holes], imputed_value_floats=[1.0, 2.0, 3.0, 4.0], replaced_value_float=float("nan"))
    m.case(ML, "FeatureVectorizer", [x, f32(6, 2)], inputdimensions=[4, 2])
    m.case(ML, "ArrayFeatureExtractor", [x, np.array([2, 0], np.int64)])
    m.case(ML, "OneHotEncoder", [np.array([3, 7, 5, 3], np.int64)], cats_int64s=[3, 5, 7], zeros=1)
    m.case(ML, "LabelEncoder", [np.array([3, 7, 5, 4], np.int64)], keys_int64s=[3, 5, 7], values_floats=[0.5, 1.5, 2.5], default_float=-1.0)
    m.case(ML, "LinearRegressor", [x], targets=2, coefficients=[0.1, 0.2, -0.3, 0.4, 1.0, -1.0, 0.5, 0.25], intercepts=[0.5, -0.5])
    m.case(ML, "LinearClassifier", [x], outputs=2, coefficients=[float(c) for c in f32(12)], intercepts=[0.1, -0.2, 0.0], classlabels_ints=[4, 5, 9],
           post_transform="SOFTMAX")
    m.case(ML, "LinearClassifier", [x], outputs=2, coefficients=[0.5, -0.5, 0.25, 1.0], intercepts=[0.1], classlabels_ints=[0, 1], post_transform="LOGISTIC")
    vectors = [float(c) for c in f32(20)]
    m.case(ML, "SVMRegressor", [x], coefficients=[0.5, -0.25, 1.0, -1.0, 0.75], support_vectors=vectors, n_supports=5, rho=[0.1], kernel_type="RBF", kernel_params=[0.3, 0.0, 3.0])
    m.case(ML, "SVMRegressor", [x], coefficients=[0.5, -0.25, 1.0, -1.0, 0.75], support_vectors=vectors, n_supports=5, rho=[0.1], kernel_type="POLY", kernel_params=[0.3, 1.0, 2.0])
    three = {"vectors_per_class": [2, 2, 1], "support_vectors": vectors, "coefficients": [float(c) for c in f32(10)], "rho": [0.1, -0.2, 0.3],
             "kernel_type": "RBF", "kernel_params": [0.3, 0.0, 3.0], "classlabels_ints": [7, 8, 9]}
    m.case(ML, "SVMClassifier", [x], outputs=2, **three)
    m.case(ML, "SVMClassifier", [x], outputs=2, prob_a=[-1.0, -0.5, -0.8], prob_b=[0.1, 0.0, -0.2], **three)
    trees = {"nodes_treeids": [0, 0, 0, 1, 1, 1, 1, 1], "nodes_nodeids": [0, 1, 2, 0, 1, 2, 3, 4], "nodes_featureids": [0, 0, 0, 1, 0, 2, 0, 0],
             "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_LT", "LEAF", "BRANCH_GT", "LEAF", "LEAF"], "nodes_values": [0.1, 0, 0, -0.2, 0, 0.3, 0, 0],
             "nodes_truenodeids": [1, 0, 0, 1, 0, 3, 0, 0], "nodes_falsenodeids": [2, 0, 0, 2, 0, 4, 0, 0]}
    leaves = [(0, 1), (0, 2), (1, 1), (1, 3), (1, 4)]
    weights = {"treeids": [t for t, _ in leaves], "nodeids": [n for _, n in leaves], "ids": [0] * 5, "weights": [0.5, -1.0, 2.0, 0.25, -0.75]}
    for how in ("SUM", "AVERAGE", "MIN", "MAX"):
        m.case(ML, "TreeEnsembleRegressor", [x], n_targets=1, aggregate_function=how, base_values=[0.5], **trees, **{f"target_{k}": w for k, w in weights.items()})
    binary = {f"class_{k}": w for k, w in weights.items()}
    m.case(ML, "TreeEnsembleClassifier", [x], outputs=2, classlabels_int64s=[3, 4], post_transform="LOGISTIC", **trees, **binary)
    positive = dict(binary, class_weights=[0.5, 0.125, 0.25, 0.0, 0.375])
    m.case(ML, "TreeEnsembleClassifier", [x], outputs=2, classlabels_int64s=[3, 4], **trees, **positive)
    several = dict(binary, class_ids=[0, 1, 2, 0, 1])
    m.case(ML, "TreeEnsembleClassifier", [x], outputs=2, classlabels_int64s=[3, 4, 5], post_transform="SOFTMAX", **trees, **several)
    m.write()


def signal():
    m = Models("signal", {"": 20})
    x, grid = f32(2, 3, 5, 4), f32(2, 3, 2, 2, low=-1.3, high=1.3)
    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            m.case("", "GridSample", [x, grid], mode=mode, padding_mode=padding, align_corners=int(padding == "border"))
    m.case("", "GridSample", [f32(1, 2, 3, 4, 3), f32(1, 2, 2, 3, 3, low=-1.2, high=1.2)])
    m.case("", "AffineGrid", [f32(2, 2, 3), Constant(num([2, 3, 4, 5], np.int64))], align_corners=1)
    m.case("", "AffineGrid", [f32(1, 3, 4), Constant(num([1, 2, 3, 2, 4], np.int64))])
    m.case("", "DeformConv", [f32(1, 4, 6, 5), Constant(f32(6, 2, 3, 3)), f32(1, 36, 4, 3, low=-2, high=2), Constant(f32(6)), f32(1, 18, 4, 3, low=0)],
           kernel_shape=[3, 3], group=2, offset_group=2)
    m.case("", "Col2Im", [f32(2, 12, 6), Constant(num([5, 4], np.int64)), Constant(num([3, 2], np.int64))], pads=[0, 0, 0, 1], strides=[1, 2])
    m.case("", "DFT", [f32(2, 12, 1), None, Constant(num(1, np.int64))], onesided=1)
    m.case("", "DFT", [f32(2, 3, 7, 2), Constant(num(9, np.int64)), Constant(num(2, np.int64))])
    m.case("", "DFT", [f32(2, 12, 2), None, Constant(num(1, np.int64))], inverse=1)
    m.case("", "STFT", [f32(2, 20, 1), Constant(num(3, np.int64)), Constant(f32(8))])
    m.case("", "MelWeightMatrix", [Constant(num(8, np.int64)), Constant(num(64, np.int64)), Constant(num(8000, np.int64)), Constant(num(20.0)), Constant(num(3500.0))])
    m.case("", "Det", [f32(2, 3, 4, 4)])
    rois = np.array([[0.5, 1.0, 6.5, 5.0], [2.0, 0.0, 2.5, 7.5], [-3.0, -2.0, 4.0, 9.0]], np.float32)
    pictures = np.array([0, 1, 1], np.int64)
    for mode in ("avg", "max"):
        for coordinates in ("half_pixel", "output_half_pixel"):
            m.case("", "RoiAlign", [f32(2, 3, 6, 7), rois, pictures], mode=mode, coordinate_transformation_mode=coordinates,
                   output_height=3, output_width=2, spatial_scale=0.75, sampling_ratio=0 if mode == "avg" else 2)
    m.case("", "MaxRoiPool", [f32(2, 3, 6, 7), np.array([[0, 0, 1, 5, 4], [1, 2, 2, 6, 5]], np.float32)], pooled_shape=[2, 3])
    m.case("", "ReverseSequence", [f32(4, 3, 2), np.array([4, 2, 1], np.int64)])
    m.case("", "TfIdfVectorizer", [np.array([[1, 1, 3, 3, 3, 7], [8, 6, 7, 5, 6, 8]], np.int32)], mode="TFIDF", min_gram_length=1, max_gram_length=2, max_skip_count=1,
           ngram_counts=[0, 4], ngram_indexes=[0, 1, 2, 3, 4, 5, 6], pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7], weights=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    m.write()


def causal_mask():
    """Scores above the diagonal become -infinity, for any number of queries and keys."""
    text = """
mask (float[B, H, T, S] scores) => (float[B, H, T, S] masked) {
  shape = Shape(scores)
  two = Constant<value = int64 {2}>()
  three = Constant<value = int64 {3}>()
  zero = Constant<value = int64 {0}>()
  one = Constant<value = int64 {1}>()
  queries = Gather(shape, two)
  keys = Gather(shape, three)
  rows = Range(zero, queries, one)
  columns = Range(zero, keys, one)
  axis = Constant<value = int64[1] {1}>()
  standing = Unsqueeze(rows, axis)
  seen = GreaterOrEqual(standing, columns)
  hidden = Constant<value = float {-inf}>()
  masked = Where(seen, scores, hidden)
}"""
    return parser.parse_graph(text)


def newest():
    m = Models("newest", {"": 28, "ai.onnx.preview": 1, "ai.onnx.preview.training": 1})
    for rule in ("linear", "gated", "delta", "gated_delta"):
        decay = f32(2, 3, 2, low=-1, high=0) if "gated" in rule else None
        beta = f32(2, 3, 2, low=0) if "delta" in rule else None
        m.case("", "LinearAttention", [f32(2, 3, 16), f32(2, 3, 8), f32(2, 3, 6), f32(2, 2, 4, 3), decay, beta], outputs=2, update_rule=rule,
               q_num_heads=4, kv_num_heads=2)
    m.case("", "CausalConvWithState", [f32(2, 3, 5), f32(3, 1, 4), f32(3), f32(2, 3, 3)], outputs=2, activation="silu")
    m.case("", "TensorScatter", [f32(2, 3, 6, 2), f32(2, 3, 2, 2), np.array([5, 1], np.int64)], mode="circular", axis=-2)
    m.case("", "SwiGLU", [f32(2, 3), f32(2, 3)], alpha=1.5)
    m.case("", "CumProd", [f32(2, 5), Constant(num(1, np.int64))], exclusive=1, reverse=1)
    m.case("", "BitCast", [f32(2, 3)], to=TensorProto.INT32)
    m.case("", "BitCast", [f32(2, 3).astype(np.float16)], to=TensorProto.UINT16)
    m.case("ai.onnx.preview", "FlexAttention", [f32(1, 4, 3, 8), f32(1, 2, 5, 8), f32(1, 2, 5, 6)], score_mod=causal_mask(), scale=0.3)
    step = [num(0.1), num(3, np.int64)]
    m.case("ai.onnx.preview.training", "Adam", step + [f32(2), f32(3), f32(2), f32(3), f32(2), f32(3), f32(2, low=0), f32(3, low=0)], outputs=6,
           alpha=0.9, beta=0.99, epsilon=1e-3, norm_coefficient=0.01)
    m.case("ai.onnx.preview.training", "Adagrad", step + [f32(2), f32(2), f32(2, low=0)], outputs=2, decay_factor=0.1, epsilon=1e-3)
    m.case("ai.onnx.preview.training", "Momentum", step + [f32(2), f32(2), f32(2)], outputs=2, alpha=0.9, beta=0.5, norm_coefficient=0.01,
           mode="nesterov")
    m.write(by_definition=True)


def early():
    m = Models("microsoft_early", {"": 15, MS: 1})
    m.case(MS, "Inverse", [f32(2, 3, 3)])
    for mode in ("bilinear", "nearest", "bicubic"):
        m.case(MS, "GridSample", [f32(1, 2, 3, 4), f32(1, 2, 3, 2, low=-1.3, high=1.3)], mode=mode, padding_mode="border")
    m.case(MS, "Trilu", [f32(3, 4), Constant(num(-1, np.int64))], upper=0)
    m.case(MS, "Range", [Constant(num(2)), Constant(num(9)), Constant(num(2.5))])
    m.case(MS, "Pad", [f32(2, 3), Constant(np.array([1, 0, 0, 2], np.int64)), num(0.5)])
    m.case(MS, "ExpandDims", [f32(2, 3), Constant(num(1, np.int32))])
    m.write()


if __name__ == "__main__":
    for make in (quantized, lstm, fused, attention, classic, signal, newest, early):
        make()
