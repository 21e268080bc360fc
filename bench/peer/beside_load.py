"""Cases beside other programs: how much slower a step becomes when as many busy loops as there are processors run beside it.

Each case is another one of the benchmark's ("base"), whose workers it uses. Standard library only: bench/run.py reads this
file too.
"""

import contextlib
import ctypes
import os
import signal
import statistics
import subprocess
import sys

from cases import CASES

PR_SET_PDEATHSIG = 1
# Configurations that start quickly: what is compared is how they share processors.
_PEERS = {"infer_peer.py": ("onnxruntime", "openvino"), "torch_peer.py": ("default",)}
_BASES = ("infer_mobilenet_v2_b1_f32", "infer_resnet50_b1_f32", "train_lstm_text_b32", "train_resnet18_b16_f32")

BESIDE_CASES = {
    f"beside_load_{base}": CASES[base] | {"base": base, "configs": _PEERS[CASES[base]["worker"]]} for base in _BASES
}


class BusyLoops:
    """Programs that want a processor all the time, but for when they are stopped."""

    def __init__(self, count):
        libc = ctypes.CDLL(None)
        self._processes = [
            subprocess.Popen([sys.executable, "-c", "while True: pass"],
                             preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)) for _ in range(count)
        ]
        self._signal(signal.SIGSTOP)

    def __enter__(self):
        self._signal(signal.SIGCONT)

    def __exit__(self, *_):
        self._signal(signal.SIGSTOP)

    def close(self):
        for process in self._processes:
            process.kill()
            process.wait()

    def _signal(self, number):
        for process in self._processes:
            process.send_signal(number)


def measure(name, workers, turn_seconds, rounds, deadline, log):
    """-> {side: (ms of a step alone, ms beside the loops)}, medians over all steps; sides take turns, and so do the two."""
    loops = BusyLoops(len(os.sched_getaffinity(0)))
    times = {side: {"alone": [], "beside": []} for side in workers}
    try:
        for number in range(rounds):
            for side in list(workers) if number % 2 == 0 else reversed(list(workers)):
                ms = []
                for place in ("alone", "beside"):
                    with loops if place == "beside" else contextlib.nullcontext():
                        ms, _, _ = workers[side].run(2, deadline)
                        steps = min(200, max(3, round(turn_seconds * 1e3 / statistics.median(ms))))
                        ms, _, _ = workers[side].run(steps, deadline)
                    times[side][place] += ms
                log(f"{name}: round {number + 1}/{rounds}: {side} {statistics.median(times[side]['alone']):.1f} ms alone, "
                    f"{statistics.median(ms):.1f} ms beside the loops, at most {max(ms):.1f} ms")
    finally:
        loops.close()
    return {side: (statistics.median(t["alone"]), statistics.median(t["beside"])) for side, t in times.items()}


def entry(name, times):
    """The case's entry of bench.json."""
    slowdowns = {side: round(beside / alone, 3) for side, (alone, beside) in times.items()}
    best = min((side for side in times if side != "thalweg"), key=slowdowns.get)
    return {"case": name, "beside_ms": {side: {"alone": round(alone, 3), "beside": round(beside, 3)}
                                        for side, (alone, beside) in times.items()},
            "slowdown": slowdowns["thalweg"], "peer": best, "peer_slowdown": slowdowns[best],
            "slowdown_met": slowdowns["thalweg"] <= slowdowns[best], "others_cores": 0.0}


def text(result):
    """The case's line below the table."""
    sides = ", ".join(f"{side} {ms['alone']:.1f} -> {ms['beside']:.1f} ms" for side, ms in result["beside_ms"].items())
    return (f"{result['case']}: beside busy loops {sides}; {result['slowdown']:.2f} times slower, {result['peer']} "
            f"{result['peer_slowdown']:.2f}: {'met' if result['slowdown_met'] else 'MISSED'}")
