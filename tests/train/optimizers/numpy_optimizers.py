"""TensorFlow 1.15's update formulas in NumPy, written from its kernels, one function per step.

Each takes the variable, the dense gradient, the dict of its slots (changed in place) and the
hyperparameters. `rows` limits an update to some rows, for a sparse gradient.
"""

from __future__ import annotations

import numpy as np

ALL = slice(None)


def gradient_descent(w, g, slots, rows=ALL, *, lr):
    w[rows] -= lr * g[rows]


def momentum(w, g, slots, rows=ALL, *, lr, mu, nesterov=False):
    accum = slots.setdefault("momentum", np.zeros_like(w))
    accum[rows] = accum[rows] * mu + g[rows]
    if nesterov:
        w[rows] -= g[rows] * lr + accum[rows] * mu * lr
    else:
        w[rows] -= accum[rows] * lr


def adagrad(w, g, slots, rows=ALL, *, lr, initial=0.1):
    accum = slots.setdefault("accumulator", np.full_like(w, initial))
    accum[rows] += g[rows] ** 2
    w[rows] -= g[rows] * lr / np.sqrt(accum[rows])


def adadelta(w, g, slots, rows=ALL, *, lr, rho=0.95, epsilon=1e-8):
    accum = slots.setdefault("accum", np.zeros_like(w))
    accum_update = slots.setdefault("accum_update", np.zeros_like(w))
    accum[rows] = accum[rows] * rho + g[rows] ** 2 * (1 - rho)
    update = np.sqrt(accum_update[rows] + epsilon) / np.sqrt(accum[rows] + epsilon) * g[rows]
    w[rows] -= update * lr
    accum_update[rows] = accum_update[rows] * rho + update**2 * (1 - rho)


def rmsprop(w, g, slots, rows=ALL, *, lr, decay=0.9, mu=0.0, epsilon=1e-10, centered=False):
    ms = slots.setdefault("rms", np.ones_like(w))
    mom = slots.setdefault("momentum", np.zeros_like(w))
    ms[rows] += (g[rows] ** 2 - ms[rows]) * (1 - decay)
    denominator = ms[rows] + epsilon
    if centered:
        mg = slots.setdefault("mg", np.zeros_like(w))
        mg[rows] += (g[rows] - mg[rows]) * (1 - decay)
        denominator = denominator - mg[rows] ** 2
    mom[rows] = mom[rows] * mu + lr * g[rows] / np.sqrt(denominator)
    w[rows] -= mom[rows]


def averages(w, slots):
    m = slots.setdefault("m", np.zeros_like(w))
    v = slots.setdefault("v", np.zeros_like(w))
    t = slots["t"] = slots.get("t", 0) + 1
    return m, v, t


def new_averages(w, g, slots, lr, beta1, beta2):
    m, v, t = averages(w, slots)
    m += (g - m) * (1 - beta1)  # all rows, also for a sparse gradient
    v += (g * g - v) * (1 - beta2)
    return m, v, lr * np.sqrt(1 - beta2**t) / (1 - beta1**t)


def adam(w, g, slots, rows=ALL, *, lr=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8):
    m, v, alpha = new_averages(w, g, slots, lr, beta1, beta2)
    w -= m * alpha / (np.sqrt(v) + epsilon)


def adamw(w, g, slots, rows=ALL, *, weight_decay, **others):
    w[rows] -= weight_decay * w[rows]
    adam(w, g, slots, rows, **others)


def momentumw(w, g, slots, rows=ALL, *, weight_decay, **others):
    w[rows] -= weight_decay * w[rows]
    momentum(w, g, slots, rows, **others)


def lazy_adam(w, g, slots, rows=ALL, *, lr=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8):
    m, v, t = averages(w, slots)
    m[rows] = beta1 * m[rows] + (1 - beta1) * g[rows]
    v[rows] = beta2 * v[rows] + (1 - beta2) * g[rows] ** 2
    alpha = lr * np.sqrt(1 - beta2**t) / (1 - beta1**t)
    w[rows] -= alpha * m[rows] / (np.sqrt(v[rows]) + epsilon)


def nadam(w, g, slots, rows=ALL, *, lr=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8):
    m, v, alpha = new_averages(w, g, slots, lr, beta1, beta2)
    ahead = (1 - beta1) * g[rows] + beta1 * m[rows]
    w[rows] -= alpha * ahead / (np.sqrt(v[rows]) + epsilon)


def adamax(w, g, slots, rows=ALL, *, lr=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8):
    m, v, t = averages(w, slots)
    m[rows] = beta1 * m[rows] + (1 - beta1) * g[rows]
    v[rows] = np.maximum(beta2 * v[rows], np.abs(g[rows]))
    w[rows] -= lr / (1 - beta1**t) * m[rows] / (v[rows] + epsilon)
