"""Losses with PyTorch's names against numbers that PyTorch 2.15 gave; tests/torch compares more of them."""

import numpy as np
import pytest

import thalweg
from thalweg import nn

SCORES = np.sin(np.arange(24.0)).reshape(6, 4).astype("float32")
OTHER = np.cos(np.arange(24.0) * 1.7).reshape(6, 4).astype("float32")
LIKELY = 1 / (1 + np.exp(-SCORES))
LABELS = np.array([0, 3, 2, 1, 3, -100])
HOLDS = (OTHER > 0).astype("float32")
WEIGHT = [0.5, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "loss, prediction, target, expected",
    [
        (nn.CrossEntropyLoss(), SCORES, LABELS, 1.416028),
        (nn.CrossEntropyLoss(np.array(WEIGHT)), SCORES, LABELS, 1.183257),
        (nn.CrossEntropyLoss(weight=WEIGHT, label_smoothing=0.2), SCORES, LABELS, 1.202169),
        (nn.CrossEntropyLoss(weight=WEIGHT, label_smoothing=0.2, reduction="sum"), SCORES, LABELS, 11.420609),
        (nn.NLLLoss(WEIGHT), SCORES, LABELS, -0.184496),
        (nn.BCELoss(WEIGHT), LIKELY, HOLDS, 1.250358),
        (nn.BCEWithLogitsLoss(pos_weight=WEIGHT), SCORES, HOLDS, 1.193539),
        (nn.BCEWithLogitsLoss(WEIGHT, pos_weight=np.float32(3), reduction="sum"), SCORES, HOLDS, 69.36116),
        (nn.SmoothL1Loss(reduction="sum"), SCORES, OTHER, 11.60741),
        (nn.HuberLoss("sum"), SCORES, OTHER, 11.60741),
        (nn.HuberLoss(delta=0.5), SCORES, OTHER, 0.323111),
        (nn.HingeEmbeddingLoss(reduction="sum"), SCORES, 2 * HOLDS - 1, 9.377819),
        (nn.MultiLabelSoftMarginLoss(WEIGHT), SCORES, HOLDS, 1.250358),
    ],
    ids=repr,
)
def test_values(loss, prediction, target, expected):
    graph = thalweg.Graph()
    values = graph.input("prediction", prediction.shape), graph.input("target", target.shape, str(target.dtype))
    graph.mark_output(loss(*values), "loss")
    np.testing.assert_allclose(thalweg.Model(graph)(prediction, target), expected, rtol=1e-5)


def test_weights_train():
    """Of two kinds of points that cannot be told apart, the one that counts more wins."""
    x, y = np.ones((40, 4), "float32"), np.arange(40) % 2
    for weight, winner in (([1, 9, 1], 1), ([9, 1, 1], 0)):
        fitted = thalweg.Estimator(
            nn.Sequential(nn.Linear(4, 3)), nn.CrossEntropyLoss(weight), epochs=20, learning_rate=0.1, progress="none"
        ).fit(x, y)
        assert (fitted.predict(x).argmax(axis=1) == winner).all()


def test_mistakes_are_told_when_the_loss_is_made():
    with pytest.raises(TypeError, match="wieght"):
        nn.CrossEntropyLoss(wieght=WEIGHT)
    with pytest.raises(ValueError, match="reduction is 'avg', not one of mean, sum, none"):
        nn.HuberLoss(reduction="avg")
    with pytest.raises(ValueError, match="say reduction"):
        nn.MSELoss(True)
    with pytest.raises(ValueError, match="CrossEntropyLoss: weight"):
        nn.CrossEntropyLoss(weight=["a"])


@pytest.mark.parametrize(
    "loss, correct",
    [
        ("bce_with_logits", 0.75),
        (nn.BCEWithLogitsLoss(), 0.75),
        (nn.BCEWithLogitsLoss(pos_weight=[2.0]), 0.75),
        (thalweg.losses.bce_with_logits, 0.75),
        (nn.BCELoss(), 0.5),
    ],
)
def test_metrics_by_name_decide_where_the_loss_does(loss, correct):
    model = thalweg.Model(nn.Linear(1, 1), [thalweg.Input((None, 1))])
    model.load_state_dict({"weight": np.ones((1, 1), "float32"), "bias": np.zeros(1, "float32")})
    scores, target = np.array([[0.2], [0.9], [0.3], [0.1]], "float32"), np.array([[1], [1], [1], [0]], "float32")
    trainer = thalweg.Trainer(model, loss, metrics=["accuracy", "binary_accuracy", "recall"], progress="none")
    found = trainer.evaluate(thalweg.data.TensorDataset([scores], [target]))
    recall = {0.75: 1, 0.5: 1 / 3}[correct]
    assert (found["accuracy"], found["binary_accuracy"], found["recall"]) == pytest.approx((correct, correct, recall))
