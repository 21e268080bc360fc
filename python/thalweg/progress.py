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
        self._width = 0

    def on_step(self, state):
        now = time.monotonic()
        if now - self._shown >= _SECONDS_BETWEEN_UPDATES:
            self._shown = now
            self._show(state.progress_text(), end="")

    def on_epoch(self, state):
        self._show(state.epoch_text())

    def on_message(self, text):
        self._show(text)

    def _show(self, text, end="\n"):
        # What was there before may have been longer.
        print("\r" + text.ljust(self._width), end=end, flush=True)
        self._width = 0 if end else len(text)


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
