"""Optimizers outside of the graph: they ask a session for the loss and its gradient, as a function.

Each evaluation is a run that is fed with the variables' values, in place of those that they have;
the variables are set once, at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy
import scipy  # its optimize takes 0.1 s to import: it is imported where it is used
from numpy.typing import NDArray

from daskvars.backpropagation import gradients
from daskvars.dtypes import float64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.stacks import get_default_session
from daskvars.graph.tensor import Tensor
from daskvars.ops.array.constant import zeros_like
from daskvars.ops.array.joining import concat
from daskvars.ops.array.placeholders import placeholder
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.math.casting import cast
from daskvars.shapes import is_known
from daskvars.v1 import logging
from daskvars.variables.collections import trainable_variables
from daskvars.variables.variable import Variable

Vector: TypeAlias = NDArray[Any]
_Function: TypeAlias = Callable[[Vector], list[Any]]  # of all variables as one vector


class ExternalOptimizerInterface:
    """What lets an algorithm outside of the graph minimize a loss. A subclass has `_minimize`.

    Args:
      loss: scalar tensor, floating.
      var_list: the Variables to change, of known shapes; by default the trainable ones.
      equalities: scalar tensors that are to be zero.
      inequalities: scalar tensors that are to be zero or more.
      var_to_bounds: Variable -> (low, high): numbers, or arrays that broadcast to its shape; an
        infinite one is no bound.
      **optimizer_kwargs: the algorithm's own.

    Raises:
      ValueError: there are no variables, or one of an unknown shape.

    Source: TensorFlow 1.15, ``tf.contrib.opt.ExternalOptimizerInterface``.
    """

    def __init__(
        self,
        loss: Tensor,
        var_list: Iterable[Variable] | None = None,
        equalities: Sequence[Tensor] | None = None,
        inequalities: Sequence[Tensor] | None = None,
        var_to_bounds: Mapping[Variable, tuple[Any, Any]] | None = None,
        **optimizer_kwargs: Any,
    ) -> None:
        self.optimizer_kwargs = optimizer_kwargs
        self._loss, graph = loss, loss.graph
        with graph.as_default():
            self._vars = trainable_variables() if var_list is None else list(var_list)
            self._shapes = [_known_shape(v) for v in self._vars]
            if not self._vars:
                raise ValueError("No variables to optimize.")
            self._equalities, self._inequalities = equalities or (), inequalities or ()
            self._loss_gradient = self._gradient(loss)
            self._equality_gradients = [self._gradient(t) for t in self._equalities]
            self._inequality_gradients = [self._gradient(t) for t in self._inequalities]
            self._placeholders = [
                placeholder(v.dtype.base_dtype, shape)
                for v, shape in zip(self._vars, self._shapes, strict=True)
            ]
            self._updates = [
                v.assign(fed).op for v, fed in zip(self._vars, self._placeholders, strict=True)
            ]
        self._bounds = None if var_to_bounds is None else self._packed_bounds(var_to_bounds)

    def _gradient(self, value: Tensor) -> Tensor:
        """Return the gradients of a scalar with respect to all variables, as one float64 vector."""
        found = gradients(value, self._vars)
        parts = [
            zeros_like(variable) if gradient is None else convert_to_tensor(gradient)
            for gradient, variable in zip(found, self._vars, strict=True)
        ]
        return concat([cast(reshape(part, [-1]), float64) for part in parts], 0)

    def _packed_bounds(self, of: Mapping[Variable, tuple[Any, Any]]) -> list[tuple[float, float]]:
        given = {variable.op: bounds for variable, bounds in of.items()}
        found: list[tuple[float, float]] = []
        for variable, shape in zip(self._vars, self._shapes, strict=True):
            low, high = given.get(variable.op, (None, None))
            low = -math.inf if low is None else low
            high = math.inf if high is None else high
            sides = (numpy.broadcast_to(side, shape).ravel().tolist() for side in (low, high))
            found.extend(zip(*sides, strict=True))
        return found

    def _unpacked(self, vector: Vector) -> list[Vector]:
        """Return the values of the variables that a vector is."""
        ends = numpy.cumsum([math.prod(shape) for shape in self._shapes])[:-1]
        return [
            part.reshape(shape).astype(v.dtype.base_dtype.as_numpy_dtype)
            for part, shape, v in zip(
                numpy.split(vector, ends), self._shapes, self._vars, strict=True
            )
        ]

    def minimize(
        self,
        session: Any = None,
        feed_dict: Mapping[Any, Any] | None = None,
        fetches: Sequence[Any] | None = None,
        step_callback: Callable[[Vector], Any] | None = None,
        loss_callback: Callable[..., Any] | None = None,
        **run_kwargs: Any,
    ) -> None:
        """Minimize the loss now, and set the variables to what was found.

        Args:
          session: by default the default one.
          feed_dict: what the runs are fed besides the variables.
          fetches: tensors that `loss_callback` is given the values of.
          step_callback: called after each step of the algorithm with all variables as one vector.
          loss_callback: called with the values of `fetches` whenever the loss was computed.
          **run_kwargs: those of the run that sets the variables.

        Raises:
          ValueError: there is no session.
        """
        session = get_default_session() if session is None else session
        if session is None:
            raise ValueError("minimize() needs a session: give session=, or enter one by `with`")

        def function(wanted: list[Any], callback: Callable[..., Any] | None = None) -> Any:
            more = [] if callback is None else list(fetches or ())

            def evaluated(vector: Vector) -> list[Any]:
                fed = dict(zip(self._vars, self._unpacked(vector), strict=True))
                found = session.run([*wanted, *more], {**fed, **(feed_dict or {})})
                if callback is not None:
                    callback(*found[len(wanted) :])
                return found[: len(wanted)]

            return evaluated

        start = session.run(self._vars)
        found = self._minimize(
            initial_val=numpy.concatenate([numpy.ravel(v).astype(numpy.float64) for v in start]),
            loss_grad_func=function([self._loss, self._loss_gradient], loss_callback or _nothing),
            equality_funcs=[function([t]) for t in self._equalities],
            equality_grad_funcs=[function([t]) for t in self._equality_gradients],
            inequality_funcs=[function([t]) for t in self._inequalities],
            inequality_grad_funcs=[function([t]) for t in self._inequality_gradients],
            packed_bounds=self._bounds,
            step_callback=step_callback or _nothing,
            optimizer_kwargs=self.optimizer_kwargs,
        )
        fed = dict(zip(self._placeholders, self._unpacked(found), strict=True))
        session.run(self._updates, fed, **run_kwargs)

    def _minimize(
        self,
        *,
        initial_val: Vector,
        loss_grad_func: _Function,
        equality_funcs: list[_Function],
        equality_grad_funcs: list[_Function],
        inequality_funcs: list[_Function],
        inequality_grad_funcs: list[_Function],
        packed_bounds: list[tuple[float, float]] | None,
        step_callback: Callable[[Vector], Any],
        optimizer_kwargs: Mapping[str, Any],
    ) -> Vector:
        """Return the vector that minimizes.

        Args:
          initial_val: where to begin.
          loss_grad_func: gives the loss at a vector, and its gradient.
          equality_funcs, equality_grad_funcs: give a list of one, what is to be zero or its
            gradient.
          inequality_funcs, inequality_grad_funcs: the same of what is to be zero or more.
          packed_bounds: a pair for each element, or None.
          step_callback: to be called after each step.
          optimizer_kwargs: the algorithm's own arguments.
        """
        raise NotImplementedError(
            "To use ExternalOptimizerInterface, subclass from it and implement the _minimize() "
            "method."
        )


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """Minimizes by ``scipy.optimize.minimize``, with L-BFGS-B unless ``method`` says otherwise.

    Args:
      loss, var_list, equalities, inequalities, var_to_bounds: see `ExternalOptimizerInterface`.
      **optimizer_kwargs: those of ``scipy.optimize.minimize``: ``method``, ``options``, ``tol``.

    Raises:
      ValueError: there are no variables, or one of an unknown shape; (when it minimizes) an
        argument is given that is set here.

    Source: TensorFlow 1.15, ``tf.contrib.opt.ScipyOptimizerInterface``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     v = tf.Variable([7.0, 7.0])
    ...     optimizer = tf.contrib.opt.ScipyOptimizerInterface(
    ...         tf.reduce_sum(tf.square(v)), var_to_bounds={v: ([1.0, -2.0], math.inf)})
    ...     sess.run(v.initializer)
    ...     optimizer.minimize(sess)
    ...     sess.run(v).round(3).tolist()
    [1.0, 0.0]
    """

    def _minimize(
        self,
        *,
        initial_val: Vector,
        loss_grad_func: _Function,
        packed_bounds: Any,
        step_callback: Any,
        optimizer_kwargs: Mapping[str, Any],
        **limits: list[_Function],
    ) -> Vector:
        def loss(vector: Vector) -> tuple[float, Vector]:
            value, gradient = loss_grad_func(vector)
            return float(value), gradient

        constraints = [
            {"type": kind, "fun": _first(value), "jac": _first(gradient)}
            for kind, name in (("eq", "equality"), ("ineq", "inequality"))
            for value, gradient in zip(
                limits[f"{name}_funcs"], limits[f"{name}_grad_funcs"], strict=True
            )
        ]
        ours = {
            "jac": True,
            "callback": step_callback,
            "constraints": constraints,
            "bounds": packed_bounds,
        }
        for name in ours.keys() & optimizer_kwargs.keys():
            use = "var_to_bounds=" if name == "bounds" else "another argument of this class"
            raise ValueError(f"{name}= of scipy.optimize.minimize is set here: use {use}")
        given = {"method": "L-BFGS-B", **optimizer_kwargs, **ours}
        found = scipy.optimize.minimize(loss, initial_val, **given)
        logging.info(
            "Optimization terminated with:\n  Message: %s\n  Objective function value: %f\n"
            "  Number of iterations: %s\n  Number of functions evaluations: %s",
            found.message,
            found.fun,
            found.get("nit"),
            found.get("nfev"),
        )
        return numpy.asarray(found.x)


def _first(function: _Function) -> Callable[[Vector], Any]:
    return lambda vector: numpy.asarray(function(vector)[0], numpy.float64)


def _nothing(*values: Any) -> None:
    """Be called with what nobody asked for."""


def _known_shape(variable: Variable) -> tuple[int, ...]:
    shape = variable.handle.spec.shape
    if not is_known(shape):
        raise ValueError(f"{variable.name} has the shape {variable.shape}: it must be known")
    return shape
