"""Groups: what is closed says so, and nobody waits for a place that is not there."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from processes import LONG_PATIENCE

import thalweg
from thalweg import groups, nn


def test_a_closed_scheme_says_so():
    secret = groups.make_secret()
    with groups.Rendezvous(1, secret) as rendezvous, groups.join(rendezvous=rendezvous.address, secret=secret) as scheme:
        model = thalweg.Model(nn.Linear(3, 2), [thalweg.Input((None, 3))])
        x, y = np.zeros((8, 3), "float32"), np.zeros(8, "int64")
        estimator = thalweg.Estimator(model, scheme=scheme, progress="none").fit(x, y)
    with pytest.raises(ValueError, match="the scheme is closed; join a group again"):
        estimator.fit(x, y)
    with pytest.raises(ValueError, match="has been closed"):
        rendezvous.address


def test_both_ends_must_agree_about_tls():
    secret = groups.make_secret()
    with groups.Rendezvous(1, secret, tls=True) as rendezvous:
        with pytest.raises(thalweg.Error, match="the group uses TLS"):
            groups.join(rendezvous=rendezvous.address, secret=secret)
        groups.join(rendezvous=rendezvous.address, secret=secret, tls=True).close()


def test_a_group_has_members():
    with pytest.raises(ValueError, match="at least 1 worker"):
        groups.Rendezvous(0, "secret")


def test_names_of_schemes_need_workers():
    x, y = np.zeros((8, 3), "float32"), np.zeros(8, "int64")
    with pytest.raises(ValueError, match=r"give workers=, or under 'thalweg launch' scheme=thalweg.groups.join\('sharded'\)"):
        thalweg.Estimator(nn.Linear(3, 2), scheme="sharded", progress="none").fit(x, y)
    thalweg.Estimator(nn.Linear(3, 2), scheme="sharded", workers=1, epochs=1, progress="none").fit(x, y)
    model = thalweg.Model(nn.Linear(3, 2), [thalweg.Input((None, 3))])
    with pytest.raises(ValueError, match=r"'sharded': it is what thalweg.groups.join\(name\) gives"):
        thalweg.Trainer(model, scheme="sharded")


def test_a_scheme_that_is_chosen_says_which_and_why():
    secret = groups.make_secret()
    x = np.random.default_rng(1).standard_normal((64, 3)).astype("float32")
    y = (x[:, 0] > 0).astype("int64")

    def work(_):
        with groups.join("auto", rendezvous=rendezvous.address, secret=secret, options={"steps": 3}) as scheme:
            assert scheme.choice is None
            model = thalweg.Model(nn.Linear(3, 2), [thalweg.Input((None, 3))])
            thalweg.Estimator(model, scheme=scheme, epochs=4, batch_size=16, progress="none").fit(x, y)
            return scheme.choice

    with groups.Rendezvous(2, secret) as rendezvous, ThreadPoolExecutor(2) as pool:
        first, second = pool.map(work, range(2))
    assert first == second
    assert first["name"] in groups.schemes() and first["name"] != "auto"
    assert "a worker computes for" in first["why"]
    with groups.Rendezvous(1, secret) as rendezvous, groups.join(rendezvous=rendezvous.address, secret=secret) as scheme:
        assert scheme.choice is None


TRAINING = """
import sys, warnings
import numpy, thalweg
warnings.simplefilter("always")
scheme = thalweg.groups.join() if sys.argv[1] == "join" else None
for _ in range(2):
    estimator = thalweg.Estimator(thalweg.nn.Linear(3, 2), scheme=scheme, epochs=1, progress="none")
    estimator.fit(numpy.zeros((8, 3), "float32"), numpy.zeros(8, "int64"))
thalweg.Estimator(thalweg.nn.Linear(3, 2), epochs=1, progress="none").fit(numpy.zeros((8, 3)), numpy.zeros(8, "int64"))
"""


@pytest.mark.parametrize("how, warnings", [("join", 0), ("alone", 1)])
def test_launched_processes_that_train_alone_are_warned(how, warnings):
    secret = groups.make_secret()
    with groups.Rendezvous(1, secret) as rendezvous:
        told = {"THALWEG_RENDEZVOUS": rendezvous.address, "THALWEG_SECRET": secret, "THALWEG_WORKER": "0"}
        ran = subprocess.run(
            [sys.executable, "-c", TRAINING, how], env={**os.environ, **told}, capture_output=True, text=True, timeout=LONG_PATIENCE
        )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("each worker trains a model of its own") == warnings
