"""The cases on Spark, where both sides are Python programs that start a cluster of the same shape: as many executors of one
core as there are threads. A step is one Spark job.

The number each step returns in place of a loss is the mean magnitude of the answers; decoders and filters differ a little.
Standard library only: bench/run.py reads this file too.
"""

SPARK_CASES = {
    # 64 JPEGs of about 500 x 375, in memory, to the 1000 scores of ResNet-50 in f32, 16 at a time.
    "spark_predict_resnet50": dict(worker="spark_peer.py", ours="spark_peer.py", target=1.2,
                                   configs=("onnxruntime", "openvino"), check_steps=2, tolerance=0.02, images=64, batch=16,
                                   model="infer_resnet50_b16_f32"),
}
