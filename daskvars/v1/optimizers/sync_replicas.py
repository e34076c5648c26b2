"""SyncReplicasOptimizer: one update from the gradients of several replicas.

In TensorFlow replicas run at the same time: accumulators collect their gradients, drop those that
were computed from old values, a thread of the chief applies the mean, and a queue of tokens makes
replicas wait for it. Here a run is a transaction: it computes from the newest values and nothing
happens between its reads and its updates, so no gradient is old and none has to wait. A
replica's run adds its gradients up, and the run that brings the last one needed applies the mean.
The thread and the tokens have nothing left to do; code that asks for them gets what does nothing.
"""

from __future__ import annotations

from typing import Any

from daskvars.graph.indexed_slices import Gradient, IndexedSlices
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.stacks import SessionLike
from daskvars.graph.tensor import Operation, Tensor
from daskvars.ops.array.constant import ones_like, shape, zeros, zeros_like
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.control.cond import cond
from daskvars.ops.control.dependencies import control_dependencies, group, no_op
from daskvars.ops.gather_scatter.gather import deduplicate, gather
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import greater, greater_equal, where
from daskvars.ops.state.assign import assign, assign_add, scatter_add, scatter_update
from daskvars.surface.accepted import accepts
from daskvars.surface.signatures import with_arguments_of, with_arguments_of_method
from daskvars.train.optimizers.optimizer import GradsAndVars, Optimizer
from daskvars.v1.optimizers.wrapped import WrappedOptimizer
from daskvars.v1.sessions.coordinator import Coordinator
from daskvars.v1.sessions.queue_runners import QueueRunner
from daskvars.v1.sessions.session_run_hook import SessionRunHook
from daskvars.variables.collections import global_variables, report_uninitialized_variables
from daskvars.variables.colocation import colocate_with
from daskvars.variables.variable import Variable


@accepts("use_locking")
class SyncReplicasOptimizer(WrappedOptimizer):
    """Collects the gradients of `replicas_to_aggregate` runs and updates once by their mean.

    Each run of the train op is one replica's contribution, in whichever session on the same store
    it is run. Until enough have come, only the sums change; then the optimizer is applied, the
    global step rises by one and the sums start again. Gradients are never stale and never dropped,
    see the module's text. The mean of sparse gradients is taken for each row over those that have
    the row.

    Args:
      opt: the Optimizer that is applied.
      replicas_to_aggregate: the number of gradients of one update.
      total_num_replicas: how many replicas there are, by default as many. More do no harm.
      variable_averages: an `ExponentialMovingAverage` to apply after each update.
      variables_to_average: the variables it is applied to.
      name: name of the operations.

    Attributes:
      local_step_init_op: the operation that a replica runs first.
      chief_init_op: the same for the chief; it also empties the sums.
      ready_for_local_init_op: names of the global variables without a value.

    Source: Chen et al. 2016, "Revisiting Distributed Synchronous SGD"; TensorFlow 1.15,
    ``tf.train.SyncReplicasOptimizer``.

    >>> with dv.Graph().as_default(), dv.Session() as sess:
    ...     v, x = dv.Variable(1.0), dv.placeholder(dv.float32, [])
    ...     step = dv.train.create_global_step()
    ...     descent = dv.train.GradientDescentOptimizer(0.5)
    ...     replicas = SyncReplicasOptimizer(descent, replicas_to_aggregate=2)
    ...     train = replicas.minimize(v * x, global_step=step)
    ...     sess.run(dv.global_variables_initializer())
    ...     sess.run(replicas.chief_init_op)
    ...     for gradient in (1.0, 3.0):
    ...         _ = sess.run(train, {x: gradient})
    ...         print(sess.run([v, step]))
    [np.float32(1.0), np.int64(0)]
    [np.float32(0.0), np.int64(1)]
    """

    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: Any = None,
        variables_to_average: Any = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ) -> None:
        super().__init__(opt, use_locking, name)
        self._replicas_to_aggregate = replicas_to_aggregate
        self._total_num_replicas = total_num_replicas or replicas_to_aggregate
        self._variable_averages = variable_averages
        self._variables_to_average = variables_to_average
        self._gradients_applied = False

    @with_arguments_of(Optimizer.apply_gradients)
    @accepts("name")
    def apply_gradients(
        self, grads_and_vars: GradsAndVars, global_step: Variable | None, name: str | None = None
    ) -> Operation | None:
        """Add operations that collect gradients and apply their mean.

        Args:
          global_step: a scalar integer Variable to add one to with each update.

        Returns:
          The Operation that contributes one replica's gradients.

        Raises:
          RuntimeError: in the eager program, which has one replica.
          ValueError: there are no variables, or no global step.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        builder = builder_for(tuple(v for _, v in pairs))
        if builder.is_eager:
            raise RuntimeError(
                "SyncReplicasOptimizer aggregates the runs of a graph; in eager code add the "
                "replicas' gradients up and give their mean to the optimizer."
            )
        with builder.as_default():
            self._make_local_step(global_step)
            with builder.name_scope(None), builder.name_scope(self._name):
                sums = [_Sum.of(g, v) for g, v in pairs]
                train = self._collected(sums, [v for _, v in pairs], global_step)
                emptied = [v.initializer for s in sums for v in s.variables]
                self.chief_init_op = group(
                    self.local_step_init_op, self._count.initializer, *emptied
                )
        builder.add_to_collection(GraphKeys.TRAIN_OP, train)
        self._gradients_applied = True
        return train

    def _make_local_step(self, global_step: Variable) -> None:
        dtype = global_step.dtype.base_dtype
        local = [GraphKeys.LOCAL_VARIABLES]
        self._local_step = Variable(
            0, trainable=False, collections=local, dtype=dtype, name="sync_rep_local_step"
        )
        self._count = Variable(
            0, trainable=False, collections=local, dtype=dtype, name="sync_rep_count"
        )
        self.local_step_init_op = assign(self._local_step, global_step).op
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())

    def _collected(self, sums: list[Any], variables: list[Variable], global_step: Variable) -> Any:
        """Add this replica's gradients, and update if they are enough."""
        added = [s.add() for s in sums]
        count = assign_add(self._count, 1)

        def update() -> Operation:
            means = [s.mean(self._replicas_to_aggregate) for s in sums]
            step = self._opt.apply_gradients(zip(means, variables, strict=True), global_step)
            with control_dependencies([step]):
                emptied = [update for s in sums for update in s.empty()]
                emptied.append(assign(self._count, zeros_like(count)))
                if self._variable_averages is not None:
                    emptied.append(self._variable_averages.apply(self._variables_to_average))
            return group(step, *emptied)

        enough = greater_equal(count, self._replicas_to_aggregate)
        with control_dependencies([update for updates in added for update in updates]):
            updated = cond(enough, update, no_op)
        with control_dependencies([updated]):
            return assign(self._local_step, global_step.read_value()).op

    # -- what TensorFlow's coordination asks for ----------------------------------------------

    def get_chief_queue_runner(self) -> ChiefQueueRunner:
        """Return what stands for the chief's thread.

        Raises:
          ValueError: `apply_gradients` has not been called.
        """
        self._check_applied("get_chief_queue_runner")
        return ChiefQueueRunner()

    def get_init_tokens_op(self, num_tokens: int = -1) -> Operation:
        """Return an operation that does nothing, where TensorFlow's fills the queue of tokens.

        Raises:
          ValueError: `apply_gradients` has not been called, or there are fewer tokens than
            TensorFlow's first step needs.
        """
        self._check_applied("get_init_tokens_op")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens != -1 and num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} "
                "(needed)"
            )
        return no_op(name="no_init_tokens")

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SyncReplicasHook:
        """Return the hook that initializes a monitored session for this optimizer."""
        return SyncReplicasHook(self, is_chief, num_tokens)

    def _check_applied(self, method: str) -> None:
        if not self._gradients_applied:
            raise ValueError(f"{method}() should be called after apply_gradients().")


class _Sum:
    """The gradients of one variable so far; of none where there is no gradient."""

    variables: tuple[Variable, ...] = ()

    @staticmethod
    def of(gradient: Gradient | None, variable: Variable) -> _Sum:
        if gradient is None:
            return _Sum()
        if isinstance(gradient, IndexedSlices):
            return _SparseSum(gradient, variable)
        if isinstance(gradient, Tensor):
            return _DenseSum(gradient, variable)
        raise ValueError(f"Unknown grad type: {gradient!r}, for {variable.name}")

    def add(self) -> list[Tensor]:
        return []

    def mean(self, count: int) -> Any:
        return None

    def empty(self) -> list[Tensor]:
        return []


class _DenseSum(_Sum):
    def __init__(self, gradient: Tensor, variable: Variable) -> None:
        self.gradient = gradient
        self.sum = _zeros_for(variable, "grad_accum", variable.shape, gradient.dtype)
        self.variables = (self.sum,)

    def add(self) -> list[Tensor]:
        self.total = assign_add(self.sum, self.gradient)
        return [self.total]

    def mean(self, count: int) -> Tensor:
        return self.total / count

    def empty(self) -> list[Tensor]:
        return [assign(self.sum, zeros_like(self.total))]


class _SparseSum(_Sum):
    """As dense sums, with the number of gradients that had the row: a run touches its rows only."""

    def __init__(self, gradient: IndexedSlices, variable: Variable) -> None:
        self.gradient = gradient
        self.sum = _zeros_for(variable, "grad_accum", variable.shape, gradient.dtype)
        self.count = _zeros_for(variable, "grad_count", variable.shape[:1], gradient.dtype)
        self.variables = (self.sum, self.count)

    def add(self) -> list[Tensor]:
        values, indices = deduplicate(self.gradient.values, self.gradient.indices)
        ones = cast(ones_like(indices), values.dtype)
        self.total = scatter_add(self.sum, indices, values)
        self.counts = scatter_add(self.count, indices, ones)
        return [self.total, self.counts]

    def mean(self, count: int) -> IndexedSlices:
        self.rows = reshape(where(greater(self.counts, 0.0)), [-1])
        totals, counts = gather(self.total, self.rows), gather(self.counts, self.rows)
        by_row = reshape(counts, [-1] + [1] * (len(self.sum.shape) - 1))
        return IndexedSlices(totals / by_row, self.rows, shape(self.total))

    def empty(self) -> list[Tensor]:
        return [
            scatter_update(v, self.rows, zeros_like(gather(total, self.rows)))
            for v, total in ((self.sum, self.total), (self.count, self.counts))
        ]


def _zeros_for(variable: Variable, name: str, dims: Any, dtype: Any) -> Variable:
    with colocate_with(variable):
        chunks = variable.chunks if dims.ndims == variable.shape.ndims else None
        return Variable(
            lambda: zeros(dims, dtype.base_dtype),
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
            name=f"{variable.op.name}/{name}",
            chunks=chunks,
        )


class ChiefQueueRunner:
    """What stands for the thread that applies updates in TensorFlow; here the replicas' runs do."""

    @accepts("sess", "coord", "daemon", "start")
    @with_arguments_of_method(QueueRunner.create_threads)
    def create_threads(self, **arguments: Any) -> list[Any]:
        """Return no threads."""
        return []


class SyncReplicasHook(SessionRunHook):
    """The hook that initializes a monitored session for a `SyncReplicasOptimizer`.

    Args:
      sync_optimizer: the SyncReplicasOptimizer.
      is_chief: whether this replica initializes what all share.
      num_tokens: see `SyncReplicasOptimizer.get_init_tokens_op`.
    """

    def __init__(
        self, sync_optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int
    ) -> None:
        self._sync_optimizer = sync_optimizer
        self._is_chief = is_chief
        self._num_tokens = num_tokens

    def begin(self) -> None:
        """Find the operations to run.

        Raises:
          ValueError: the optimizer's `apply_gradients` has not been called.
        """
        optimizer = self._sync_optimizer
        if not optimizer._gradients_applied:
            raise ValueError(
                "SyncReplicasOptimizer.apply_gradient should be called before using the hook."
            )
        if self._is_chief:
            optimizer.get_init_tokens_op(self._num_tokens)
        self._init_op = optimizer.chief_init_op if self._is_chief else optimizer.local_step_init_op

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        """Initialize the local step, and the chief's sums.

        Raises:
          RuntimeError: global variables have no value.
        """
        missing = session.run(self._sync_optimizer.ready_for_local_init_op)
        if len(missing):
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicasOptimizer local_init. "
                f"Init op: {self._init_op.name}, uninitialized: {[str(n) for n in missing]}"
            )
        session.run(self._init_op)
