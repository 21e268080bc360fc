"""The benchmark's cases: what is trained or run forward, how, and what ratio Thalweg wants to reach.

Both sides must do exactly this. Weights and batch 0 of each input come from the formula in
tests/golden/deterministic.py; dropout is off, so that the losses of both sides can be compared; every step trains on
the same batch. Optimisers ("sgd", "adam", "adam+sparse") are spelled out in tests/golden/make_golden.py.
Standard library only: bench/run.py reads this file too.
"""

IMAGE_CONFIGS = ("default", "channels_last", "compile", "compile_channels_last")
OTHER_CONFIGS = ("default", "compile")
INFER_CONFIGS = ("onnxruntime", "openvino")


def image(batch, classes):
    return [
        {"name": "input", "shape": [batch, 3, 224, 224], "kind": "uniform", "bound": 1.0},
        {"name": "label", "shape": [batch], "kind": "integer", "below": classes},
    ]


def text(batch, time, vocab, classes):
    return [
        {"name": "tokens", "shape": [batch, time], "kind": "integer", "below": vocab},
        {"name": "label", "shape": [batch], "kind": "integer", "below": classes},
    ]


def case(model, config, inputs, lr, target, optimizer="sgd", loss="cross_entropy", bf16=False,
         configs=IMAGE_CONFIGS, check_steps=4, tolerance=3e-4):
    """target: the ratio peer_ms / ours_ms to reach. tolerance: relative, on each of the first check_steps losses."""
    return dict(worker="torch_peer.py", model=model, config=config, inputs=inputs, lr=lr, target=target, optimizer=optimizer, loss=loss,
                bf16=bf16, configs=configs, check_steps=check_steps, tolerance=tolerance)


INFER_TOLERANCE = {"f32": 1e-4, "bf16": 1e-2, "int8": 2e-2}
# Model -> its arguments, and the ratio to reach by batch and precision.
INFERENCE = {
    "vgg16": ({"classes": 1000, "dropout": 0.0}, {(1, "f32"): 2.2, (16, "f32"): 2.2}),
    "resnet50": ({"classes": 1000}, {(1, "f32"): 1.1, (16, "f32"): 1.2}),
    "mobilenet_v2": ({"classes": 1000, "dropout": 0.0}, {}),
}
INFER_TARGET = {"f32": 1.0, "bf16": 1.0, "int8": 0.95}


def inference(model, batch, precision):
    """A forward pass in evaluation mode, against the fastest of ONNX Runtime and OpenVINO in that precision. ONNX Runtime has
    no bf16."""
    config, targets = INFERENCE[model]
    return dict(worker="infer_peer.py", model=model, config=config, inputs=image(batch, config["classes"]),
                target=targets.get((batch, precision), INFER_TARGET[precision]), loss="cross_entropy", precision=precision,
                configs=INFER_CONFIGS[1:] if precision == "bf16" else INFER_CONFIGS, check_steps=2,
                tolerance=INFER_TOLERANCE[precision])


CASES = {
    "train_resnet50_b16_f32": case("resnet50", {"classes": 1000}, image(16, 1000), 0.001, 1.35),
    "train_resnet50_b16_bf16": case(
        "resnet50", {"classes": 1000}, image(16, 1000), 0.001, 1.12, bf16=True, tolerance=3e-3),
    "train_vgg16_b8_f32": case("vgg16", {"classes": 3, "dropout": 0.0}, image(8, 3), 0.00001, 2.2),
    "train_resnet18_b16_f32": case("resnet18", {"classes": 1000}, image(16, 1000), 0.001, 1.8),
    "train_from_torch_resnet18_b16_f32":
        case("resnet18", {"classes": 1000}, image(16, 1000), 0.001, 1.8) | {"ours": "from_torch_worker.py"},
    "train_inception_v1_b16_f32": case(
        "inception_v1", {"classes": 1000, "dropout": 0.0}, image(16, 1000), 0.0001, 1.5),
    "train_alexnet_b32_f32": case("alexnet", {"classes": 3, "dropout": 0.0}, image(32, 3), 0.0001, 1.1, tolerance=1e-3),
    "train_ncf_b2048": case(
        "ncf", {"users": 138493, "items": 26744, "mf_dim": 64, "mlp_layers": [256, 256, 128, 64], "sparse": True},
        [
            {"name": "users", "shape": [2048], "kind": "integer", "below": 138493},
            {"name": "items", "shape": [2048], "kind": "integer", "below": 26744},
            {"name": "label", "shape": [2048], "kind": "integer", "below": 2},
        ],
        0.0001, 1.5, optimizer="adam+sparse", loss="bce_with_logits", configs=OTHER_CONFIGS, tolerance=2e-5),
    "train_lstm_text_b32": case(
        "lstm_text", {"vocab": 20000, "embed": 200, "hidden": 128, "classes": 20}, text(32, 500, 20000, 20),
        0.0001, 1.2, optimizer="adam", configs=OTHER_CONFIGS, tolerance=2e-5),
    "train_transformer_b16": case(
        "transformer",
        {"vocab": 10000, "dim": 256, "heads": 8, "ffn": 1024, "layers": 4, "time": 128, "classes": 20, "dropout": 0.0},
        text(16, 128, 10000, 20), 0.00003, 1.2, optimizer="adam", configs=OTHER_CONFIGS),
} | {
    f"infer_{model}_b{batch}_{precision}": inference(model, batch, precision)
    for model in INFERENCE for batch in (1, 16) for precision in INFER_TOLERANCE
}
