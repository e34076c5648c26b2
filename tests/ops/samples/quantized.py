"""Samples of quantiles, Bessel functions, and numbers rounded to a few bits."""

import numpy as np

import daskvars as dv
from daskvars.graph.interpreter import apply
from daskvars.ops.math import fake_quantization
from tests.ops.sample import Sample

RNG = np.random.default_rng(4)
SHARES = RNG.uniform(0.1, 0.9, (3, 2))
POINTS = np.array([[-2.5, -0.3], [0.4, 1.7], [3.1, 0.9]])
OPTIONS = {"num_bits": 3, "narrow_range": False}
ROUNDED = np.array([[-3.0, 0.2], [1.4, 9.0]])

SAMPLES = [
    Sample("Erfinv", dv.math.erfinv, (SHARES,), (0,)),
    Sample("Ndtri", dv.math.ndtri, (SHARES,), (0,)),
    Sample("Ndtri", dv.math.erfcinv, (SHARES,), (0,), id="erfcinv"),
    Sample("BesselI0", dv.math.bessel_i0, (POINTS,), (0,)),
    Sample("BesselI1", dv.math.bessel_i1, (POINTS,), (0,)),
    Sample("BesselI1", dv.math.bessel_i1, (np.zeros(2),), (0,), id="zero"),
    Sample("BesselI0e", dv.math.bessel_i0e, (POINTS,), (0,)),
    Sample("BesselI1e", dv.math.bessel_i1e, (POINTS,), (0,)),
    Sample(
        "FakeQuantWithMinMaxVars",
        lambda x: dv.quantization.fake_quant_with_min_max_args(x, -1, 2, 3),
        (ROUNDED.astype("f"),),
    ),
    Sample(
        "FakeQuantWithMinMaxVars",
        dv.quantization.fake_quant_with_min_max_vars_per_channel,
        (ROUNDED.astype("f"), np.array([-1, 0], "f"), np.array([2, 0], "f")),
        chunked=(0,),
        id="per channel",
    ),
    Sample(
        "FakeQuantLimits",
        lambda a, b: apply(fake_quantization.NUDGED, a, b, **OPTIONS),
        (np.array([-1.1, 0.5]), np.array([2.0, 4.0])),
    ),
]
