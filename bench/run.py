#!/usr/bin/env python3
"""Runs each case with Thalweg and with the fastest form of its peer, side by side, and prints the ratio. The peer is PyTorch
where the case trains, ONNX Runtime or OpenVINO where it infers, what data_cases.py names where it reads data, and gloo
between two processes.

For each case:
  1. every configuration of the peer is tried in a process of its own; the fastest stays. One that fails is reported and skipped.
  2. Thalweg's worker starts. Both sides began from the same weights and batch: the losses of the first steps must agree,
     or the case fails and is not measured.
  3. both run in turns, each alone: the other is stopped (SIGSTOP), so that no idle thread spins. The order changes every round.
A side's time is the median over rounds of the fastest step in each round. Peak memory is the process's VmHWM after its runs.
What other programs used of the CPU meanwhile is measured too: a case they disturbed is marked.

Results go to build/bench.json after every case: a list of {"case", "ours_ms", "peer", "peer_ms", "ratio",
"ours_peak_mb", "peer_peak_mb"} and a few more keys; where processes train together also "ours_sync_ms" and "peer_sync_ms",
what that adds to a step, "sync_target", the share of the peer's that ours may be, and "sync_met"; and of data_wait_resnet50
"step_ms", "wait_ms", "decode_ms", "wait_share" and "limit"; of beside_load_* "beside_ms", "slowdown", "peer_slowdown" and
"slowdown_met". Exit status: 0; 1 when a case failed; 2 for a usage or set-up error.
Environment: THALWEG_BENCH_BIN, Thalweg's worker; THALWEG_BENCH_PYTHON, a Python that has torch and numpy
(default ${THALWEG_DEPS:-~/.cache/thalweg}/bench-venv/bin/python).
"""

import argparse
import ctypes
import json
import os
import pathlib
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "peer"))

import beside_load  # noqa: E402
import wire  # noqa: E402
from cases import CASES as MODEL_CASES  # noqa: E402
from coco_cases import COCO_CASES  # noqa: E402
from data_cases import DATA_CASES  # noqa: E402
from group_cases import GROUP_CASES  # noqa: E402
from python_cases import PYTHON_CASES  # noqa: E402
from spark_cases import SPARK_CASES  # noqa: E402

CASES = MODEL_CASES | DATA_CASES | GROUP_CASES | PYTHON_CASES | COCO_CASES | SPARK_CASES | beside_load.BESIDE_CASES

PR_SET_PDEATHSIG = 1
SYNC_TARGET = 0.5  # what synchronisation may add to our step, as a share of what it adds to the peer's
RECORD_STEPS = 2  # of each round against a figure on record: such steps are long
PAIR_SHARE = 6  # how much longer than a turn the steps with and without a group are compared: they differ by little
QUIET_CORES = 0.15  # what other programs may use before a figure counts as disturbed


def log(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def busy_seconds():
    """Seconds of CPU time that all programs on the machine have used so far, stolen time included."""
    fields = [int(x) for x in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def wait_until_quiet(patience):
    """Waits, `patience` seconds at most, until other programs leave the machine alone."""
    end = time.monotonic() + patience
    while True:
        start, used = time.monotonic(), busy_seconds()
        time.sleep(0.5)
        if (busy_seconds() - used) / (time.monotonic() - start) < QUIET_CORES or time.monotonic() >= end:
            return


class WorkerError(Exception):
    """A worker said so, died, answered nonsense or missed its deadline. The message names the worker."""


class Worker:
    """A process that speaks torch_peer.py's line protocol. Stopped whenever it is not asked for something."""

    def __init__(self, label, command, deadline):
        self.label, self.buffer, self.stopped = label, b"", False
        self.stderr = tempfile.TemporaryFile()
        libc = ctypes.CDLL(None)
        try:
            # A group of its own, so that helpers stop and end with it; and it ends if this script is killed,
            # even while it is stopped.
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.stderr, start_new_session=True,
                preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
        except OSError as error:
            raise WorkerError(f"{label}: cannot start {command[0]}: {error.strerror}") from None
        try:
            self.hello = self._answer(deadline)
            if self.hello.get("ready") is not True:
                raise WorkerError(f"{label}: expected a ready line, got {self.hello}")
            self.pause()
        except BaseException:
            self.close()
            raise

    def run(self, steps, deadline):
        """-> (milliseconds of each step, losses, peak in MiB). Sets others_cores, what other programs used meanwhile."""
        self.answer = answer = self._ask(f"run {steps}", deadline)
        try:
            ms = [float(x) for x in answer["ms"]]
            losses, peak = [float(x) for x in answer["losses"]], float(answer["peak_mb"])
        except (KeyError, TypeError, ValueError):
            raise WorkerError(f"{self.label}: malformed answer {answer}") from None
        if len(ms) != steps or len(losses) != steps:
            raise WorkerError(f"{self.label}: asked for {steps} steps, got {len(ms)} times and {len(losses)} losses")
        return ms, losses, peak

    def run_pairs(self, count, deadline):
        """-> milliseconds of steps of the group, each with those of the step without a group that followed it; none from a
        worker that has but one process. The machine's speed changes within seconds: only neighbours can be compared."""
        if not self.hello.get("pairs"):
            return []
        answer = self._ask(f"pairs {count}", deadline)
        try:
            return [(float(together), float(alone))
                    for together, alone in zip(answer["together_ms"], answer["alone_ms"], strict=True)]
        except (KeyError, TypeError, ValueError):
            raise WorkerError(f"{self.label}: malformed answer {answer}") from None

    def _ask(self, order, deadline):
        start, used = time.monotonic(), busy_seconds() - self._cpu_seconds()
        self.resume()
        try:
            self.process.stdin.write(f"{order}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has died: reading its answer says why
        answer = self._answer(deadline)
        self.pause()
        self.others_cores = max(0.0, (busy_seconds() - self._cpu_seconds() - used) / (time.monotonic() - start))
        return answer

    def pause(self):
        self._signal(signal.SIGSTOP)
        self.stopped = True

    def resume(self):
        if self.stopped:
            self._signal(signal.SIGCONT)
            self.stopped = False

    def close(self):
        """Ends the process, politely first. Safe to call twice."""
        if self.process.poll() is None:
            self.resume()
            try:
                self.process.stdin.write(b"quit\n")
                self.process.stdin.flush()
                self.process.wait(timeout=2)
            except (OSError, subprocess.TimeoutExpired):
                pass
        self._signal(signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.stderr):
            try:
                pipe.close()
            except BrokenPipeError:
                pass

    def _cpu_seconds(self):
        """Of the process and all that it has started: they share its session. Those that ended count with their parents."""
        ticks = 0
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            if int(fields[3]) == self.process.pid:
                ticks += sum(map(int, fields[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def _signal(self, number):
        try:
            os.killpg(self.process.pid, number)
        except (ProcessLookupError, PermissionError):
            pass

    def _answer(self, deadline):
        """The next JSON line within `deadline` seconds."""
        end = time.monotonic() + deadline
        out = self.process.stdout.fileno()
        while b"\n" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0:
                raise WorkerError(f"{self.label}: no answer within {deadline:.0f} s{self._complaint()}")
            if not select.select([out], [], [], min(left, 1.0))[0]:
                continue
            chunk = os.read(out, 1 << 16)
            if not chunk:
                try:
                    status = self.process.wait(timeout=5)
                except subprocess.TimeoutExpired:
                    status = "unknown"
                raise WorkerError(f"{self.label}: ended with status {status}{self._complaint()}")
            self.buffer += chunk
        line, self.buffer = self.buffer.split(b"\n", 1)
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise WorkerError(f"{self.label}: not a JSON object: {line[:200].decode(errors='replace')!r}")
        if "error" in answer:
            raise WorkerError(f"{self.label}: {answer['error']}")
        return answer

    def _complaint(self):
        size = self.stderr.seek(0, os.SEEK_END)
        self.stderr.seek(max(0, size - 2000))
        lines = self.stderr.read().decode(errors="replace").strip().splitlines()[-5:]
        return "; its last words:\n    " + "\n    ".join(lines) if lines else ""


def peer_label(case, config):
    return f"pytorch {config}" if CASES[case]["worker"] == "torch_peer.py" else config


class Setup:
    """What is the same for every case: programs, threads, how long to measure."""

    def __init__(self, options):
        self.options = options
        self.wire = None  # between the processes of the case, if it asks for one
        deps = pathlib.Path(os.environ.get("THALWEG_DEPS") or pathlib.Path.home() / ".cache" / "thalweg")
        self.python = os.environ.get("THALWEG_BENCH_PYTHON") or str(deps / "bench-venv" / "bin" / "python")
        self.binary = os.environ.get("THALWEG_BENCH_BIN", "")
        if not os.access(self.python, os.X_OK):
            raise SystemExit(f"bench: no Python with torch at {self.python}.\n"
                             "Install the benchmark environment as bench/README.md says, or set THALWEG_BENCH_PYTHON.")
        if not options.peer_only and not os.access(self.binary, os.X_OK):
            found = "THALWEG_BENCH_BIN is " + (f"{self.binary!r}, which is not a program" if self.binary else "not set")
            raise SystemExit(f"bench: {found}.\nRun `make bench`, which builds the worker and sets it, "
                             "or --peer-only to measure the peers alone.")

    def peer(self, case, config):
        command = [self.python, str(HERE / "peer" / CASES[case]["worker"]), "--case", CASES[case].get("base", case), "--config", config,
                   "--threads", str(self.options.threads)]
        if self.options.peer_fused_optimizer and CASES[case]["worker"] == "torch_peer.py":
            command.append("--fused-optimizer")
        return self._start(f"{case}: {peer_label(case, config)}", command)

    def ours(self, case):
        command = [self.binary, "--case", CASES[case].get("base", case), "--threads", str(self.options.threads)]
        if "ours" in CASES[case]:
            command[:1] = [self.python, str(HERE / "peer" / CASES[case]["ours"]), "--config", "thalweg"]
        return self._start(f"{case}: thalweg", command)

    def _start(self, label, command):
        return Worker(label, command if self.wire is None else self.wire.command(command), self.options.deadline)

    def steps(self, ms):
        """Steps that fill a side's share of a round."""
        return min(200, max(2, round(self.options.seconds * 1e3 / ms)))

    def pairs(self, ms):
        """Pairs of steps that are enough to tell what the group adds to one."""
        return min(200, max(2, round(PAIR_SHARE * self.options.seconds * 1e3 / (2 * ms))))

    def step_deadline(self, steps, ms):
        """Generous: a busy machine must not fail a case, a hang must not last for ever."""
        return 120 + steps * ms * 0.02


class Probe:
    """One configuration of the peer after its first steps."""

    def __init__(self, setup, name, config):
        self.config = config
        self.worker = setup.peer(name, config)
        try:
            # The first steps compile, allocate and tune; their losses are the ones to compare.
            _, self.losses, _ = self.worker.run(CASES[name]["check_steps"], setup.options.deadline)
            wait_until_quiet(setup.options.patience)
            ms, _, _ = self.worker.run(2, setup.options.deadline)
            steps = min(setup.steps(min(ms)), 20)
            more, _, self.peak = self.worker.run(steps, setup.step_deadline(steps, max(ms)))
        except BaseException:
            self.worker.close()
            raise
        self.ms, self.others_cores = min(ms + more), self.worker.others_cores


def fastest_peer(setup, name):
    """-> (the fastest Probe, its worker alive and stopped; {config: ms or why it failed})"""
    best, seen = None, {}
    try:
        for config in setup.options.peer_configs or CASES[name]["configs"]:
            if config not in CASES[name]["configs"]:
                continue
            started = time.monotonic()
            try:
                probe = Probe(setup, name, config)
            except WorkerError as error:
                log(f"skipped: {error}")
                seen[config] = f"failed: {error}".splitlines()[0][:200]
                continue
            seen[config] = probe.ms
            log(f"{name}: {peer_label(name, config)} {probe.ms:.1f} ms, peak {probe.peak:.0f} MB, took {time.monotonic() - started:.0f} s, "
                f"others used {probe.others_cores:.1f} cores, losses {' '.join(f'{x:.6g}' for x in probe.losses)}")
            slower = probe if best is not None and best.ms <= probe.ms else best
            best = best if slower is probe else probe
            if slower is not None:
                slower.worker.close()
    except BaseException:
        if best is not None:
            best.worker.close()
        raise
    if best is None:
        raise WorkerError(f"{name}: every configuration of the peer failed")
    return best, seen


def loss_difference(name, ours, peer):
    """Largest relative difference of the first losses; raises when it is beyond the case's tolerance."""
    worst = 0.0
    for step, (a, b) in enumerate(zip(ours, peer, strict=True)):
        difference = abs(a - b) / max(abs(b), 1e-12)
        if not difference <= CASES[name]["tolerance"]:  # also when either is NaN
            raise WorkerError(
                f"{name}: the two sides do not compute the same thing: loss of step {step} is {a:.7g} with Thalweg, "
                f"{b:.7g} with the peer, tolerance {CASES[name]['tolerance']:g}\n"
                f"    thalweg {' '.join(f'{x:.7g}' for x in ours)}\n    peer    {' '.join(f'{x:.7g}' for x in peer)}")
        worst = max(worst, difference)
    return worst


def against_record(setup, name):
    """-> the entry of a case whose peer is a figure on record"""
    (peer, peer_ms), = CASES[name]["recorded"].items()
    worker = setup.ours(name)
    minima, others = [], []
    try:
        _, losses, _ = worker.run(CASES[name]["check_steps"], setup.options.deadline)
        if not losses[-1] < CASES[name]["loss_below"]:
            raise WorkerError(f"{name}: the loss ends at {losses[-1]:.4g}, and {CASES[name]['loss_below']:g} is asked for")
        for number in range(setup.options.rounds):
            wait_until_quiet(setup.options.patience)
            ms, _, peak = worker.run(RECORD_STEPS, setup.options.deadline)
            minima.append(min(ms))
            others.append(worker.others_cores)
            log(f"{name}: round {number + 1}/{setup.options.rounds}: ours {minima[-1]:.2f} ms, others used {others[-1]:.1f} cores")
    finally:
        worker.close()
    ours_ms = statistics.median(minima)
    return {"case": name, "peer": peer, "ours_ms": round(ours_ms, 3), "peer_ms": peer_ms, "ratio": round(peer_ms / ours_ms, 4),
            "target": CASES[name]["target"], "ours_peak_mb": peak, "peer_peak_mb": None, "rounds": {"ours": minima},
            "others_cores": round(statistics.median(others), 2)}


def against_limit(setup, name):
    """-> the entry of a case about the share of a step that is spent waiting for data"""
    worker = setup.ours(name)
    shares, waits, steps, decodes, others = [], [], [], [], []
    try:
        worker.run(CASES[name]["check_steps"], setup.options.deadline)
        for number in range(setup.options.rounds):
            wait_until_quiet(setup.options.patience)
            ms, _, peak = worker.run(CASES[name]["steps"], setup.options.deadline)
            try:
                waited, decode = [float(x) for x in worker.answer["wait_ms"]], float(worker.answer["decode_ms"])
            except (KeyError, TypeError, ValueError):
                raise WorkerError(f"{worker.label}: malformed answer {worker.answer}") from None
            steps.append(statistics.fmean(ms))
            waits.append(statistics.fmean(waited))
            decodes.append(decode)
            shares.append(max(0.0, waits[-1] - decode) / steps[-1])
            others.append(worker.others_cores)
            log(f"{name}: round {number + 1}/{setup.options.rounds}: {steps[-1]:.1f} ms a step, {waits[-1]:.2f} ms waiting, "
                f"others used {others[-1]:.1f} cores")
    finally:
        worker.close()
    return {"case": name, "step_ms": round(statistics.median(steps), 3), "wait_ms": round(statistics.median(waits), 3),
            "decode_ms": round(statistics.median(decodes), 3), "wait_share": round(statistics.median(shares), 5),
            "limit": CASES[name]["limit"], "ours_peak_mb": peak, "others_cores": round(statistics.median(others), 2)}


def beside_loops(setup, name):
    """-> the entry of a case about busy loops beside the step"""
    workers, losses = {}, {}
    try:
        for side in ("thalweg", *CASES[name]["configs"]):
            workers[side] = setup.ours(name) if side == "thalweg" else setup.peer(name, side)
            _, losses[side], _ = workers[side].run(CASES[name]["check_steps"], setup.options.deadline)
            loss_difference(name, losses["thalweg"], losses[side])
        wait_until_quiet(setup.options.patience)
        times = beside_load.measure(name, workers, setup.options.seconds, setup.options.rounds, setup.options.deadline, log)
    finally:
        for worker in workers.values():
            worker.close()
    return beside_load.entry(name, times)


def limit_text(entry):
    verdict = "met" if entry["wait_share"] < entry["limit"] else "MISSED"
    return (f"{entry['case']}: of {entry['step_ms']:.1f} ms a step {entry['wait_ms']:.2f} ms wait for data "
            f"({100 * entry['wait_ms'] / entry['step_ms']:.2f}%); to decode a batch takes {entry['decode_ms']:.1f} ms of one "
            f"processor; beyond that {100 * entry['wait_share']:.2f}%, less than {100 * entry['limit']:g}% asked for: {verdict}")


def over_a_wire(setup, name):
    """-> the entry of a case whose two processes have a cable of some rate between them"""
    try:
        with wire.Wire(CASES[name]["wire_mbit"]) as setup.wire:
            entry = in_turns(setup, name)
            if "ours_ms" in entry:
                entry |= {f"{side}_wire_share": round(setup.wire.share(CASES[name]["sent_bytes"], entry[f"{side}_ms"]), 3)
                          for side in ("ours", "peer")}
            return entry
    except OSError as error:
        raise WorkerError(f"{name}: {error}") from None
    finally:
        setup.wire = None


def measure(setup, name):
    """-> the case's entry of bench.json"""
    if "limit" in CASES[name]:
        return against_limit(setup, name)
    if "recorded" in CASES[name]:
        return against_record(setup, name)
    if "base" in CASES[name]:
        return beside_loops(setup, name)
    return over_a_wire(setup, name) if "wire_mbit" in CASES[name] else in_turns(setup, name)


def in_turns(setup, name):
    """-> the entry of a case whose sides run one after the other"""
    probe, seen = fastest_peer(setup, name)
    sides = {"peer": probe.worker}
    try:
        result = {"case": name, "peer": peer_label(name, probe.config), "peer_version": probe.worker.hello.get("version"),
                  "peer_configs": seen}
        if setup.options.peer_only:
            return result | {"peer_ms": round(probe.ms, 3), "peer_peak_mb": probe.peak, "others_cores": round(probe.others_cores, 2)}
        sides["ours"] = setup.ours(name)
        _, losses, _ = sides["ours"].run(len(probe.losses), setup.options.deadline)
        difference = loss_difference(name, losses, probe.losses)
        log(f"{name}: losses agree within {difference:.2g}")
        ms, _, _ = sides["ours"].run(2, setup.options.deadline)
        guess = {"ours": min(ms), "peer": probe.ms}
        minima, pairs, peaks, others = {"ours": [], "peer": []}, {"ours": [], "peer": []}, {}, []
        for number in range(setup.options.rounds):
            wait_until_quiet(setup.options.patience)
            for side in ("ours", "peer") if number % 2 == 0 else ("peer", "ours"):
                steps = setup.steps(guess[side])
                ms, _, peak = sides[side].run(steps, setup.step_deadline(steps, guess[side]))
                minima[side].append(min(ms))
                others.append(sides[side].others_cores)
                pairs[side] += sides[side].run_pairs(setup.pairs(guess[side]), setup.options.deadline)
                if not pairs[side] or side not in peaks:  # training without a group takes memory of its own
                    peaks[side] = peak
            log(f"{name}: round {number + 1}/{setup.options.rounds}: ours {minima['ours'][-1]:.1f} ms, "
                f"peer {minima['peer'][-1]:.1f} ms, ratio {minima['peer'][-1] / minima['ours'][-1]:.3f}, "
                f"others used {max(others[-2:]):.1f} cores")
    finally:
        for worker in sides.values():
            worker.close()
    ours_ms, peer_ms = statistics.median(minima["ours"]), statistics.median(minima["peer"])
    for side, steps in pairs.items():
        if steps:
            result[f"{side}_sync_ms"] = round(statistics.median(together - alone for together, alone in steps), 3)
            result[f"{side}_sync_pairs_ms"] = steps
    if pairs["ours"] and pairs["peer"]:
        result |= {"sync_target": SYNC_TARGET, "sync_met": result["ours_sync_ms"] <= SYNC_TARGET * result["peer_sync_ms"]}
    return result | {
        "ours_ms": round(ours_ms, 3), "peer_ms": round(peer_ms, 3), "ratio": round(peer_ms / ours_ms, 4),
        "target": CASES[name]["target"], "ours_peak_mb": peaks["ours"], "peer_peak_mb": peaks["peer"],
        "loss_difference": difference, "rounds": minima, "others_cores": round(statistics.median(others), 2),
    }


def write(path, results):
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(".tmp")
    aside.write_text(json.dumps(results, indent=1) + "\n")
    aside.replace(path)


def table(results, failures):
    rows = [("case", "ours_ms", "peer", "peer_ms", "ratio", "target", "", "ours_MB", "peer_MB")]
    for r in results:
        if "limit" in r or "slowdown" in r:
            continue
        measured = "ratio" in r
        met = measured and r["ratio"] >= r["target"]
        lean = measured and r["ours_peak_mb"] <= (r["peer_peak_mb"] or float("inf"))
        remark = "" if not measured else ("" if met else "slow ") + ("" if lean else "big")
        rows.append((
            r["case"], f"{r['ours_ms']:.1f}" if measured else "-", r["peer"], f"{r['peer_ms']:.1f}",
            f"{r['ratio']:.3f}" if measured else "-", f"{CASES[r['case']]['target']:.2f}", remark.strip() or ("ok" if measured else ""),
            f"{r['ours_peak_mb']:.0f}" if measured else "-", f"{r['peer_peak_mb']:.0f}" if r["peer_peak_mb"] else "-"))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    left = (0, 2, 6)
    lines = ["  ".join(cell.ljust(w) if i in left else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))).rstrip()
             for row in rows]
    disturbed = [r["case"] for r in results if r["others_cores"] >= QUIET_CORES]
    if disturbed:
        lines.append(f"Disturbed by other programs, so not to be relied on: {', '.join(disturbed)}")
    lines += [f"{r['case']}: synchronisation adds {r['ours_sync_ms']:.1f} ms to a step, {r['peer_sync_ms']:.1f} ms with the peer; "
              f"target at most {r['sync_target']:g} times the peer's: {'met' if r['sync_met'] else 'missed'}"
              for r in results if "sync_met" in r]
    lines += [f"{r['case']}: {r['ours_wire_share']:.0%} of what the wire carries, {r['peer_wire_share']:.0%} with the peer"
              for r in results if "ours_wire_share" in r]
    lines += [limit_text(r) for r in results if "limit" in r]
    lines += [beside_load.text(r) for r in results if "slowdown" in r]
    lines += [f"FAILED  {failure}" for failure in failures]
    return "\n".join(lines)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="all when none is named: " + ", ".join(CASES))
    parser.add_argument("--rounds", type=int, default=5, help="turns each side gets (default 5)")
    parser.add_argument("--seconds", type=float, default=5.0, help="length of one turn; at least 2 steps (default 5)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build" / "bench.json")
    parser.add_argument("--deadline", type=float, default=1800,
                        help="seconds for a worker's start and first steps, compiling included (default 1800)")
    parser.add_argument("--patience", type=float, default=30,
                        help="seconds to wait before each round while other programs are busy (default 30)")
    parser.add_argument("--peer-only", action="store_true", help="measure the peers only; writes no file")
    parser.add_argument("--peer-configs", nargs="+", metavar="CONFIG", help="try only these configurations of the peer")
    parser.add_argument("--peer-fused-optimizer", action="store_true",
                        help="give PyTorch its fused optimiser kernels, which are off by default there")
    options = parser.parse_args()
    unknown = [c for c in options.cases if c not in CASES]
    if unknown:
        parser.error(f"unknown case {', '.join(unknown)}; known: {', '.join(CASES)}")
    if options.rounds < 1 or options.seconds <= 0 or options.threads < 1 or options.deadline <= 0:
        parser.error("--rounds, --seconds, --threads and --deadline must be positive")
    return options


def main():
    options = arguments()
    try:
        setup = Setup(options)
    except SystemExit as error:
        print(error, file=sys.stderr)
        return 2
    # Ending by a signal must still end the workers, which may be stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    load = os.getloadavg()[0]
    if load > 0.5:
        log(f"load average is {load:.1f}: other work on this machine will show in the figures")
    results, failures = [], []
    for name in options.cases or CASES:
        if options.peer_only and CASES[name].keys() & {"recorded", "limit", "base"}:
            continue
        try:
            results.append(measure(setup, name))
        except WorkerError as error:
            failures.append(str(error))
            log(f"FAILED: {error}")
        if not options.peer_only:
            write(options.output, results)
    print(table(results, failures))
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
