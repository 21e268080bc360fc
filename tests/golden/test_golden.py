#!/usr/bin/env python3
"""Tests the golden files' own tools: the formula against its plain definition, the models' sizes, the files' consistency.

Needs torch and numpy (the benchmark environment's Python); trains nothing.
"""

import json
import math
import pathlib
import struct
import unittest

import torch

import deterministic
import make_golden
import models

MASK = (1 << 64) - 1


def plain_bits(name, i):
    """Element i of the generator, in Python's own integers."""
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) & MASK
    s = (h + (i + 1) * 0x9E3779B97F4A7C15) & MASK
    s = ((s ^ (s >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    s = ((s ^ (s >> 27)) * 0x94D049BB133111EB) & MASK
    return s ^ (s >> 31)


def to_float32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


class FormulaTest(unittest.TestCase):
    def test_published_values(self):
        self.assertEqual(deterministic.fnv1a64("foobar"), 0x85944171F73967E8)
        # splitmix64 seeded with 0 starts with this.
        h = 0x9E3779B97F4A7C15
        h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & MASK
        self.assertEqual(h ^ (h >> 31), 0xE220A8397B1DCDAF)

    def test_tensors_follow_the_plain_definition(self):
        bound = math.sqrt(6.0 / 147)
        size = deterministic.CHUNK + 7  # across a chunk's end
        values = deterministic.uniform("conv1.weight", (size,), bound)
        labels = deterministic.integers("label.3", (size,), 1000)
        for i in [0, 1, 2, 1000, deterministic.CHUNK - 1, deterministic.CHUNK, size - 1]:
            u = (plain_bits("conv1.weight", i) >> 40) * 2.0**-24
            self.assertEqual(values[i].item(), to_float32((2 * u - 1) * bound))
            self.assertEqual(labels[i].item(), plain_bits("label.3", i) % 1000)

    def test_vectors_are_up_to_date(self):
        kept = json.loads((make_golden.HERE / "deterministic.json").read_text())
        self.assertEqual(kept, make_golden.generator_vectors())


class ModelTest(unittest.TestCase):
    # As published with torchvision; Inception-v1: Caffe's bvlc_googlenet without the auxiliary heads.
    SIZES = {
        "alexnet": 61_100_840, "vgg16": 138_357_544, "resnet18": 11_689_512, "resnet50": 25_557_032,
        "mobilenet_v2": 3_504_872, "inception_v1": 6_998_552, "lenet": 61_706,
    }

    def test_sizes(self):
        with torch.device("meta"):
            for name, size in self.SIZES.items():
                config = {} if name == "lenet" else {"classes": 1000}
                model = models.MODELS[name](**config)
                self.assertEqual(sum(p.numel() for p in model.parameters()), size, name)


class FileTest(unittest.TestCase):
    def test_files_match_the_script(self):
        for name, spec in make_golden.SPECS.items():
            with self.subTest(name):
                kept = json.loads((make_golden.HERE / f"{name}.json").read_text())
                for key, value in spec.items():
                    self.assertEqual(kept[key], value, key)
                with torch.device("meta"):
                    model = models.MODELS[name](**spec["config"])
                rules = deterministic.parameter_rules(model)
                self.assertEqual(kept["parameters"], [
                    {"name": n, "shape": list(p.shape), **rules[n]} for n, p in model.named_parameters()])
                self.assertEqual(len(kept["losses"]), make_golden.STEPS)
                self.assertEqual(len(kept["tolerances"]), make_golden.STEPS)
                self.assertTrue(all(map(math.isfinite, kept["losses"])))
                self.assertLess(kept["losses"][-1], 0.9 * kept["losses"][0])
                self.assertLess(max(kept["tolerances"]), 0.05)

    def test_no_other_files(self):
        found = {p.stem for p in pathlib.Path(make_golden.HERE).glob("*.json")}
        self.assertEqual(found, {*make_golden.SPECS, "deterministic"})


if __name__ == "__main__":
    unittest.main()
