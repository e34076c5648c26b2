"""init_from_checkpoint: variables whose initial values are read from a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from daskvars.errors import did_you_mean
from daskvars.execution.eager import EAGER_CONTEXT
from daskvars.graph.interpreter import builder_for
from daskvars.graph.tensor import Tensor
from daskvars.ops.state.assign import assign
from daskvars.ops.state.checkpoints import restore_v2
from daskvars.shapes import TensorShape
from daskvars.state.stores.addresses import local_path
from daskvars.train.checkpoints.reader import CheckpointReader, checkpoint_path
from daskvars.variables.colocation import building_in, owner
from daskvars.variables.partitions.partitioned_variable import PartitionedVariable
from daskvars.variables.scopes.variable_store import default_store
from daskvars.variables.variable import Variable

Target = tuple[str, list[Variable]]
"""Name of a tensor in the checkpoint, and the variable, or the parts of one, that it is for."""


def init_from_checkpoint(
    ckpt_dir_or_file: str, assignment_map: Mapping[str, Any] | Sequence[tuple[str, Any]]
) -> None:
    """Let variables of the graph have initial values from a checkpoint.

    Their initializers read them; in the eager program they are set at once.

    Args:
      ckpt_dir_or_file: path of the checkpoint, or a directory whose newest one is meant.
      assignment_map: name in the checkpoint -> a Variable, the list of the parts of a partitioned
        one, or the name of a variable that `get_variable` made. ``"old/": "new/"`` is for all
        variables under a scope, ``"/"`` stands for the root on either side. A dict, or pairs.

    Raises:
      ValueError: names, shapes or dtypes do not fit; all are listed, and nothing is changed.
      NotFoundError: there is no checkpoint.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with tf.Graph().as_default(), tf.Session() as sess:
    ...         sess.run(tf.get_variable("old/w", initializer=5.0).initializer)
    ...         path = tf.train.Saver().save(sess, place + "/model")
    ...     with tf.Graph().as_default(), tf.Session() as sess:
    ...         w = tf.get_variable("new/w", [])
    ...         tf.train.init_from_checkpoint(path, {"old/": "new/"})
    ...         sess.run(tf.global_variables_initializer())
    ...         print(sess.run(w))
    5.0
    """
    path = checkpoint_path(ckpt_dir_or_file)
    reader = CheckpointReader(path)
    pairs = assignment_map.items() if isinstance(assignment_map, Mapping) else assignment_map
    targets = [
        target
        for name, given in sorted(pairs, key=lambda pair: pair[0])
        for target in _targets(name, given)
    ]
    problems = [problem for target in targets for problem in _problems(reader, path, *target)]
    if problems:
        raise ValueError("\n".join(problems))
    for name, variables in targets:
        for variable in variables:
            set_initializer(variable, path, name)
    if any(variable.graph is None for _, variables in targets for variable in variables):
        EAGER_CONTEXT.sync()  # the checkpoint as it is now, not when a value is looked at


def _targets(name: str, given: Any) -> Iterator[Target]:
    """Yield what one entry of an assignment map means."""
    if isinstance(given, Variable):
        yield name, [given]
    elif isinstance(given, PartitionedVariable | list | tuple):
        yield name, list(given)
    else:
        found = default_store(owner())
        variables: dict[str, list[Variable]] = {k: [v] for k, v in found.variables.items()}
        whole = {k: list(v) for k, v in found.partitioned.items()}
        parts = {part.op.name for parts in whole.values() for part in parts}
        variables = {k: v for k, v in variables.items() if k not in parts} | whole
        if given in variables:
            yield name, variables[given]
        else:
            yield from _in_scope(name, given, variables)


def _in_scope(name: str, given: str, variables: dict[str, list[Variable]]) -> Iterator[Target]:
    scope = given.rpartition("/")[0]
    if not name.endswith("/"):
        raise ValueError(
            f"Assignment map with scope only name {scope or given} should map to scope only "
            f"{name}. Should be 'scope/': 'other_scope/'."
            + ("" if given.endswith("/") else did_you_mean(given, list(variables)))
        )
    prefix, stored = f"{scope}/" if scope else "", "" if name == "/" else name
    for full in sorted(variables):
        if full.startswith(prefix):
            yield stored + full.removeprefix(prefix), variables[full]


def _problems(
    reader: CheckpointReader, path: str, name: str, variables: list[Variable]
) -> Iterator[str]:
    """Say what keeps a tensor of the checkpoint from becoming the variables' initial value."""
    shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    label = ",".join(variable.name for variable in variables)
    if name not in shapes:
        yield (
            f"Tensor {name} (for {label}) is not found in {path} checkpoint"
            f"{did_you_mean(name, shapes)}"
        )
        return
    info = variables[0]._get_save_slice_info()
    shape = variables[0].shape if info is None else TensorShape(info.full_shape)
    if not shape.is_compatible_with(shapes[name]):
        yield (
            f"Shape of variable {label} ({shape}) doesn't match with shape of tensor {name} "
            f"({TensorShape(shapes[name])}) from checkpoint reader."
        )
    dtype = variables[0].dtype.base_dtype
    if dtype is not dtypes[name]:
        yield (
            f"Variable {label} is of {dtype.name}, tensor {name} of the checkpoint of "
            f"{dtypes[name].name}"
        )


def set_initializer(variable: Variable, path: str, name: str) -> None:
    """Let a variable of a graph begin with a checkpoint's value; one of eager code is set."""
    path = local_path(path)  # a worker that reads it may have begun in another folder
    info = variable._get_save_slice_info()
    text = "" if info is None else info.spec
    shape = variable.handle.spec.shape if info is None else info.full_shape
    dtype = variable.dtype.base_dtype

    def value() -> Tensor:
        (found,) = restore_v2(path, [name], [text], [dtype], [shape], name="checkpoint_initializer")
        return found

    begin_with(variable, value)


def begin_with(variable: Variable, value: Callable[[], Tensor]) -> None:
    """Let a variable of a graph begin with what a function makes; one of eager code is set."""
    graph = variable.graph
    builder = builder_for(()) if graph is None else graph
    device = variable.device or "/cpu:0"
    with (
        building_in(builder),
        builder.name_scope(None),
        builder.device(None),
        builder.device(device),
    ):
        first = value()
        new = assign(variable.handle, first, name=f"{variable.op.name}/Assign")
    if graph is not None:
        variable._initial_value, variable._initializer_op = first, new.op
