"""Classifiers of images: timm, and a few of transformers."""

from networks.network import Network, images, of_transformers


def of_timm(name, size=64, options=None, **row):
    def make():
        import timm

        return timm.create_model(name, pretrained=False, num_classes=5, **(options or {}))

    return Network(make, images(size), **row)


def of_patches(name, size=64, **options):
    """A transformer over patches of images of that size, of two blocks."""
    return of_timm(name, size, {"img_size": size, "depth": 2, **options})


def of_windows(name):
    options = {"img_size": 64, "window_size": 4, "embed_dim": 24, "depths": (2, 2), "num_heads": (2, 4)}
    return of_timm(name, 64, options)


NARROW = {"embed_dim": 48, "num_heads": 4}
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
PIXELS = "pixel_values"

VISION = {
    "resnet10t": of_timm("resnet10t"),
    "convnext": of_timm("convnext_atto", 64, {"drop_path_rate": 0.1}),
    "vit": of_patches("vit_tiny_patch16_224"),
    "deit3": of_patches("deit3_small_patch16_224", drop_path_rate=0.1, **NARROW),
    "beit": of_patches("beit_base_patch16_224", **NARROW),
    "eva02": of_patches("eva02_tiny_patch14_224", 56),
    "cait": of_patches("cait_xxs24_224"),
    "xcit": of_patches("xcit_nano_12_p16_224"),
    "swin": of_windows("swin_tiny_patch4_window7_224"),
    "swinv2": of_windows("swinv2_tiny_window8_256"),
    "davit": of_timm("davit_tiny", 64, {"embed_dims": (24, 48), "depths": (1, 1), "num_heads": (2, 4)}),
    "efficientnet": of_timm("efficientnet_b0", rate=1e-5),
    "mobilenetv3": of_timm("mobilenetv3_small_050"),
    "nf_resnet": of_timm("nf_resnet26"),
    "ghostnet": of_timm("ghostnet_050"),
    "mobilevit": of_timm("mobilevit_xxs"),
    "inception_next": of_timm("inception_next_atto"),
    "mambaout": of_timm("mambaout_femto"),
    "hf_vit": of_transformers(
        "ViTForImageClassification", "ViTConfig", images(32, PIXELS),
        {"image_size": 32, "patch_size": 8, "num_labels": 5, **SMALL},
    ),
    "hf_swin": of_transformers(
        "SwinForImageClassification", "SwinConfig", images(64, PIXELS),
        {"image_size": 64, "embed_dim": 24, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4, "num_labels": 5},
    ),
    "dinov2": of_transformers(
        "Dinov2ForImageClassification", "Dinov2Config", images(56, PIXELS),
        {"image_size": 56, "patch_size": 14, "num_labels": 5, "drop_path_rate": 0.1, **SMALL},
    ),
}  # fmt: skip
