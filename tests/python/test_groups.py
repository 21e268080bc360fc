"""Groups: what is closed says so, and nobody waits for a place that is not there."""

import numpy as np
import pytest

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
