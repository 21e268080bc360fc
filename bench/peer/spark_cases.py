"""The cases on Spark, where both sides are Python programs that start a cluster of the same shape: as many executors of one
core as there are threads. A step is one Spark job.

Standard library only: bench/run.py reads this file too.
"""

SPARK_CASES = {
    # 64 JPEGs of about 500 x 375, in memory, to the 1000 scores of ResNet-50 in f32, 16 at a time. The number in place of a
    # loss is the mean magnitude of the answers; decoders and filters differ a little.
    "spark_predict_resnet50": dict(worker="spark_peer.py", ours="spark_peer.py", target=1.2,
                                   configs=("onnxruntime", "openvino"), check_steps=2, tolerance=0.02, images=64, batch=16,
                                   model="infer_resnet50_b16_f32"),
    # From the call of fit to the end of one step: LeNet on 64 rows, which the peer has without reading any.
    "spark_start": dict(worker="spark_training_peer.py", ours="spark_training_peer.py", target=4.0,
                        configs=("torch_distributor",), check_steps=1, tolerance=1e-4, rows=64),
    # LeNet on digits, 32 rows a step, in ms an iteration, the start of the fit included. The peer is a figure on record: BigDL
    # 2.3 on Spark local[2], batch 32, 33 iterations a second.
    "spark_lenet_iters": dict(ours="spark_training_peer.py", target=10.0, recorded={"bigdl, recorded": 30.0},
                              check_steps=1, loss_below=0.3, rows=6400, batch=32, epochs=10),
    # ResNet-18, 24 steps of 16 photos, by the same two workers as the peer, who are started by `thalweg launch`: from the call to
    # the trained model, with one as a file and with the other in the driver. Which photo is in which batch differs, and with
    # it the loss.
    "spark_vs_launch": dict(worker="spark_training_peer.py", ours="spark_training_peer.py", target=0.95,
                            configs=("launch",), check_steps=1, tolerance=0.1, images=64, batch=16, epochs=6),
}
