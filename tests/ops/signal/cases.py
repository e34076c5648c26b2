"""Programs on signals and matrices that TensorFlow has run: results are in `tensorflow.json`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.tensorflow_cases import Cases

CASES = Cases()
case = CASES.case


def floats(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype(np.float32)


def complexes(*shape: int, seed: int = 1) -> np.ndarray:
    return floats(*shape, seed=seed) + 1j * floats(*shape, seed=seed + 50)


def with_gradient(tf: Any, function: Any, x: Any) -> list[Any]:
    """Return what a function gives, and the gradient of a weighted sum of it."""
    x = tf.convert_to_tensor(x)
    y = function(x)
    sizes = y.shape.as_list()
    weights = complexes(*sizes, seed=9) if y.dtype.is_complex else floats(*sizes, seed=9)
    return [y, *tf.gradients(y, x, tf.constant(weights, y.dtype))]


# -- transforms --------------------------------------------------------------------------------


@case
def complex_transforms(tf):
    found = []
    for name in ("fft", "ifft", "fft2d", "ifft2d", "fft3d", "ifft3d"):
        x = complexes(2, 3, 4, 5).astype(np.complex64)
        found += with_gradient(tf, getattr(tf.signal, name), x)
        assert getattr(tf.spectral, name) and getattr(tf, name)
    return found


@case
def real_transforms(tf):
    found = []
    for rank, name in ((1, "rfft"), (2, "rfft2d")):
        function = getattr(tf.signal, name)
        for last in (4, 5):
            found += with_gradient(tf, function, floats(2, 3, last))
        for length in ([6, 8], [2, 3], [4, 3]):
            length = length[-rank:]
            found.append(function(floats(2, 3, 5), length))  # whose gradient TensorFlow fails at
    found.append(tf.signal.rfft3d(floats(2, 3, 4)))
    return found


@case
def transforms_back(tf):
    found = []
    for rank, name in ((1, "irfft"), (2, "irfft2d")):
        function = getattr(tf.signal, name)
        found += with_gradient(tf, function, complexes(2, 3, 4).astype(np.complex64))
        for length in ([3, 6], [3, 7]):
            length = length[-rank:]
            x = complexes(2, 3, 4).astype(np.complex64)
            found += with_gradient(tf, lambda x, f=function, n=length: f(x, n), x)
    x = complexes(2, 3, 4).astype(np.complex64)
    found += [tf.signal.irfft(x, [4]), tf.signal.irfft(x, [9]), tf.signal.irfft3d(x)]
    return found


@case
def cosine_transforms(tf):
    found = []
    for kind in (1, 2, 3):
        for norm in (None, "ortho")[: 1 if kind == 1 else 2]:
            for n in (5, 6):
                call = lambda x, k=kind, o=norm: tf.signal.dct(x, type=k, norm=o)  # noqa: E731
                back = lambda x, k=kind, o=norm: tf.signal.idct(x, type=k, norm=o)  # noqa: E731
                found += with_gradient(tf, call, floats(2, n))
                found += with_gradient(tf, back, floats(2, n))
    return [*found, tf.signal.dct(floats(2, 5), n=3), tf.signal.dct(floats(2, 5), n=8)]


# -- frames ------------------------------------------------------------------------------------


@case
def frames(tf):
    found = []
    for length, step, end in (
        (3, 2, False),
        (3, 2, True),
        (4, 4, True),
        (2, 3, False),
        (9, 1, False),
    ):
        call = lambda x, a=length, b=step, e=end: tf.signal.frame(x, a, b, e, 0.5)  # noqa: E731
        found += with_gradient(tf, call, floats(2, 8))
    found.append(tf.signal.frame(floats(2, 7, 3), 3, 2, axis=1))
    found.append(tf.signal.frame(floats(7, 2), 4, 3, pad_end=True, axis=0))
    for step in (1, 2, 3, 5):
        call = lambda x, s=step: tf.signal.overlap_and_add(x, s)  # noqa: E731
        found += with_gradient(tf, call, floats(2, 4, 3))
    return found


@case
def windows(tf):
    found = []
    for function in (tf.signal.hann_window, tf.signal.hamming_window):
        for length in (1, 2, 5, 8):
            found += [function(length), function(length, periodic=False)]
        found += [function(tf.constant(6), dtype=tf.float64), function(tf.constant(1))]
    return found


@case
def spectra_of_frames(tf):
    x = floats(2, 40)
    found = with_gradient(tf, lambda x: tf.signal.stft(x, 10, 4), x)
    found.append(tf.signal.stft(x, 8, 3, fft_length=9, window_fn=None, pad_end=True))
    spectra = tf.signal.stft(x, 8, 4)
    back = tf.signal.inverse_stft(spectra, 8, 4, window_fn=tf.signal.inverse_stft_window_fn(4))
    found += [back, tf.signal.inverse_stft(spectra, 6, 3, fft_length=8)]
    weights = tf.signal.linear_to_mel_weight_matrix(5, 33, 8000, 80.0, 3000.0)
    log_mel = tf.constant(floats(3, 5))
    return [*found, weights, tf.signal.mfccs_from_log_mel_spectrograms(log_mel)]


# -- matrices ----------------------------------------------------------------------------------

SQUARE = floats(2, 3, 3, seed=4) + 2 * np.eye(3, dtype=np.float32)


@case
def matrix_functions(tf):
    found = with_gradient(tf, tf.linalg.expm, SQUARE)
    found += with_gradient(tf, tf.linalg.sqrtm, SQUARE @ SQUARE)
    found.append(tf.linalg.logm(tf.constant((SQUARE @ SQUARE).astype(np.complex64))))
    found += with_gradient(tf, tf.linalg.pinv, floats(2, 4, 3, seed=6))
    found += with_gradient(tf, tf.linalg.pinv, floats(3, 4, seed=6))
    return [*found, tf.linalg.matrix_rank(SQUARE[:, :, [0, 1, 1]])]


@case
def triangles(tf):
    packed, order = tf.linalg.lu(SQUARE[:, [1, 2, 0]])
    return [
        packed,
        order,
        tf.linalg.lu_reconstruct(packed, order),
        tf.linalg.lu_solve(packed, order, floats(2, 3, 2)),
        tf.linalg.lu_matrix_inverse(packed, order),
    ]


@case
def tridiagonal(tf):
    diagonals = floats(2, 3, 4, seed=3) + np.array([[0], [3], [0]], np.float32)
    rhs = tf.constant(floats(2, 4, 2, seed=5))
    found = with_gradient(tf, lambda d: tf.linalg.tridiagonal_solve(d, rhs), diagonals)
    bands = tf.constant(diagonals)
    found += with_gradient(tf, lambda r: tf.linalg.tridiagonal_solve(bands, r), rhs)
    found += with_gradient(tf, lambda d: tf.linalg.tridiagonal_matmul(d, rhs), diagonals)
    sequence = [bands[:, i] for i in range(3)]
    matrix = np.stack([np.diag([3.0, 4, 5]) + np.diag([1, 2], 1) + np.diag([6, 7], -1)] * 2)
    matrix = tf.constant(matrix.astype(np.float32))
    return [
        *found,
        tf.linalg.tridiagonal_solve(sequence, rhs[..., 0], "sequence"),
        tf.linalg.tridiagonal_solve(matrix, rhs[:, :3], "matrix"),
        tf.linalg.tridiagonal_solve(
            bands, tf.transpose(rhs, [0, 2, 1]), transpose_rhs=True, conjugate_rhs=True
        ),
        tf.linalg.tridiagonal_matmul(sequence, rhs, "sequence"),
        tf.linalg.tridiagonal_matmul(matrix, rhs[:, :3], "matrix"),
    ]


@case
def special_functions(tf):
    found = []
    inside = np.array([-0.9, -0.5, 0.01, 0.3, 0.97], np.float32)
    found += with_gradient(tf, tf.math.erfinv, inside)
    found += with_gradient(tf, tf.math.ndtri, (inside + 1) / 2)
    found += with_gradient(tf, tf.math.erfcinv, inside + 1)
    wide = np.array([-5.0, -0.5, 0.0, 1.3, 7.0], np.float32)
    for name in ("bessel_i0", "bessel_i0e", "bessel_i1e"):
        found += with_gradient(tf, getattr(tf.math, name), wide)
    # Whose slope at 0 is a half, where TensorFlow says 1.
    found += with_gradient(tf, tf.math.bessel_i1, wide[wide != 0])
    return found


def plain(value: Any) -> Any:
    """Return a result as plain data: dtype, shape and elements."""
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    array = np.asarray(value)
    name, shape = array.dtype.name, list(array.shape)
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], axis=-1)
    flat = array.ravel().tolist()
    if array.dtype.kind == "f":
        flat = [float(f"{each:.7g}") for each in flat]
    return [name, shape, flat]


def compare(found: Any, expected: Any) -> None:
    """Compare elements: results are as near as float32 lets them be."""
    values = np.array(found[2], float), np.array(expected[2], float)
    scale = max(1.0, np.abs(values[1]).max(initial=0))
    np.testing.assert_allclose(*values, rtol=2e-4, atol=3e-5 * scale)


if __name__ == "__main__":
    CASES.write(plain)
