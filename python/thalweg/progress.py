"""Progress in a notebook. In a terminal the engine shows it by itself."""

import sys
import time

from thalweg._core import Callback

_SECONDS_BETWEEN_UPDATES = 0.2


class NotebookProgress(Callback):
    """One line that changes while an epoch goes on, and stays when it has ended."""

    def __init__(self):
        super().__init__()
        self._shown = 0.0

    def on_step(self, state):
        now = time.monotonic()
        if now - self._shown >= _SECONDS_BETWEEN_UPDATES:
            self._shown = now
            print("\r" + state.progress_text(), end="", flush=True)

    def on_epoch(self, state):
        print("\r" + state.epoch_text(), flush=True)

    def on_message(self, text):
        print("\r" + text, flush=True)


def in_notebook():
    """Whether output goes to a notebook's cell rather than a terminal."""
    shell = sys.modules.get("IPython")
    shell = shell and shell.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def progress_callback(progress):
    """The engine's option and the callbacks that show progress as wished: "auto", "lines", "none" or None for auto."""
    if progress in (None, "auto") and in_notebook():
        return "none", [NotebookProgress()]
    return progress, []
