"""Networks of other packages, as people have them, made small: a row each. Weights are drawn at random."""

from networks.segmentation import SEGMENTATION
from networks.speech import SPEECH
from networks.text import TEXT
from networks.vision import VISION

NETWORKS = {**VISION, **TEXT, **SPEECH, **SEGMENTATION}
