#!/usr/bin/env python3
"""Makes tests/golden/onnx: small ONNX models, and what ONNX Runtime answers to random inputs.

Needs the PyPI packages onnx 1.23.2, onnxruntime 1.31.1, numpy and safetensors. For each model NAME.onnx the file
NAME.safetensors holds input_0, input_1, ... and output_0, output_1, ...
"""

import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper, parser
from safetensors.numpy import save_file

FOLDER = pathlib.Path(__file__).with_name("onnx")
HEADER = '<ir_version: 8, opset_import: ["" : 18]>\n'

# Text of the model, shapes of the initialisers, and inputs.
MODELS = {
    "convnet": ("""
convnet (float[N, 3, 16, 16] x) => (float[N, 5] y) {
  c1 = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, w1, b1)
  n1 = BatchNormalization(c1, scale, shift, mean, variance)
  r1 = Relu(n1)
  c2 = Conv<pads = [1, 1, 1, 1], group = 8>(r1, w2)
  six = Constant<value = float {6.0}>()
  zero = Constant<value = float {0.0}>()
  r2 = Clip(c2, zero, six)
  s = Add(r1, r2)
  p = MaxPool<kernel_shape = [3, 3], strides = [2, 2], auto_pad = "SAME_UPPER">(s)
  a = GlobalAveragePool(p)
  f = Flatten(a)
  y = Gemm<transB = 1>(f, w3, b3)
}""", {"w1": (8, 3, 3, 3), "b1": (8,), "scale": (8,), "shift": (8,), "mean": (8,), "variance": (8,),
       "w2": (8, 1, 3, 3), "w3": (5, 8), "b3": (5,)}, lambda r: [r.normal(size=(2, 3, 16, 16))]),
    "attention": ("""
attention (float[N, T, 8] x) => (float[N, T, 8] y) {
  q0 = MatMul(x, wq)
  k0 = MatMul(x, wk)
  s = Shape(x)
  i0 = Constant<value = int64[1] {0}>()
  i1 = Constant<value = int64[1] {1}>()
  n = Gather(s, i0)
  t = Gather(s, i1)
  h = Constant<value = int64[2] {2, 4}>()
  d = Constant<value = int64[1] {8}>()
  split = Concat<axis = 0>(n, t, h)
  joined = Concat<axis = 0>(n, t, d)
  q1 = Reshape(q0, split)
  q = Transpose<perm = [0, 2, 1, 3]>(q1)
  k1 = Reshape(k0, split)
  k = Transpose<perm = [0, 2, 3, 1]>(k1)
  v1 = Reshape(x, split)
  v = Transpose<perm = [0, 2, 1, 3]>(v1)
  scores = MatMul(q, k)
  half = Constant<value = float {0.5}>()
  scaled = Mul(scores, half)
  p = Softmax<axis = -1>(scaled)
  a = MatMul(p, v)
  b = Transpose<perm = [0, 2, 1, 3]>(a)
  c = Reshape(b, joined)
  e = Add(c, x)
  y = LayerNormalization<axis = -1>(e, scale, shift)
}""", {"wq": (8, 8), "wk": (8, 8), "scale": (8,), "shift": (8,)}, lambda r: [r.normal(size=(2, 5, 8))]),
    "upscale": ("""
upscale (float[1, 2, H, W] x) => (float[1, 2, P, Q] y, float[1, 2, R, S] z) {
  empty = Constant<value = float[0] {}>()
  scales = Constant<value = float[4] {1.0, 1.0, 2.0, 1.5}>()
  y = Resize<mode = "linear", coordinate_transformation_mode = "half_pixel">(x, empty, scales)
  z = Resize<mode = "cubic", coordinate_transformation_mode = "align_corners">(x, empty, scales)
}""", {}, lambda r: [r.normal(size=(1, 2, 6, 4))]),
    "recurrent": ("""
recurrent (float[T, N, 3] x) => (float[T, 2, N, 4] y, float[2, N, 4] h, float[T, 1, N, 4] g) {
  y, h = LSTM<hidden_size = 4, direction = "bidirectional">(x, w, r, b)
  g = GRU<hidden_size = 4>(x, wg, rg)
}""", {"w": (2, 16, 3), "r": (2, 16, 4), "b": (2, 32), "wg": (1, 12, 3), "rg": (1, 12, 4)},
                  lambda r: [r.normal(size=(5, 2, 3))]),
    "loop": ("""
loop (float[N] x) => (float[N] y, int64[1, K] n) {
  limit = Constant<value = int64 {4}>()
  yes = Constant<value = bool {1}>()
  y = Loop(limit, yes, x) <body = step (int64 i, bool c, float[N] a) => (bool d, float[N] b) {
    b = Add(a, x)
    ten = Constant<value = float {10.0}>()
    m = ReduceMax<keepdims = 0>(b)
    d = Less(m, ten)
  }>
  zero = Constant<value = float {0.0}>()
  big = Greater(y, zero)
  n = NonZero(big)
}""", {}, lambda r: [r.normal(size=(6,)) * 4]),
    "quantized": ("""
quantized (float[N, 4] x) => (float[N, 3] y) {
  xs = Constant<value = float {0.02}>()
  xz = Constant<value = uint8 {128}>()
  xq = QuantizeLinear(x, xs, xz)
  xd = DequantizeLinear(xq, xs, xz)
  ws = Constant<value = float[3] {0.01, 0.02, 0.005}>()
  wz = Constant<value = int8[3] {0, 0, 0}>()
  wq = QuantizeLinear<axis = 1>(w, ws, wz)
  wd = DequantizeLinear<axis = 1>(wq, ws, wz)
  y = MatMul(xd, wd)
}""", {"w": (4, 3)}, lambda r: [r.normal(size=(5, 4))]),
}


def main():
    FOLDER.mkdir(exist_ok=True)
    for name, (text, weights, make_inputs) in MODELS.items():
        random = np.random.default_rng(len(text))
        model = parser.parse_model(HEADER + text)
        for weight, shape in weights.items():
            values = random.uniform(0.5, 1.5, shape) if weight == "variance" else random.normal(size=shape) * 0.5
            model.graph.initializer.append(numpy_helper.from_array(values.astype(np.float32), weight))
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, FOLDER / f"{name}.onnx")
        inputs = [value.astype(np.float32) for value in make_inputs(random)]
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        outputs = session.run(None, {info.name: value for info, value in zip(session.get_inputs(), inputs)})
        tensors = {f"input_{i}": value for i, value in enumerate(inputs)}
        tensors |= {f"output_{i}": np.ascontiguousarray(value) for i, value in enumerate(outputs)}
        save_file(tensors, FOLDER / f"{name}.safetensors")


if __name__ == "__main__":
    main()
