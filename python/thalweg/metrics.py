"""Metrics with their options: thalweg.metrics.top_k_accuracy(k=5)."""

from thalweg._core.metrics import *  # noqa: F403
