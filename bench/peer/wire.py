"""Two hosts with a cable of a known rate between them: network name spaces of this machine, joined by a pair of interfaces
that let so much through. Standard library only: bench/run.py reads this file too."""

import os
import subprocess

INTERFACE = "wire"
ADDRESSES = ("10.213.7.1", "10.213.7.2")
PORT = 29517
# Of one packet; larger ones than a real cable has would make the shaping coarse.
MTU = 1500
SECONDS_IN_QUEUE = 0.05


class Wire:
    """The cable, while the block under `with` runs. Takes root's rights."""

    def __init__(self, mbit):
        self.mbit = mbit
        self._spaces = [f"thalweg-bench-{os.getpid()}-{end}" for end in range(2)]

    def __enter__(self):
        first, second = self._spaces
        try:
            for space in self._spaces:
                _run("ip", "netns", "add", space)
            _run("ip", "-n", first, "link", "add", INTERFACE, "type", "veth", "peer", "name", INTERFACE, "netns", second)
            for space, address in zip(self._spaces, ADDRESSES):
                _run("ip", "-n", space, "addr", "add", f"{address}/24", "dev", INTERFACE)
                _run("ip", "-n", space, "link", "set", INTERFACE, "mtu", str(MTU), "up")
                _run("ip", "-n", space, "link", "set", "lo", "up")
                _run("tc", "-n", space, "qdisc", "add", "dev", INTERFACE, "root", "tbf", "rate", f"{self.mbit}mbit",
                     "burst", "256kb", "latency", f"{SECONDS_IN_QUEUE * 1e3:.0f}ms")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for space in self._spaces:
            subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True)

    def command(self, command):
        """The command at the first end, which knows by its environment how to start a second process at the other."""
        return ["ip", "netns", "exec", self._spaces[0], "env", f"THALWEG_BENCH_MEET={ADDRESSES[0]}:{PORT}",
                f"THALWEG_BENCH_SECOND_SPACE={self._spaces[1]}", f"GLOO_SOCKET_IFNAME={INTERFACE}", *command]

    def share(self, sent_bytes, ms):
        """Of what the cable carries in this time, how much the bytes are that each end sends."""
        return sent_bytes * 8 / (self.mbit * 1e3 * ms)


def _run(*command):
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    if result.returncode != 0:
        raise OSError(f"{' '.join(command)}: {result.stderr.strip()}; cases over a wire need root's rights, ip and tc")
