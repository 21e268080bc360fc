"""The cases about the evaluation of detections, where both sides are Python programs. A step is COCO's whole evaluation of 5,000
pictures (80 classes, 17,760 objects, 46,991 detections), from annotations and results that are loaded to the 12 numbers.

The number each step returns in place of a loss is the sum of the 12.
Standard library only: bench/run.py reads this file too.
"""


def case():
    return dict(worker="coco_peer.py", ours="coco_peer.py", target=10.0, configs=("pycocotools",), check_steps=1, tolerance=1e-9)


COCO_CASES = {"coco_eval_5000": case(), "coco_eval_masks_5000": case()}
