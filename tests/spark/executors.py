"""The executors of a session whose cluster is on this machine, as processes."""

import pathlib

_BACKEND = b"CoarseGrainedExecutorBackend"


def executor_processes(spark):
    """Process numbers of the session's executors, in order."""
    return sorted(_executors(spark).values())


def executor_process(spark, executor_id):
    """The process number of the executor that Spark calls so."""
    return _executors(spark)[executor_id]


def _executors(spark):
    application = spark.sparkContext.applicationId.encode()
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it has just ended
        if command[0].endswith(b"java") and application in command and any(_BACKEND in part for part in command):
            found[command[command.index(b"--executor-id") + 1].decode()] = int(entry.name)
    return found


def resident_bytes(process):
    """The memory of a process that is in RAM."""
    for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"process {process} has ended")
