"""What the peers' workers share: the line protocol with bench/run.py.

One JSON object a line on stdout (whatever libraries print goes to stderr):
  start       -> {"ready": true, "case": ..., "config": ..., "threads": ..., "version": ..., "losses": [of the warm-up steps]}
  "run N"     -> {"ms": [of each step], "losses": [of each step], "peak_mb": VmHWM in MiB}
  "pairs N"   -> {"together_ms": [...], "alone_ms": [...]}: steps of the group and of processes that train for themselves, in
                 turns; if the first line has "pairs": true
  "quit", EOF -> exit 0
  a failure   -> {"error": "..."}, exit 1
"""

import argparse
import json
import os
import pathlib
import sys
import time


def parser(description, cases, configs):
    result = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("--case", required=True, choices=cases)
    result.add_argument("--config", default=configs[0], choices=configs)
    result.add_argument("--threads", type=int, default=2)
    result.add_argument("--steps-warmup", type=int, default=0, help="steps to run before saying ready")
    return result


def protocol_stream():
    """The real stdout, for the protocol only; file descriptor 1 becomes stderr."""
    stream = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return stream


def peak_mb():
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return round(int(line.split()[1]) / 1024, 1)
    raise RuntimeError("no VmHWM in /proc/self/status")


def run(runner, steps):
    """runner.step() is what is timed; runner.loss(its result), which may cost something, is not, nor runner.reset(), if
    there is one. runner.announce(steps), if there is one, is told how many steps follow. Where a step is many, and the
    time of one is wanted, runner.steps_in_one says how many."""
    ms, losses = [], []
    reset = getattr(runner, "reset", lambda: None)
    getattr(runner, "announce", lambda steps: None)(steps)
    for _ in range(steps):
        reset()
        start = time.perf_counter()
        result = runner.step()
        ms.append(round((time.perf_counter() - start) * 1e3 / getattr(runner, "steps_in_one", 1), 3))
        losses.append(runner.loss(result))
    return {"ms": ms, "losses": losses, "peak_mb": peak_mb()}


def serve(options, make_runner):
    """Makes the runner, which has a `version`, and answers until told to quit. -> exit status"""
    stream = protocol_stream()

    def say(message):
        stream.write(json.dumps(message) + "\n")
        stream.flush()

    try:
        runner = make_runner(options)
        warmup = run(runner, options.steps_warmup)
        hello = {"ready": True, "case": options.case, "config": options.config, "threads": options.threads,
                 "version": runner.version, "losses": warmup["losses"]}
        if hasattr(runner, "run_pairs"):
            hello["pairs"] = True
        say(hello)
        for line in sys.stdin:
            words = line.split()
            if words == ["quit"]:
                break
            if len(words) != 2 or words[0] not in ("run", "pairs") or not words[1].isdigit():
                raise ValueError(f"expected 'run N', 'pairs N' or 'quit', got {line!r}")
            steps = int(words[1])
            say(run(runner, steps) if words[0] == "run" else runner.run_pairs(steps))
    except Exception as error:  # the driver reports it and goes on to the next configuration
        say({"error": f"{type(error).__name__}: {error}"})
        raise
    return 0
