"""ONNX files that PyTorch exports in training form: batch norms that learn, trained on beside PyTorch."""

import copy

import numpy as np
import pytest
import thalweg
import torch
from thalweg import data

STEPS, BATCH = 20, 8

torchvision = pytest.importorskip("torchvision")


def small_resnet():
    torch.manual_seed(0)
    return torchvision.models.ResNet(torchvision.models.resnet.BasicBlock, [2, 2, 2, 2], num_classes=10)


def exported(module, path, training=torch.onnx.TrainingMode.TRAINING):
    torch.onnx.export(
        copy.deepcopy(module), torch.randn(2, 3, 64, 64), str(path), training=training, do_constant_folding=False, dynamo=False,
        input_names=["image"], output_names=["scores"], dynamic_axes={"image": {0: "n"}, "scores": {0: "n"}}, opset_version=17)
    return str(path)


def batches():
    random = np.random.default_rng(1)
    return random.normal(size=(STEPS * BATCH, 3, 64, 64)).astype("float32"), random.integers(0, 10, STEPS * BATCH)


def trained_by_torch(module, x, y, rate, dtype):
    """The losses of each step, and the scores of the first images afterwards, at inference."""
    module = copy.deepcopy(module).to(dtype).train()
    images = torch.from_numpy(x).to(dtype)
    optimizer = torch.optim.SGD(module.parameters(), lr=rate)
    losses = []
    for step in range(STEPS):
        part = slice(step * BATCH, (step + 1) * BATCH)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(module(images[part]), torch.from_numpy(y[part]))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        return np.array(losses), module.eval()(images[:4]).double().numpy()


def losses_of_thalweg(model, x, y, rate):
    losses = []
    for step in range(STEPS):
        part = slice(step * BATCH, (step + 1) * BATCH)
        trainer = thalweg.Trainer(model, "cross_entropy", "sgd", learning_rate=rate, batch_size=BATCH, epochs=1, shuffle=False,
                                  progress="none", math="strict")
        losses.append(trainer.fit(data.TensorDataset([x[part]], [y[part]]))[-1].loss)
    return losses


def test_a_resnet_in_training_form_is_trained_as_by_pytorch(tmp_path):
    module = small_resnet()
    path = exported(module, tmp_path / "resnet.onnx")
    model = thalweg.Model.load(path)
    x, y = batches()
    rough, rough_scores = trained_by_torch(module, x, y, 0.001, torch.float32)
    exact, exact_scores = trained_by_torch(module, x, y, 0.001, torch.float64)
    losses = losses_of_thalweg(model, x, y, 0.001)
    # Rounding grows from step to step: we part from exact numbers no further than PyTorch in float32 has done by then.
    parted = np.maximum.accumulate(np.abs(rough - exact))
    assert (np.abs(losses - exact) <= 10 * parted + 1e-5).all(), (losses, exact, parted)
    assert parted[-1] < 0.1 < np.ptp(exact)
    # The statistics have learned too.
    assert np.abs(model(x[:4]) - exact_scores).max() <= 10 * np.abs(rough_scores - exact_scores).max() + 1e-4
    assert np.abs(exact_scores - thalweg.Model.load(path)(x[:4])).max() > 0.1
    model.save(str(tmp_path / "trained.onnx"))
    np.testing.assert_allclose(thalweg.Model.load(str(tmp_path / "trained.onnx"))(x[:4]), model(x[:4]), rtol=1e-4, atol=1e-5)


def test_frozen_batch_norms_keep_their_statistics(tmp_path):
    path = exported(small_resnet(), tmp_path / "resnet.onnx")
    model = thalweg.Model.load(path, train_batch_norm="frozen")
    names = [name for name in model.weight_names() if "running" in name]
    before = {name: model.weight(name) for name in names}
    x, y = batches()
    losses_of_thalweg(model, x, y, 0.001)
    assert names and all(np.array_equal(model.weight(name), before[name]) for name in names)
