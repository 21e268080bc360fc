#!/usr/bin/env python3
"""Writes tests/golden/<model>.json: the losses of 20 training steps in PyTorch from a known start.

    make_golden.py [MODEL ...]      all models when none is named
    make_golden.py --check [MODEL ...]   only compares with the files that are there

Run it with the benchmark environment's Python (torch and numpy). Weights and batches come from
deterministic.py, so a test needs no data file but the JSON. Step k trains on batch k mod `batches`;
losses[k] is that batch's mean loss before the update of step k. Models are in training mode.

Fields of a file:
  config      arguments of the model's constructor in models.py
  inputs      what goes into the model, in order, then the target; `kind` "uniform" (float, `bound`) or "integer" (`below`)
  loss        "cross_entropy" | "bce_with_logits" | "mse" (the latter two take the target as float), mean over all elements
  optimizer   "sgd": v = momentum v + g, w -= lr v (v starts at 0, no dampening, no decay)
              "adam": PyTorch's Adam, betas 0.9, 0.999, eps 1e-8: m and v updated, then
                  w -= lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps); embedding gradients are dense,
                  so rows that a batch does not touch keep moving by their momentum
              "adam+sparse": the same for all but embedding tables. Their gradients are sparse (rows that occur several
                  times in a batch are summed first) and follow PyTorch's SparseAdam: m, v and w change only in rows
                  the batch touches, t counts all steps, and eps is NOT scaled as in Adam:
                  w -= lr * sqrt(1 - b2^t) / (1 - b1^t) * m / (sqrt(v) + eps)
  parameters  every parameter: name, shape and initial values by the rules of deterministic.py
  initial, final   sum and sum of absolute values (in double) of a few parameters, before step 0 and after
              the last step; `final` also has running statistics of a batch norm where there is one
  f64_gap     largest relative difference between these losses and those of the same run in float64
  native_gap  the same against float32 without oneDNN: what another order of summation does
  noise_gap   the same against runs whose initial weights are moved by up to one part in 2^23: what
              a last-bit difference grows into. It grows in leaps, where a ReLU or a maximum falls the other way
  tolerances  for each step, relative: 10 times the largest of these differences up to two steps later (a leap may come
              sooner elsewhere), at least 1e-5, and from step 4 on at least 2e-4: three noisy runs do not see every leap
              that another CPU's rounding meets. The first loss, which no update precedes, has its own differences only
"""

import argparse
import json
import pathlib
import sys

import torch
from torch.nn import functional as F

import deterministic
import models

HERE = pathlib.Path(__file__).resolve().parent
STEPS = 20


def image(batch, size, channels=3, classes=1000):
    return [
        {"name": "input", "shape": [batch, channels, size, size], "kind": "uniform", "bound": 1.0},
        {"name": "label", "shape": [batch], "kind": "integer", "below": classes},
    ]


def text(batch, time, vocab, classes):
    return [
        {"name": "tokens", "shape": [batch, time], "kind": "integer", "below": vocab},
        {"name": "label", "shape": [batch], "kind": "integer", "below": classes},
    ]


def spec(config, inputs, lr, optimizer="sgd", loss="cross_entropy", batches=2):
    return {"config": config, "inputs": inputs, "batches": batches, "loss": loss, "optimizer": optimizer, "lr": lr}


# Narrow models on small inputs: each takes the C++ test seconds. AlexNet keeps 224x224, where its
# adaptive pooling is the identity; VGG16 at 64x64 has it enlarge 2x2 to 7x7.
SPECS = {
    "lenet": spec({"classes": 10}, image(8, 28, 1, 10), 0.003),
    "alexnet": spec({"classes": 3, "dropout": 0.0, "width": 4}, image(8, 224, classes=3), 0.00003),
    "vgg16": spec({"classes": 3, "dropout": 0.0, "width": 4}, image(8, 64, classes=3), 0.00003),
    "inception_v1": spec({"classes": 1000, "dropout": 0.0, "width": 1}, image(8, 64), 0.00005),
    "resnet18": spec({"classes": 1000, "width": 1}, image(4, 64), 0.001),
    "resnet50": spec({"classes": 1000, "width": 2}, image(4, 64), 0.0003),
    "lstm_text": spec({"vocab": 1000, "embed": 40, "hidden": 24, "classes": 5}, text(8, 30, 1000, 5), 0.01, "adam", batches=3),
    "ncf": spec(
        {"users": 300, "items": 120, "mf_dim": 8, "mlp_layers": [32, 32, 16, 8], "sparse": True},
        [
            {"name": "users", "shape": [64], "kind": "integer", "below": 300},
            {"name": "items", "shape": [64], "kind": "integer", "below": 120},
            {"name": "label", "shape": [64], "kind": "integer", "below": 2},
        ],
        0.01, "adam+sparse", "bce_with_logits", batches=3),
    "convlstm": spec(
        {"channels": 1, "hidden": 8, "layers": 2, "steps": 4, "kernel": 3},
        [
            {"name": "input", "shape": [2, 5, 1, 16, 16], "kind": "uniform", "bound": 1.0},
            {"name": "label", "shape": [2, 4, 1, 16, 16], "kind": "integer", "below": 2},
        ],
        0.1, loss="mse"),
    "transformer": spec(
        {"vocab": 500, "dim": 64, "heads": 8, "ffn": 128, "layers": 4, "time": 32, "classes": 5, "dropout": 0.0},
        text(4, 32, 500, 5), 0.0002, "adam", batches=3),
}


def tensors(spec, k):
    """Batch k: (model inputs, target), as generated, before any conversion to another precision."""
    values = []
    for item in spec["inputs"]:
        name, shape = f"{item['name']}.{k}", tuple(item["shape"])
        if item["kind"] == "uniform":
            values.append(deterministic.uniform(name, shape, item["bound"]))
        else:
            values.append(deterministic.integers(name, shape, item["below"]))
    return values[:-1], values[-1]


def loss_function(kind, dtype):
    if kind == "cross_entropy":
        return F.cross_entropy
    function = F.mse_loss if kind == "mse" else F.binary_cross_entropy_with_logits
    return lambda output, label: function(output, label.to(dtype))


def optimizers(model, kind, lr, momentum=0.9, **options):
    if kind == "sgd":
        return [torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum, **options)]
    if kind == "adam":
        return [torch.optim.Adam(model.parameters(), lr=lr, **options)]
    tables = [m.weight for m in model.modules() if isinstance(m, torch.nn.Embedding)]
    known = {id(p) for p in tables}
    dense = [p for p in model.parameters() if id(p) not in known]
    return [torch.optim.SparseAdam(tables, lr=lr), torch.optim.Adam(dense, lr=lr, **options)]


def sums(named):
    return {
        name: {"sum": value.detach().double().sum().item(), "abs_sum": value.detach().double().abs().sum().item()}
        for name, value in named.items()
    }


def watched(model):
    """First, middle and last parameter that has no constant start."""
    names = [n for n, rule in deterministic.parameter_rules(model).items() if rule["init"] == "uniform"]
    named = dict(model.named_parameters())
    return {n: named[n] for n in (names[0], names[len(names) // 2], names[-1])}


def disturb(model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(1 + (2 * torch.rand(p.shape, generator=generator) - 1) * 2.0**-23)


def train(name, dtype=torch.float32, noise=None):
    spec = SPECS[name]
    model = deterministic.initialise(models.MODELS[name](**spec["config"])).to(dtype).train()
    if noise is not None:
        disturb(model, noise)
    steppers = optimizers(model, spec["optimizer"], spec["lr"])
    criterion = loss_function(spec["loss"], dtype)
    batches = [tensors(spec, k) for k in range(spec["batches"])]
    cast = lambda t: t.to(dtype) if t.is_floating_point() else t
    initial, losses = sums(watched(model)), []
    for step in range(STEPS):
        inputs, target = batches[step % len(batches)]
        for stepper in steppers:
            stepper.zero_grad()
        loss = criterion(model(*map(cast, inputs)), cast(target))
        loss.backward()
        for stepper in steppers:
            stepper.step()
        losses.append(loss.item())
    final = watched(model)
    for key, value in model.named_buffers():
        if key in ("bn1.running_mean", "bn1.running_var"):
            final[key] = value
    rules = deterministic.parameter_rules(model)
    parameters = [{"name": key, "shape": list(p.shape), **rules[key]} for key, p in model.named_parameters()]
    return {"losses": losses, "parameters": parameters, "initial": initial, "final": sums(final)}


def gaps(a, b):
    return [abs(x - y) / abs(y) for x, y in zip(a, b)]


def short(value):
    return float(f"{value:.2g}")


def make(name):
    spec = SPECS[name]
    result = train(name)
    losses = result["losses"]
    f64 = gaps(losses, train(name, torch.float64)["losses"])
    with torch.backends.mkldnn.flags(enabled=False):
        native = gaps(losses, train(name)["losses"])
    noisy = [gaps(losses, train(name, noise=seed)["losses"]) for seed in range(3)]
    worst = [max(step) for step in zip(f64, native, *noisy)]
    floors = [1e-5 if k < 4 else 2e-4 for k in range(STEPS)]
    tolerances = [short(max(floors[k], 10 * max(worst[: k + 3 if k else 1]))) for k in range(STEPS)]
    constants = {"momentum": 0.9} if spec["optimizer"] == "sgd" else {"betas": [0.9, 0.999], "eps": 1e-8}
    return {
        "model": name, "torch": torch.__version__.split("+")[0], "steps": STEPS, **spec, **constants, **result,
        "tolerances": tolerances, "f64_gap": short(max(f64)), "native_gap": short(max(native)),
        "noise_gap": short(max(map(max, noisy))),
    }


def generator_vectors():
    """Samples of the formula itself, so that a C++ mismatch is found before any training is."""
    names = ["", "input.0", "label.0", "layer1.0.conv1.weight"]
    return {
        "vectors": [
            {
                "name": n, "seed": f"{deterministic.fnv1a64(n):016x}",
                "z": [f"{int(z):016x}" for z in deterministic.bits(n, 0, 4)],
                "uniform_bound_1": deterministic.uniform(n, (4,), 1.0).tolist(),
                "uniform_bound_0.1": deterministic.uniform(n, (4,), 0.1).tolist(),
                "mod_1000": deterministic.integers(n, (4,), 1000).tolist(),
            }
            for n in names
        ]
    }


def render(document):
    """JSON with one line per field or list item: diffs stay readable, files stay short."""
    lines = []
    for key, value in document.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            body = ",\n".join("    " + json.dumps(item) for item in value)
            lines.append(f"  {json.dumps(key)}: [\n{body}\n  ]")
        else:
            lines.append(f"  {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(SPECS))
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    options = parser.parse_args()
    unknown = set(options.models) - set(SPECS)
    if unknown:
        parser.error(f"unknown model {', '.join(sorted(unknown))}; known: {', '.join(SPECS)}")
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(0)
    failed = False
    if not options.check and not options.models:
        (HERE / "deterministic.json").write_text(render(generator_vectors()))
    for name in options.models or SPECS:
        path = HERE / f"{name}.json"
        if options.check:
            kept = json.loads(path.read_text())
            differences = gaps(train(name)["losses"], kept["losses"])
            good = all(d <= t for d, t in zip(differences, kept["tolerances"], strict=True))
            failed |= not good
            print(f"{name}: {'ok' if good else 'FAILED'}, losses differ by at most {max(differences):.2g}", flush=True)
            continue
        document = make(name)
        path.write_text(render(document))
        print(f"{name}: loss {document['losses'][0]:.4f} -> {document['losses'][-1]:.4f}, tolerance {document['tolerances'][-1]:.1g}, "
              f"gaps {document['f64_gap']:.2g} {document['native_gap']:.2g} {document['noise_gap']:.2g}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
