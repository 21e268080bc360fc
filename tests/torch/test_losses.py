"""The losses that have PyTorch's names give PyTorch's values and gradients, for every reduction."""

import pickle

import numpy as np
import pytest
import thalweg
import torch

SCORES = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
OTHER = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
LABELS = torch.tensor([0, 3, 2, 1, 3, -100])
HOLDS = (OTHER > 0).float()
SIGNS = HOLDS * 2 - 1
CLASS_WEIGHTS = torch.tensor([0.5, 1.0, 2.0, 3.0])

CASES = [
    ("CrossEntropyLoss", (), {}, SCORES, LABELS),
    ("CrossEntropyLoss", (CLASS_WEIGHTS,), {}, SCORES, LABELS),
    ("CrossEntropyLoss", (), {"weight": CLASS_WEIGHTS, "label_smoothing": 0.2}, SCORES, LABELS),
    ("CrossEntropyLoss", (), {"label_smoothing": 0.2}, SCORES, LABELS),
    ("CrossEntropyLoss", (), {"ignore_index": 3}, SCORES, LABELS.clamp(min=0)),
    ("NLLLoss", (CLASS_WEIGHTS,), {}, SCORES, LABELS),
    ("NLLLoss", (), {}, SCORES, LABELS),
    ("BCELoss", (CLASS_WEIGHTS,), {}, SCORES.sigmoid(), HOLDS),
    ("BCELoss", (), {}, SCORES.sigmoid(), HOLDS),
    ("BCEWithLogitsLoss", (), {"pos_weight": CLASS_WEIGHTS}, SCORES, HOLDS),
    ("BCEWithLogitsLoss", (CLASS_WEIGHTS,), {"pos_weight": torch.tensor(3.0)}, SCORES, HOLDS),
    ("MSELoss", (), {}, SCORES, OTHER),
    ("L1Loss", (), {}, SCORES, OTHER),
    ("SmoothL1Loss", (), {}, SCORES, OTHER),
    ("SmoothL1Loss", (), {"beta": 0.5}, SCORES, OTHER),
    ("HuberLoss", (), {}, SCORES, OTHER),
    ("HuberLoss", (), {"delta": 0.5}, SCORES, OTHER),
    ("KLDivLoss", (), {}, SCORES.log_softmax(1), OTHER.softmax(1)),
    ("KLDivLoss", (), {"log_target": True}, SCORES.log_softmax(1), OTHER.log_softmax(1)),
    ("SoftMarginLoss", (), {}, SCORES, SIGNS),
    ("HingeEmbeddingLoss", (0.5,), {}, SCORES, SIGNS),
    ("MultiLabelSoftMarginLoss", (), {}, SCORES, HOLDS),
    ("MultiLabelSoftMarginLoss", (CLASS_WEIGHTS,), {}, SCORES, HOLDS),
]


def value_of(loss, prediction, target):
    graph = thalweg.Graph()
    dtype = "int64" if target.dtype == torch.int64 else "float32"
    inputs = graph.input("prediction", tuple(prediction.shape)), graph.input("target", tuple(target.shape), dtype)
    graph.mark_output(loss(*inputs), "loss")
    return thalweg.Model(graph)(prediction, target)


@pytest.mark.filterwarnings("ignore:reduction")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name, args, options, prediction, target", CASES)
def test_values(name, args, options, prediction, target, reduction):
    expected = getattr(torch.nn, name)(*args, reduction=reduction, **options)(prediction, target)
    loss = pickle.loads(pickle.dumps(getattr(thalweg.nn, name)(*args, reduction=reduction, **options)))
    np.testing.assert_allclose(value_of(loss, prediction, target), expected.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name, args", [("HuberLoss", ("sum", 0.5)), ("SmoothL1Loss", (None, None, "sum", 0.5))])
def test_arguments_in_order(name, args):
    expected = getattr(torch.nn, name)(*args)(SCORES, OTHER)
    np.testing.assert_allclose(value_of(getattr(thalweg.nn, name)(*args), SCORES, OTHER), expected.numpy(), rtol=1e-5)


@pytest.mark.parametrize("options", [{}, {"weight": CLASS_WEIGHTS[:3]}, {"weight": CLASS_WEIGHTS[:3], "label_smoothing": 0.1}])
def test_a_step_of_training(options):
    torch.manual_seed(0)
    module = torch.nn.Linear(5, 3)
    x, y = torch.randn(8, 5), torch.randint(0, 3, (8,))
    model = thalweg.from_torch(module, x)
    samples = thalweg.data.TensorDataset([x], [y])
    given = {"learning_rate": 0.1, "batch_size": 8, "shuffle": False, "epochs": 1, "progress": "none"}
    thalweg.Trainer(model, thalweg.nn.CrossEntropyLoss(**options), "sgd", **given).fit(samples)
    torch.nn.CrossEntropyLoss(**options)(module(x), y).backward()
    expected = (module.weight - 0.1 * module.weight.grad).detach().numpy()
    np.testing.assert_allclose(model.weight("weight"), expected, rtol=1e-5, atol=1e-6)
