"""Values of a graph: what Python's operators, indexing and control flow make of them."""

import numpy as np
import pytest

import thalweg
from thalweg import nn, ops

X = np.arange(8, dtype="float32").reshape(2, 4)


def computed(function, x=X):
    """What a model of this function gives, with a free batch."""
    inputs = [thalweg.Input((None, *x.shape[1:]), x.dtype)]
    return thalweg.Model(nn.Lambda(function), inputs)(x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x == 2,
        lambda x: x != 2,
        lambda x: 2 == x,
        lambda x: np.array([0, 5, 2, 7], "float32") == x,
        lambda x: (x > 1) & (x < 3) | ~(x < 6),
        lambda x: (x > 1) ^ (x > 3),
        lambda x: np.arange(4, dtype="float32") * x,
        lambda x: np.arange(4, dtype="float32") - x,
        lambda x: np.float32(2) / (x + 1),
        lambda x: x[:, [0, 2]],
        lambda x: x[:, [0, -1]],
        lambda x: x[..., np.array([3, 1])],
        lambda x: x[:, None, [3, 1]],
        lambda x: x[:, np.int64(3)],
        lambda x: x[:, 1:3][:, -1],
    ],
)
def test_values_compute_what_arrays_do(function):
    expected = function(X)
    given = computed(lambda x: function(x).to("float32"))
    np.testing.assert_allclose(given, expected.astype("float32"))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.reshape(x.shape[0], -1),
        lambda x: x.reshape((x.shape[0], 4)),
        lambda x: x.view(x.size(0), -1),
        lambda x: x.view(x.size()).flatten(1),
        lambda x: ops.reshape(x, [None, -1]),
    ],
)
def test_free_dimensions_can_be_kept_in_a_reshape(function):
    given = computed(function, X.reshape(2, 2, 2))
    np.testing.assert_array_equal(given, X)


def test_where_takes_numbers():
    np.testing.assert_array_equal(computed(lambda x: ops.where(x > 2, x, 0.0)), np.where(X > 2, X, 0))
    np.testing.assert_array_equal(computed(lambda x: ops.where(x > 2, -1, x)), np.where(X > 2, -1, X))
    np.testing.assert_array_equal(computed(lambda x: ops.where(x > 2, 1.0, 0.5)), np.where(X > 2, 1, 0.5))


def test_values_are_told_apart_by_what_they_are():
    def forward(x):
        assert {x: 1}[x] == 1 and x in [x]
        assert not x == None and x != None  # noqa: E711: what some write
        return x

    computed(forward)


def test_fixed_dimensions_can_be_iterated_over():
    np.testing.assert_array_equal(computed(lambda x: sum(column for column in x.transpose(0, 1))), X.sum(axis=1))
    assert computed(lambda x: x * float(len(x.transpose(0, 1))))[0, 1] == 4


@pytest.mark.parametrize(
    "function, error, told",
    [
        (lambda x: x if x.sum() > 0 else -x, TypeError, "ops.where"),
        (lambda x: x == [1, 2, 3, 4], TypeError, "not with a list"),
        (lambda x: [row for row in x], TypeError, "first dimension is free"),
        (lambda x: x[: len(x)], TypeError, "first dimension is free"),
        (lambda x: np.asarray(x), TypeError, "has no content"),
        (lambda x: x[x > 0], TypeError, "ops.where chooses by a condition"),
        (lambda x: x[:, 1.5], TypeError, "made of whole numbers"),
        (lambda x: x[:, [True, False]], TypeError, "made of whole numbers"),
        (lambda x: x[:, 9], IndexError, "index 9 is outside dimension 1"),
        (lambda x: x[:, [9]], IndexError, "index 9 is outside dimension 1"),
        (lambda x: x.reshape("a"), TypeError, "a shape is made of whole numbers"),
        (lambda x: x.reshape(-1, 2, None), ValueError, "there can be only one"),
    ],
)
def test_what_needs_the_content_is_refused(function, error, told):
    with pytest.raises(error, match=told):
        computed(function)


def test_whole_numbers_do_not_swallow_fractions():
    labels = np.arange(4)
    with pytest.raises(ValueError, match="0.5 together with a value of i64"):
        computed(lambda x: (x == 0.5).to("float32"), labels)
    np.testing.assert_array_equal(computed(lambda x: (x == 1).to("float32"), labels), [0, 1, 0, 0])


def test_modules_must_be_initialised():
    class Net(nn.Module):
        def __init__(self):
            self.body = nn.Linear(4, 2)

    with pytest.raises(AttributeError, match=r"Net.__init__\(\) must call super\(\).__init__\(\)"):
        Net()
