"""An optimizer that keeps moving averages of what it trains, and saves them in its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from daskvars.graph.graph import Graph
from daskvars.graph.interpreter import builder_for
from daskvars.graph.tensor import Operation, TensorLike
from daskvars.ops.control.dependencies import control_dependencies, group
from daskvars.surface.signatures import with_arguments_of
from daskvars.train.checkpoints.saver import all_variables
from daskvars.train.optimizers.moving_averages import ExponentialMovingAverage
from daskvars.train.optimizers.optimizer import GradsAndVars, Optimizer
from daskvars.v1.graphs.saver import Saver
from daskvars.v1.optimizers.wrapped import WrappedOptimizer
from daskvars.variables.partitions.partitioned_variable import full_name
from daskvars.variables.variable import Variable


class MovingAverageOptimizer(WrappedOptimizer):
    """Applies an optimizer, and keeps a moving average of each variable that it trains.

    `swapping_saver` saves averages under the names of the variables, so that whoever restores the
    checkpoint with an ordinary `Saver`, to evaluate, has them.

    Args:
      opt: the optimizer that is applied.
      average_decay: how much of the old average stays, see `ExponentialMovingAverage`.
      num_updates: the number of updates so far, see there.
      sequential_update: whether averages are of the updated variables; else of those before.

    Source: TensorFlow 1.15, ``tf.contrib.opt.MovingAverageOptimizer``.

    >>> import tempfile
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     v = tf.Variable(4.0, name="v")
    ...     descent = tf.train.GradientDescentOptimizer(1.0)
    ...     optimizer = tf.contrib.opt.MovingAverageOptimizer(descent, average_decay=0.75)
    ...     train = optimizer.apply_gradients([(tf.constant(4.0), v)])
    ...     saver = optimizer.swapping_saver()
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(train)
    ...     path = saver.save(sess, tempfile.mkdtemp() + "/model")
    ...     sess.run(v).item(), tf.train.load_variable(path, "v").item()
    (0.0, 3.0)
    """

    def __init__(
        self,
        opt: Optimizer,
        average_decay: TensorLike = 0.9999,
        num_updates: TensorLike | None = None,
        sequential_update: bool = True,
    ) -> None:
        super().__init__(opt, False, "MovingAverageOptimizer")
        self._is_sequential = sequential_update
        self._averages = ExponentialMovingAverage(average_decay, num_updates)
        self._counterparts: dict[Operation, Variable] = {}  # of a variable and of its average
        self._graph: Graph | None = None

    @with_arguments_of(Optimizer.apply_gradients)
    def apply_gradients(
        self, grads_and_vars: GradsAndVars, global_step: Variable | None, name: str | None
    ) -> Operation | None:
        """Add operations that apply gradients, and then update the averages.

        Args:
          grads_and_vars: pairs as `compute_gradients` returns them; a None gradient is left out.
          global_step: a scalar integer Variable to add one to.
          name: name of the operation of the optimizer that is applied.

        Returns:
          The Operation that does one step.

        Raises:
          RuntimeError: in the eager program, where `ExponentialMovingAverage` does this.
          TypeError, ValueError: see `Optimizer.apply_gradients`.
        """
        pairs = list(grads_and_vars)
        variables = [v for gradient, v in pairs if gradient is not None]
        self._graph = builder_for(tuple(variables))
        if self._graph.is_eager:
            raise RuntimeError(
                "MovingAverageOptimizer averages what the runs of a graph make; in eager code call "
                "apply() of a train.ExponentialMovingAverage after each step."
            )
        step = self._opt.apply_gradients(pairs, global_step, name)
        with self._graph.as_default():
            with control_dependencies([step] if self._is_sequential else []):
                averaged = self._averages.apply(variables)
            for variable in variables:
                average = self._averages.average(variable)
                if average is not None:
                    self._counterparts |= {variable.op: average, average.op: variable}
            return group(step, averaged, name="train_with_avg")

    def swapping_saver(
        self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any
    ) -> Saver:
        """Return a saver that exchanges variables and their averages.

        It is for training, and restores what it saved; call it when all variables have been made.

        Args:
          var_list: variables to save, a list or a dict of names to variables; by default all
            global ones. With a variable its average has to be there.
          name: name scope of the operations that it adds.
          **kwargs: those of `Saver`.

        Raises:
          RuntimeError: neither `apply_gradients` nor `minimize` was called before.
          ValueError: a variable is there without its average.
        """
        if self._graph is None:
            raise RuntimeError(
                "Must call apply_gradients or minimize before creating the swapping_saver"
            )
        with self._graph.as_default():
            found = all_variables(self._graph) if var_list is None else var_list
            named = _named(found)
            there = {v.op for _, v in named if isinstance(v, Variable)}
            swapped: dict[str, list[Any]] = {}
            for saved_name, variable in named:
                other = variable
                if isinstance(variable, Variable) and variable.op in self._counterparts:
                    other = self._counterparts[variable.op]
                    if other.op not in there:
                        raise ValueError(
                            f"{other.op.name!r} is not among the variables to save, which "
                            f"{variable.op.name!r} is exchanged with: give both"
                        )
                swapped.setdefault(saved_name, []).append(other)
            listed = {n: items if len(items) > 1 else items[0] for n, items in swapped.items()}
            return Saver(listed, name=name, **kwargs)


def _named(var_list: Any) -> list[tuple[str, Any]]:
    """Return (name in a checkpoint, variable or part of one) of what a saver is given."""
    pairs: Iterable[tuple[str, Any]]
    if isinstance(var_list, Mapping):
        pairs = var_list.items()
    else:
        pairs = [("", item) for item in var_list]
    found = []
    for name, item in pairs:
        for part in (
            item if isinstance(item, Iterable) and not isinstance(item, Variable) else [item]
        ):
            own = full_name(part) if isinstance(part, Variable) else part.name.removesuffix(":0")
            found.append((name or own, part))
    return found
