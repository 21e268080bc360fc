"""Runs entries: all of them by ctest, which knows what may run beside what, or one by itself."""

import os
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree

from .results import FAILED, PASSED, SKIPPED, Run

_SKIP_STATUS = 77
_KEPT_BYTES = 4 << 20
"""How much of what an entry prints is kept."""
_RUNNING = set()
"""The processes of entries that run by themselves."""


def run_all(folder, entries, selection, jobs):
    """Runs the entries that the arguments of ctest's select, and gives a Run for each."""
    report = folder / "test-results" / "ctest.xml"
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    for entry in entries:
        entry.forget_results()
    size = str(_KEPT_BYTES)
    subprocess.run(["ctest", "--test-dir", str(folder), "--parallel", str(jobs), "--output-junit", str(report),
                    "--test-output-size-passed", size, "--test-output-size-failed", size, "--no-tests=error", *selection],
                   check=False)
    known = {entry.name: entry for entry in entries}
    return [_run_of(known[element.get("name")], element) for element in ElementTree.parse(report).getroot().iter("testcase")]


def _run_of(entry, element):
    output = element.findtext("system-out") or ""
    failure, skipped = element.find("failure"), element.find("skipped")
    seconds = float(element.get("time") or 0)
    if failure is not None or element.get("status") == "fail":
        ended = entry.limit and seconds >= entry.limit
        reason = f"ended by its limit of {entry.limit:.0f} s" if ended else _message(failure)
        return Run(entry, FAILED, seconds, output, reason)
    if skipped is not None:
        if "SKIP_RETURN_CODE" not in (skipped.get("message") or ""):  # its program is missing, say
            return Run(entry, FAILED, seconds, output, skipped.get("message") or "it could not be started")
        return Run(entry, SKIPPED, seconds, output, (output.strip().splitlines() or [""])[-1])
    return Run(entry, PASSED, seconds, output)


def _message(failure):
    return (failure.get("message") if failure is not None else "") or "it failed"


def run_alone(entry):
    """Runs one entry by itself, as ctest would, and ends it with all its children at its limit."""
    entry.forget_results()
    begin = time.monotonic()
    process = subprocess.Popen(entry.command, cwd=entry.directory, env=os.environ | entry.environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    _RUNNING.add(process)
    try:
        output, _ = process.communicate(timeout=entry.limit or None)
        reason = f"exit status {process.returncode}"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        reason = f"ended by its limit of {entry.limit:.0f} s"
    finally:
        _RUNNING.discard(process)
    status = {0: PASSED, _SKIP_STATUS: SKIPPED}.get(process.returncode, FAILED)
    return Run(entry, status, time.monotonic() - begin, output[-_KEPT_BYTES:].decode(errors="replace"),
               "" if status == PASSED else reason)


def end_all():
    """Ends what run_alone has started and another thread still waits for, with all children."""
    for process in list(_RUNNING):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
