"""Signals and functions of matrices: results are TensorFlow's; what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.errors import InvalidArgumentError
from tests.ops.signal import cases


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: dv.signal.fft([1.0]), TypeError, "of complex numbers, got float32"),
        (lambda: dv.signal.rfft(dv.constant([1, 2], dv.float16)), TypeError, "float32 or float64"),
        (lambda: dv.signal.rfft2d([1.0]), ValueError, "at least rank 2"),
        (lambda: dv.signal.rfft([1.0], [2, 3]), ValueError, "must be 1 numbers, got 2"),
        (lambda: dv.signal.dct([1.0], type=4), ValueError, "got 4"),
        (lambda: dv.signal.dct([1.0, 2.0], axis=0), ValueError, "last dimension"),
        (lambda: dv.signal.frame([1.0], 0, 1), ValueError, "frame_length must be a positive"),
        (lambda: dv.signal.overlap_and_add([1.0], 1), ValueError, "rank 2 or more"),
        (lambda: dv.signal.hann_window(3, dtype=dv.int32), ValueError, "floating point"),
        (
            lambda: dv.signal.linear_to_mel_weight_matrix(sample_rate=4000),
            ValueError,
            "Nyquist frequency",
        ),
        (lambda: dv.linalg.logm([[1.0]]), TypeError, "of complex numbers"),
        (lambda: dv.linalg.expm([[1.0, 2.0]]), ValueError, "square"),
        (lambda: dv.linalg.pinv([1.0]), ValueError, "rank at least 2"),
        (lambda: dv.linalg.tridiagonal_matmul([1.0], [[1.0]]), ValueError, r"\[..., 3, n\]"),
        (
            lambda: dv.linalg.tridiagonal_solve([[1.0], [1.0], [1.0]], [1.0], "banded"),
            ValueError,
            "Unrecognized diagonals_format: banded",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_words(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: dv.linalg.lu([[0.0, 0.0], [0.0, 1.0]])[0],
        lambda: dv.linalg.tridiagonal_solve([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], [1.0, 2.0]),
    ],
)
def test_singular_matrices_are_refused(call):
    with pytest.raises(InvalidArgumentError, match=r"not invertible|singular"):
        call().numpy()


def test_a_signal_is_what_its_frames_make():
    signal = cases.floats(2, 64)
    spectra = dv.signal.stft(signal, 16, 4)
    window = dv.signal.inverse_stft_window_fn(4)
    found = dv.signal.inverse_stft(spectra, 16, 4, window_fn=window).numpy()
    np.testing.assert_allclose(found[:, 12:-12], signal[:, 12:-12], atol=1e-5)
    assert window(4, dv.float32)[0] == 0  # each frame begins with what its window takes away


def test_signals_are_cut_along_the_batch():
    with dv.config.set(batch_parts=2), tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 64])
        spectra = tf.abs(tf.signal.stft(x, 16, 8))
        mel = tf.tensordot(spectra, tf.signal.linear_to_mel_weight_matrix(6, 9), 1)
        y = tf.signal.mfccs_from_log_mel_spectrograms(tf.log(mel + 1e-6))
        program, _ = session._executable(y, (x,))
        plan = program.plan([cases.floats(4, 64)])
    assert [region.grid for region in plan.regions] == [(2,)]


def test_a_signal_of_which_nothing_is_known_is_cut_in_frames():
    with tf.Graph().as_default(), tf.Session() as session:
        signal = tf.placeholder(tf.float32)
        found = session.run(tf.signal.frame(signal, 4, 2), {signal: np.arange(16.0).reshape(2, 8)})
        assert found.shape == (2, 3, 4)
        assert found[1, 2].tolist() == [12, 13, 14, 15]
        with pytest.raises(ValueError, match="known rank"):
            tf.signal.frame(signal, 4, 2, pad_end=True)


@pytest.mark.parametrize("axes", [None, 0, -1, [0, 1]])
@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts_are_numpys(name, axes):
    x = np.arange(15).reshape(3, 5)
    found = getattr(dv.signal, name)(x, axes)
    np.testing.assert_array_equal(found, getattr(np.fft, name)(x, axes))
    with tf.Graph().as_default(), pytest.raises(ValueError, match="needs the size of axis 0"):
        getattr(tf.signal, name)(tf.placeholder(tf.float32, [None, 2]))
