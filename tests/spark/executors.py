"""The processes of a cluster on this machine."""

import os
import pathlib

_BACKEND = b"CoarseGrainedExecutorBackend"


def executor_processes():
    """Process numbers of the executors that this process's session has, oldest first."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            if _BACKEND in command and command.split(b"\0")[0].endswith(b"java") and _descends(int(entry.name), os.getpid()):
                found.append(int(entry.name))
        except OSError:
            continue  # it has just ended
    return sorted(found)


def _descends(process, ancestor):
    while process > 1:
        if process == ancestor:
            return True
        fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        process = int(fields[1])
    return False
