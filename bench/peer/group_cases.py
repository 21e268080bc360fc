"""The cases about groups of workers: two processes of this host.

allreduce_*: a step is one all-reduce (sum, f32). What it returns in place of a loss is the mean magnitude of the result.
ddp_*: a step trains one model, each process with one thread and a batch of its own. The loss is the mean over both.
Standard library only: bench/run.py reads this file too.
"""

from cases import case as model_case
from cases import image


def case(target):
    return dict(worker="group_peer.py", target=target, configs=("gloo",), check_steps=2, tolerance=1e-6)


GROUP_CASES = {f"allreduce_{size}mb_x2": case(2.0) for size in (1, 16, 100)}
# With Thalweg held to TCP, which is what gloo uses.
GROUP_CASES |= {f"allreduce_{size}mb_x2_tcp": case(1.0) for size in (1, 16, 100)}

# Over a cable of 1 Gbit/s and of 100 Mbit/s (wire.py). With two workers each sends as many bytes as there are.
GROUP_CASES |= {f"allreduce_16mb_x2_tcp_{name}": case(1.0) | {"wire_mbit": mbit, "sent_bytes": 16_000_000}
                for name, mbit in (("1gbit", 1000), ("100mbit", 100))}


def training(model, config, batch, lr, tolerance):
    return model_case(model, config, image(batch, 1000), lr, 1.15, configs=("default", "channels_last"),
                      tolerance=tolerance) | {"worker": "ddp_peer.py"}


GROUP_CASES |= {
    "ddp_resnet50_b8_x2": training("resnet50", {"classes": 1000}, 8, 0.001, 3e-4),
    "ddp_alexnet_b16_x2": training("alexnet", {"classes": 1000, "dropout": 0.0}, 16, 0.0001, 1e-3),
}
