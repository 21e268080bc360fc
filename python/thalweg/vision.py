"""Masks as runs, overlaps of boxes and masks, and how good detections are by the rules of COCO and VOC.

>>> import numpy, thalweg
>>> rle = thalweg.vision.rle_encode(numpy.eye(3))
>>> rle
{'size': [3, 3], 'counts': '013000'}
>>> thalweg.vision.rle_iou([rle], [thalweg.vision.rle_encode(numpy.ones((3, 3)))]).round(3)
array([[0.333]])
"""

from thalweg._core.vision import *  # noqa: F403
