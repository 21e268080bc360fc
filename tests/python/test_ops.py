"""Single operations: all that the engine's headers declare are there, and the less usual ones compute what they say."""

import pathlib
import re

import numpy as np

import thalweg
from thalweg import ops

HEADERS = pathlib.Path(__file__).parents[2] / "include" / "thalweg" / "ops"
# 2 - x says it in Python.
NOT_NEEDED = {"rsub"}


def evaluate(function, *arrays):
    graph = thalweg.Graph()
    values = [graph.input(f"x{i}", array.shape, array.dtype) for i, array in enumerate(arrays)]
    results = function(*values)
    for i, result in enumerate(results if isinstance(results, (tuple, list)) else [results]):
        graph.mark_output(result, f"y{i}")
    return thalweg.Model(graph)(*arrays)


def test_every_operation_of_the_engine_is_there():
    declared = set()
    for header in HEADERS.glob("*.h"):
        text = header.read_text()
        declared |= set(re.findall(r"^(?:Value\*|std::vector<Value\*>|[A-Z]\w+) (\w+)\(", text, re.MULTILINE))
    assert len(declared) > 100
    assert declared - NOT_NEEDED - set(dir(ops)) == set()


def test_forms_of_attention_agree(rng):
    q, k, v = (rng.random((2, 5, 4, 8)).astype("float32") for _ in range(3))
    by_head = [part.transpose(0, 2, 1, 3).copy() for part in (q, k, v)]
    expected = evaluate(lambda a, b, c: ops.attention(a, b, c, causal=True), *by_head).transpose(0, 2, 1, 3)
    by_time = evaluate(lambda a, b, c: ops.attention_by_time(a, b, c, causal=True), q, k, v)
    joined = np.concatenate([part.reshape(2, 5, 32) for part in (q, k, v)], axis=2)
    own = evaluate(lambda a: ops.self_attention(a, 4, causal=True), joined)
    np.testing.assert_allclose(by_time, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(own.reshape(2, 5, 4, 8), expected, rtol=1e-5, atol=1e-6)


def test_quantised_numbers(rng):
    x = rng.normal(size=(3, 8)).astype("float32")
    scale, zero = np.array(0.02, "float32"), np.array(7, "int8")
    there = evaluate(lambda a, s, z: ops.quantize(a, s, z, "int8"), x, scale, zero)
    np.testing.assert_array_equal(there, np.clip(np.rint(x / scale) + 7, -128, 127).astype("int8"))
    back = evaluate(lambda a, s, z: ops.dequantize(a, s, z), there, scale, zero)
    np.testing.assert_allclose(back, (there.astype("float32") - 7) * scale, rtol=1e-6)


def test_quantised_products(rng):
    x = rng.integers(0, 255, (2, 16)).astype("uint8")
    weight = rng.integers(-127, 127, (16, 4)).astype("int8")
    scales = np.full(4, 0.5, "float32")
    sums = (x.astype("int64") - 3) @ weight.astype("int64")
    result = evaluate(lambda a, w, s: ops.quantized_linear(a, w, s, x_zero=3, low=0.0), x, weight, scales)
    np.testing.assert_array_equal(result, np.maximum(sums * 0.5, 0))
    whole = evaluate(lambda a, w: ops.matmul_integer(a, w), x, weight)
    np.testing.assert_array_equal(whole, x.astype("int64") @ weight.astype("int64"))
    total = evaluate(lambda a: ops.quantized_add(a, a, a_factor=0.25, b_factor=0.25), x)
    np.testing.assert_array_equal(total, np.rint(x * 0.5))


def test_a_loss_for_each_label(rng):
    scores, labels = rng.normal(size=(4, 3)).astype("float32"), np.array([0, 2, -5, 1])
    losses = evaluate(lambda a, b: ops.softmax_cross_entropy(a, b, ignore_index=-5), scores, labels)
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    expected = [-np.log(chances[i, label]) if label >= 0 else 0 for i, label in enumerate(labels)]
    np.testing.assert_allclose(losses, expected, rtol=1e-5, atol=1e-6)


def test_a_convolutional_lstm_cell(rng):
    x, h, c = (rng.random((1, channels, 4, 4)).astype("float32") for channels in (2, 3, 3))
    weight = rng.normal(size=(12, 5, 3, 3)).astype("float32")
    hidden, cell = evaluate(lambda *values: ops.conv_lstm_cell(*values), x, h, c, weight)
    assert hidden.shape == cell.shape == (1, 3, 4, 4) and np.abs(hidden).max() <= 1


def test_slopes_of_prelu_go_along_the_channels(rng):
    x, slope = rng.normal(size=(2, 3, 4)).astype("float32"), np.array([0.1, 0.2, 0.3], "float32")
    expected = np.where(x > 0, x, x * slope[:, None])
    np.testing.assert_allclose(evaluate(ops.prelu, x, slope), expected, rtol=1e-6)


def test_objects_are_found_and_matched():
    priors = np.array([[0, 0, 0.4, 0.4], [0.5, 0.5, 0.9, 0.9]], "float32")
    boxes = np.array([[[0.5, 0.5, 0.9, 0.8], [0, 0, 0, 0]]], "float32")
    kinds = np.array([[3, -1]], "int64")
    np.testing.assert_array_equal(evaluate(ops.match_boxes, priors, boxes, kinds), [[-1, 0]])
    overlaps = evaluate(lambda a, b: ops.iou_matrix(a, b), priors, boxes[0])
    np.testing.assert_allclose(overlaps, [[0, 0], [0.75, 0]], atol=1e-6)
    both = np.concatenate([priors.reshape(1, 1, 8), np.full((1, 1, 8), 0.1, "float32")], axis=1)
    scores = np.array([[0.1, 0.9, 0.8, 0.2]], "float32")
    found = evaluate(lambda p, s, b: ops.detection_output(p, s, b, 2, score_threshold=0.5), np.zeros((1, 8), "float32"), scores, both)
    np.testing.assert_allclose(found, [[[0, 1, 0.9, 0, 0, 0.4, 0.4], [-1] * 7]], atol=1e-6)
