"""Samples of signals: their transforms, and their frames."""

from functools import partial

import numpy as np

import daskvars as dv
from daskvars.graph.interpreter import apply
from daskvars.ops.signal import frames
from tests.ops.sample import Sample, normal

floats = partial(normal, np.random.default_rng(6))


def complexes(*shape):
    return floats(*shape) + 1j * floats(*shape)


def transform(type, name, rank, *lengths, of=complexes, **options):
    function = getattr(dv.signal, name)
    shape = (2, 2, 3, 4)[-rank - 1 :]
    return Sample(
        type,
        lambda x: function(x, *lengths),
        (of(*shape),),
        (0,),
        complex=of is complexes,
        id=" ".join([name, *map(str, lengths)]),
        **options,
    )


SAMPLES = [
    transform("FFT", "fft", 1),
    transform("FFT", "ifft", 1),
    transform("FFT2D", "fft2d", 2),
    transform("FFT2D", "ifft2d", 2),
    transform("FFT3D", "fft3d", 3),
    transform("FFT3D", "ifft3d", 3),
    transform("RFFT", "rfft", 1, of=floats),
    transform("RFFT", "rfft", 1, [3], of=floats),
    transform("RFFT", "rfft", 1, [7], of=floats),
    transform("RFFT2D", "rfft2d", 2, of=floats),
    transform("RFFT2D", "rfft2d", 2, [4, 3], of=floats),
    transform("RFFT3D", "rfft3d", 3, [2, 2, 5], of=floats),
    transform("IRFFT", "irfft", 1),
    transform("IRFFT", "irfft", 1, [3]),
    transform("IRFFT", "irfft", 1, [9]),
    transform("IRFFT2D", "irfft2d", 2, [3, 5]),
    transform("IRFFT3D", "irfft3d", 3),
    Sample(
        "RFFT",
        dv.signal.rfft,
        (floats(3, 4), np.array([6], np.int32)),
        (0,),
        chunked=(0,),
        complex=False,
        id="length of-run",
    ),
    Sample(
        "IRFFT",
        dv.signal.irfft,
        (complexes(3, 4), np.array([5], np.int32)),
        (0,),
        chunked=(0,),
        complex=False,
        id="length of-run",
    ),
    Sample(
        "RFFT",
        lambda x: dv.signal.dct(x, norm="ortho"),
        (floats(2, 5),),
        (0,),
        complex=False,
        id="dct",
    ),
    Sample("IRFFT", lambda x: dv.signal.idct(x), (floats(2, 5),), (0,), complex=False, id="idct"),
    Sample("Frame", lambda x: dv.signal.frame(x, 3, 2), (floats(2, 8),), (0,)),
    Sample(
        "Frame", lambda x: dv.signal.frame(x, 2, 3, True, axis=0), (floats(4, 2),), (0,), id="rows"
    ),
    Sample("OverlapAndAdd", lambda x: dv.signal.overlap_and_add(x, 2), (floats(2, 3, 3),), (0,)),
    Sample(
        "OverlapAndAdd",
        lambda x, n: apply(frames.OVERLAP_AND_ADD, x, frame_step=3, samples=n),
        (floats(2, 2, 2), np.int32(8)),
        chunked=(0,),
        id="samples of-run",
    ),
]
