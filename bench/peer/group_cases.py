"""The cases about groups of workers. A step is one all-reduce (sum, f32) between two processes of this host.

The number each step returns in place of a loss is the mean magnitude of the result.
Standard library only: bench/run.py reads this file too.
"""


def case(target):
    return dict(worker="group_peer.py", target=target, configs=("gloo",), check_steps=2, tolerance=1e-6)


GROUP_CASES = {f"allreduce_{size}mb_x2": case(2.0) for size in (1, 16, 100)}
# With Thalweg held to TCP, which is what gloo uses.
GROUP_CASES |= {f"allreduce_{size}mb_x2_tcp": case(1.0) for size in (1, 16, 100)}
