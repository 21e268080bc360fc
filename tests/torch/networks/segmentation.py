"""Networks that tell what each pixel shows: segmentation-models-pytorch, and one of transformers."""

from networks.network import Network, images, of_transformers


# Their deepest maps have few places to normalise by.
MAGNIFIED = 2e-2


def of_segmentation(kind, encoder="resnet18", size=64, options=None, **row):
    def make():
        import segmentation_models_pytorch

        make_network = getattr(segmentation_models_pytorch, kind)
        return make_network(encoder, encoder_weights=None, classes=3, **(options or {}))

    return Network(make, images(size), training_tolerance=MAGNIFIED, **row)


SEGMENTATION = {
    "unet": of_segmentation("Unet"),
    "linknet": of_segmentation("Linknet"),
    "pspnet": of_segmentation("PSPNet"),
    "unet_of_timm": of_segmentation(
        "Unet", "tu-convnext_atto", options={"encoder_depth": 4, "decoder_channels": (64, 32, 16, 8)}
    ),
    "manet": of_segmentation("MAnet"),
    "fpn": of_segmentation("FPN", "mobilenet_v2", size=128, steps=1),
    "deeplabv3": of_segmentation("DeepLabV3"),
    "upernet": of_segmentation("UPerNet", steps=1),
    "segformer": of_transformers(
        "SegformerForSemanticSegmentation", "SegformerConfig", images(64, "pixel_values"),
        {"hidden_sizes": [16, 24, 32, 48], "depths": [1, 1, 1, 1], "decoder_hidden_size": 32, "num_labels": 5},
    ),
}  # fmt: skip
