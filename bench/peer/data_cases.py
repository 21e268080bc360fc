"""The cases about reading data. A step reads all there is, from opening to the last batch of f32 elements.

The number each step returns in place of a loss says that both sides read the same: for images the mean magnitude of 32
of them after resize 256, centre crop 224 and normalise (decoders and filters differ in the last bit, and Thalweg decodes
at half the size where that suffices); for tables the sum of the magnitudes of some elements.
Standard library only: bench/run.py reads this file too.
"""


def case(target, configs, tolerance):
    return dict(worker="data_peer.py", target=target, configs=configs, check_steps=2, tolerance=tolerance)


DATA_CASES = {
    # 512 photographs: decode, random-resized-crop 224, flip, normalise, batches of 64, 2 threads or worker processes.
    "data_imagefolder_224": case(1.5, ("torchvision", "torchvision_v2", "opencv"), 0.01),
    # 1,000,000 rows of 200 columns into batches of 8192.
    "data_parquet_200cols": case(1.5, ("pyarrow", "pyarrow_batches"), 1e-6),
    # 200,000 rows of 20 columns.
    "data_csv": case(3.0, ("pandas", "pandas_pyarrow"), 1e-5),
    # No peer: ResNet-50, batch 16, trains on the photographs. Of a step, what the trainer waits for its batch beyond what one
    # processor takes to decode one must be less than this share.
    "data_wait_resnet50": dict(limit=0.03, check_steps=1, steps=8),
}
