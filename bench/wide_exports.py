#!/usr/bin/env python3
"""Writes the networks that bench/wide_networks.py calls EXPORTED as ONNX files into the folder that is given, with PyTorch's
exporter and random weights. Does nothing for those that are there."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from wide_networks import EXPORTED, make_inputs  # noqa: E402


def vision(name):
    import timm
    import torchvision

    if hasattr(torchvision.models, name):
        return getattr(torchvision.models, name)(weights=None)
    return timm.create_model({"vit_tiny": "vit_tiny_patch16_224"}.get(name, name), pretrained=False)


def text(name):
    import transformers

    sizes = {"hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 4, "vocab_size": 1000}
    if name == "text_encoder_shapes":
        wide = sizes | {"hidden_size": 384, "intermediate_size": 1536, "num_hidden_layers": 6, "num_attention_heads": 6}
        return transformers.BertModel(transformers.BertConfig(**wide), add_pooling_layer=False)
    if name == "bert_small":
        return transformers.BertModel(transformers.BertConfig(**sizes), add_pooling_layer=False)
    if name == "gpt2_small":
        return transformers.GPT2Model(transformers.GPT2Config(n_embd=256, n_layer=4, n_head=4, vocab_size=1000, use_cache=False))
    return transformers.LlamaModel(transformers.LlamaConfig(**sizes, num_key_value_heads=2, use_cache=False))


def build(name):
    if name == "unet_resnet18":
        import segmentation_models_pytorch

        return segmentation_models_pytorch.Unet("resnet18", encoder_weights=None)
    return (text if EXPORTED[name][1][0][0] == "input_ids" else vision)(name)


def first_result(torch, network):
    class First(torch.nn.Module):
        """Exporters want tensors, not what a package wraps them in."""

        def __init__(self):
            super().__init__()
            self.network = network

        def forward(self, x):
            result = self.network(x)
            return result if isinstance(result, torch.Tensor) else result[0]

    return First().eval()


def free_dimensions(torch, name):
    letters = {"B": torch.export.Dim("batch"), "L": torch.export.Dim("length", min=4, max=128)}
    return [{d: letters[extent] for d, extent in enumerate(shape) if extent in letters} for _, _, shape, _ in EXPORTED[name][1]]


def export(name, path):
    import torch

    torch.manual_seed(0)
    inputs = tuple(torch.from_numpy(array) for _, array in make_inputs(name, 2))
    names = [called for called, _ in make_inputs(name, 2)]
    part = f"{path}.part"
    torch.onnx.export(first_result(torch, build(name).eval()), inputs, part, input_names=names, output_names=["output"],
                      opset_version=18, dynamo=True, external_data=False,
                      dynamic_shapes=free_dimensions(torch, name))
    os.replace(part, path)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in EXPORTED:
        path = folder / f"{name}.onnx"
        if not path.exists():
            print(f"writing {path}", flush=True)
            export(name, path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
