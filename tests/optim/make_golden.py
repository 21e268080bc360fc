#!/usr/bin/env python3
"""Writes optimizers.json and schedules.json beside this file: what PyTorch 2.15 computes, in double precision.

Optimisers that PyTorch does not have (Ftrl, LARS, LAMB) are computed here as published.
"""

import json
import pathlib

import torch

HERE = pathlib.Path(__file__).parent
SIZE, STEPS = 6, 7
generator = torch.Generator().manual_seed(7)
INITIAL = torch.randn(SIZE, generator=generator, dtype=torch.float64)
GRADIENTS = torch.randn(STEPS, SIZE, generator=generator, dtype=torch.float64)
GRADIENTS[2] *= 1e-4
GRADIENTS[:, 5] = 0.0


def run_torch(make):
    parameter = torch.nn.Parameter(INITIAL.clone())
    optimizer = make([parameter])
    values = []
    for gradient in GRADIENTS:
        parameter.grad = gradient.clone()
        optimizer.step()
        values.append(parameter.detach().tolist())
    return values


def torch_case(name, rate, options, make):
    return {"optimizer": name, "learning_rate": rate, "options": options, "values": run_torch(make)}


def torch_cases():
    o = torch.optim
    yield torch_case("sgd", 0.1, {}, lambda p: o.SGD(p, 0.1))
    yield torch_case("sgd", 0.1, {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.05},
                     lambda p: o.SGD(p, 0.1, momentum=0.9, dampening=0.3, weight_decay=0.05))
    yield torch_case("sgd", 0.1, {"momentum": 0.9, "nesterov": 1, "weight_decay": 0.05},
                     lambda p: o.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=0.05))
    yield torch_case("adagrad", 0.1, {}, lambda p: o.Adagrad(p, 0.1))
    yield torch_case(
        "adagrad", 0.1,
        {"learning_rate_decay": 0.2, "initial_accumulator": 0.3, "weight_decay": 0.05},
        lambda p: o.Adagrad(p, 0.1, lr_decay=0.2, initial_accumulator_value=0.3, weight_decay=0.05))
    yield torch_case("adadelta", 1.0, {}, lambda p: o.Adadelta(p, 1.0))
    yield torch_case("adadelta", 0.5, {"rho": 0.8, "epsilon": 1e-4, "weight_decay": 0.05},
                     lambda p: o.Adadelta(p, 0.5, rho=0.8, eps=1e-4, weight_decay=0.05))
    yield torch_case("adam", 0.01, {}, lambda p: o.Adam(p, 0.01))
    yield torch_case("adam", 0.01, {"beta1": 0.8, "beta2": 0.95, "amsgrad": 1, "weight_decay": 0.05},
                     lambda p: o.Adam(p, 0.01, betas=(0.8, 0.95), amsgrad=True, weight_decay=0.05))
    yield torch_case("adamw", 0.01, {}, lambda p: o.AdamW(p, 0.01))
    yield torch_case("adamw", 0.01, {"amsgrad": 1, "weight_decay": 0.3},
                     lambda p: o.AdamW(p, 0.01, amsgrad=True, weight_decay=0.3))
    yield torch_case("adamax", 0.02, {"beta2": 0.9, "weight_decay": 0.05},
                     lambda p: o.Adamax(p, 0.02, betas=(0.9, 0.9), weight_decay=0.05))
    yield torch_case("rmsprop", 0.01, {}, lambda p: o.RMSprop(p, 0.01))
    yield torch_case("rmsprop", 0.01, {"momentum": 0.7}, lambda p: o.RMSprop(p, 0.01, momentum=0.7))
    yield torch_case("rmsprop", 0.01, {"centered": 1, "epsilon": 1e-3},
                     lambda p: o.RMSprop(p, 0.01, centered=True, eps=1e-3))
    yield torch_case(
        "rmsprop", 0.01, {"alpha": 0.9, "centered": 1, "momentum": 0.7, "weight_decay": 0.05, "epsilon": 1e-3},
        lambda p: o.RMSprop(p, 0.01, alpha=0.9, centered=True, momentum=0.7, weight_decay=0.05, eps=1e-3))


def run_rule(step):
    """`step(w, g, t)` returns the new w; t counts from 1."""
    w, values = INITIAL.clone(), []
    for t, g in enumerate(GRADIENTS, 1):
        w = step(w, g.clone(), t)
        values.append(w.tolist())
    return values


def ftrl_case(rate, power=-0.5, initial=0.1, l1=0.0, l2=0.0, shrinkage=0.0, beta=0.0):
    state = {"n": torch.full((SIZE,), initial, dtype=torch.float64), "z": torch.zeros(SIZE, dtype=torch.float64)}

    def step(w, g, _):
        n, z = state["n"], state["z"]
        n_new = n + g * g
        z = z + g + 2 * shrinkage * w - (n_new.pow(-power) - n.pow(-power)) / rate * w
        quadratic = n_new.pow(-power) / rate + 2 * (l2 + beta / (2 * rate))
        state["n"], state["z"] = n_new, z
        return (z.clamp(-l1, l1) - z) / quadratic

    options = {"learning_rate_power": power, "initial_accumulator": initial, "l1": l1, "l2": l2,
               "l2_shrinkage": shrinkage, "beta": beta}
    return {"optimizer": "ftrl", "learning_rate": rate, "options": options, "values": run_rule(step)}


def lars_case(rate, momentum, trust, decay, nesterov):
    state = {"v": torch.zeros(SIZE, dtype=torch.float64)}

    def step(w, g, _):
        local = trust * w.norm() / (g.norm() + decay * w.norm() + 1e-9)
        fresh = rate * local * (g + decay * w)
        state["v"] = momentum * state["v"] + fresh
        return w - (fresh + momentum * state["v"] if nesterov else state["v"])

    options = {"momentum": momentum, "trust": trust, "weight_decay": decay, "nesterov": int(nesterov)}
    return {"optimizer": "lars", "learning_rate": rate, "options": options, "values": run_rule(step)}


def lamb_case(rate, beta1, beta2, decay):
    state = {"m": torch.zeros(SIZE, dtype=torch.float64), "v": torch.zeros(SIZE, dtype=torch.float64)}

    def step(w, g, t):
        m = state["m"] = beta1 * state["m"] + (1 - beta1) * g
        v = state["v"] = beta2 * state["v"] + (1 - beta2) * g * g
        r = (m / (1 - beta1**t)) / ((v / (1 - beta2**t)).sqrt() + 1e-6) + decay * w
        return w - rate * w.norm() / r.norm() * r

    options = {"beta1": beta1, "beta2": beta2, "weight_decay": decay}
    return {"optimizer": "lamb", "learning_rate": rate, "options": options, "values": run_rule(step)}


def published_cases():
    yield ftrl_case(0.1)
    yield ftrl_case(0.1, l1=0.4, l2=0.2, shrinkage=0.1, beta=0.5)
    yield ftrl_case(0.1, power=-0.7, l1=0.1)
    yield lars_case(0.5, 0.9, 0.02, 0.05, False)
    yield lars_case(0.5, 0.8, 0.02, 0.0, True)
    yield lamb_case(0.02, 0.9, 0.999, 0.0)
    yield lamb_case(0.02, 0.8, 0.95, 0.1)


def sparse_case(kind):
    """Three steps on a table of 5 rows of 3; rows repeat and are not sorted."""
    table = torch.nn.Parameter(torch.randn(5, 3, generator=generator, dtype=torch.float64))
    initial = table.detach().flatten().tolist()
    optimizer = torch.optim.SparseAdam([table], 0.05) if kind == "adam" else torch.optim.SGD([table], 0.05)
    steps = []
    for rows in ([3, 1, 3], [0, 3], [4, 4, 4, 1]):
        gradients = torch.randn(len(rows), 3, generator=generator, dtype=torch.float64) * 1e-4
        table.grad = torch.sparse_coo_tensor(torch.tensor([rows]), gradients, (5, 3))
        optimizer.step()
        steps.append({"rows": rows, "gradients": gradients.flatten().tolist(),
                      "table": table.detach().flatten().tolist()})
    return {"optimizer": kind, "learning_rate": 0.05, "initial": initial, "row_size": 3, "steps": steps}


def clip_scale():
    parameter = torch.nn.Parameter(INITIAL.clone())
    parameter.grad = GRADIENTS[0].clone()
    torch.nn.utils.clip_grad_norm_([parameter], 0.5)
    return {"max_norm": 0.5, "clipped": parameter.grad.tolist()}


def schedule_rates(make, steps=24):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    scheduler = make(optimizer)
    rates = []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


def plateau_rates(**options):
    """The rate after each of these scores."""
    scores = [1.0, 0.9, 0.9, 0.91, 0.9, 0.89999, 0.95, 0.8, 0.85, 0.85, 0.85, 0.85, 0.85, 0.85, 0.85, 0.85]
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
    rates = []
    for score in scores:
        scheduler.step(score)
        rates.append(optimizer.param_groups[0]["lr"])
    return {"scores": scores, "rates": rates}


def schedules():
    s = torch.optim.lr_scheduler
    return {
        "step": schedule_rates(lambda o: s.StepLR(o, 5, 0.3)),
        "multistep": schedule_rates(lambda o: s.MultiStepLR(o, [3, 10, 11], 0.5)),
        "poly": schedule_rates(lambda o: s.PolynomialLR(o, 20, 1.5)),
        "exponential": schedule_rates(lambda o: s.ExponentialLR(o, 0.9)),
        "cosine": schedule_rates(lambda o: s.CosineAnnealingLR(o, 23, 0.01)),
        "one_cycle": schedule_rates(lambda o: s.OneCycleLR(o, 0.4, total_steps=25, pct_start=0.3)),
        "one_cycle_linear": schedule_rates(lambda o: s.OneCycleLR(
            o, 0.4, total_steps=25, pct_start=0.4, div_factor=10, final_div_factor=100, anneal_strategy="linear")),
        "warm_up_cosine": schedule_rates(lambda o: s.SequentialLR(
            o, [s.LinearLR(o, 0.1, 1.0, 4), s.CosineAnnealingLR(o, 21)], [4])),
        "plateau": plateau_rates(factor=0.5, patience=2, threshold=1e-4),
        "plateau_cooldown": plateau_rates(factor=0.5, patience=1, cooldown=2, min_lr=0.03, threshold=0.01,
                                          threshold_mode="abs"),
    }


def write(name, content):
    (HERE / name).write_text(json.dumps(content, indent=None, separators=(",", ":")) + "\n")


def main():
    write("optimizers.json", {
        "initial": INITIAL.tolist(), "gradients": GRADIENTS.tolist(),
        "cases": [*torch_cases(), *published_cases()],
        "sparse": [sparse_case("adam"), sparse_case("sgd")], "clip": clip_scale()})
    write("schedules.json", schedules())


if __name__ == "__main__":
    main()
