"""The learning rate over a run."""

from thalweg._core.schedules import *  # noqa: F403
