"""Arguments that are accepted for TensorFlow's sake and change nothing: which they are, and why.

`ACCEPTED` has them by name, or by function and name where another function's argument of that name
does something. What it says is a line of the functions' docstrings; where someone who gives the
argument asks for something that does not happen, the function warns, once.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from daskvars.surface.signatures import Argument, Family

_Function = TypeVar("_Function", bound=Callable[..., Any])
_warned: set[tuple[str, str]] = set()


@dataclass(frozen=True)
class Accepted:
    """Why an argument changes nothing.

    Attributes:
      reason: a clause.
      warns: whether it would have mattered: a value other than the default warns.
    """

    reason: str
    warns: bool = False

    @property
    def text(self) -> str:
        """What docstrings say of it."""
        return f"accepted, without effect: {self.reason}."


ONE_RUN = Accepted("every run is a transaction, there are no races to lock out")
IN_TURN = Accepted("iterations run one after another, or at once if none needs another", warns=True)
IN_PLACE = Accepted("nothing is moved to another memory between iterations", warns=True)
CHECKED = Accepted("indices are always checked")
DENSE = Accepted("the product is that of dense matrices", warns=True)
OF_TPUS = Accepted("it is for TPUs, of which there are none here")
OF_THE_OP = Accepted("the op says it")
FED = Accepted("the handle that is fed says which tensor it is")
AS_WRITTEN = Accepted("a file has all attributes and nothing else")

ACCEPTED = {
    # -- how TensorFlow's runtime would compute what is computed here as well
    "a_is_sparse": DENSE,
    "b_is_sparse": DENSE,
    "gate_gradients": Accepted("a run is a transaction, gradients never race with updates"),
    "parallel_iterations": IN_TURN,
    "swap_memory": IN_PLACE,
    "use_cudnn_on_gpu": Accepted("cuDNN is not used"),
    "use_locking": ONE_RUN,
    "InputProjectionWrapper.input_size": Accepted("the inputs say it"),
    "LayerNormBasicLSTMCell.input_size": Accepted("the inputs say it"),
    "ctc_loss_v2.unique": Accepted("the loss needs no list of the labels"),
    "Variable.use_resource": Accepted("there is one kind of variable"),
    "TensorArray.colocate_with_first_write_call": Accepted("elements are where they are made"),
    # -- what holds, whatever is asked for
    "argsort.stable": Accepted("equal elements always keep their order"),
    "experimental_use_pfor": Accepted("each number is gone back from by itself"),
    "get_local_variable.trainable": Accepted("local variables are never trained", warns=True),
    "astype.copy": Accepted("a tensor never changes, so nobody sees whether it is a copy"),
    "reshape.copy": Accepted("a tensor never changes, so nobody sees whether it is a copy"),
    "get_session_tensor.handle": FED,
    "delete_session_tensor.handle": FED,
    "sort.stable": Accepted("equal elements always keep their order"),
    "top_k.sorted": Accepted("the result is in descending order either way"),
    "embedding_lookup.validate_indices": CHECKED,
    "gather.validate_indices": CHECKED,
    # -- what there is nothing of
    "all_candidate_sampler.seed": Accepted("nothing is drawn"),
    "all_candidate_sampler.unique": Accepted("all candidates are there once"),
    "compute_accidental_hits.seed": Accepted("nothing is drawn"),
    "EagerTensor.eval.feed_dict": Accepted("an eager tensor has its value", warns=True),
    "EagerTensor.eval.session": Accepted("an eager tensor has its value"),
    "moments.shift": Accepted("as in TensorFlow, the moments are exact without it"),
    "Session.partial_run.handle": Accepted("there are no partial runs, the method raises"),
    "LMDBReader.options": Accepted("there are none"),
    "Session.reset.config": Accepted("a reset takes no options"),
    "tuple_.name": Accepted("each result is named by its tensor"),
    "CrossShardOptimizer.group_assignment": Accepted("a batch has one shard here"),
    "CrossShardOptimizer.reduction": Accepted("a batch has one shard here"),
    "TPUEstimator.batch_axis": OF_TPUS,
    "TPUEstimator.embedding_config_spec": OF_TPUS,
    "TPUEstimator.eval_on_tpu": OF_TPUS,
    "TPUEstimator.export_saved_model_api_version": OF_TPUS,
    "TPUEstimator.export_to_cpu": OF_TPUS,
    "TPUEstimator.export_to_tpu": OF_TPUS,
    # -- graphs and files
    "add_shapes": Accepted("static shapes are always there"),
    "as_text": Accepted("a file is always text", warns=True),
    "export_meta_graph.as_text": Accepted("a file is always text"),
    "Saver.export_meta_graph.as_text": Accepted("a file is always text"),
    "checkpoint_format_version": Accepted("there is one format"),
    "compute_device": OF_THE_OP,
    "compute_shapes": OF_THE_OP,
    "input_types": OF_THE_OP,
    "op_def": OF_THE_OP,
    "op_dict": Accepted("ops are those of the registry"),
    "producer_op_list": Accepted("ops are those of the registry"),
    "restore_sequentially": Accepted("chunks are read as they are needed", warns=True),
    "Saver.sharded": Accepted("each chunk of a variable is a file, written where it lives"),
    "Saver.write_version": Accepted("there is one format"),
    "save_debug_info": AS_WRITTEN,
    "strip_default_attrs": AS_WRITTEN,
    "histogram_fixed_width_bins.dtype": Accepted("bins are int32", warns=True),
    "partial_pivoting": Accepted("rows are always exchanged where that is more exact"),
    "validate_args": Accepted("what only the run can tell is always checked there"),
    # -- files of images
    "acceptable_fraction": Accepted("a file is read as a whole, or refused", warns=True),
    "dct_method": Accepted("Pillow has one transform, the exact one"),
    "fancy_upscaling": Accepted("colours are always interpolated", warns=True),
    "try_recover_truncated": Accepted("a damaged file is refused", warns=True),
    "density_unit": Accepted("files say nothing of the size of paper"),
    "x_density": Accepted("files say nothing of the size of paper", warns=True),
    "y_density": Accepted("files say nothing of the size of paper", warns=True),
    "xmp_metadata": Accepted("files hold nothing but pixels", warns=True),
    "sample_distorted_bounding_box.seed2": Accepted("`seed` and the graph's are the seeds"),
    # -- files of data
    "Dataset.interleave.num_parallel_calls": Accepted("datasets are opened in their turn"),
    **{
        f"{kind}.{name}": reason
        for kind in ("TextLineDataset", "FixedLengthRecordDataset", "TFRecordDataset")
        for name, reason in (
            ("buffer_size", Accepted("files are read as the system buffers them")),
            ("num_parallel_reads", Accepted("files are read one after another, in their order")),
        )
    },
    "CsvDataset.buffer_size": Accepted("files are read as the system buffers them"),
    "copy_to_device.source_device": Accepted("elements are made in the session's process"),
    "copy_to_device.target_device": Accepted("a run moves elements to the devices that use them"),
    "prefetch_to_device.device": Accepted("a run moves elements to the devices that use them"),
    "make_batched_features_dataset.sloppy_ordering": Accepted(
        "elements come in their order, always"
    ),
    "buffer_output_elements": Accepted("elements are made when they are asked for"),
    "prefetch_input_elements": Accepted("datasets are opened in their turn"),
    "sloppy": Accepted("elements come in their order, always"),
    "checkpoint_v2": Accepted("no name of a save operation is drawn"),
    "hash_table_shared_name": Accepted("no name of a table is drawn"),
    "is_gpu_available.cuda_only": Accepted("all GPUs are CUDA's"),
    # -- what only TensorFlow-1 scripts call
    "ChiefQueueRunner.create_threads.coord": Accepted("there are no queues and no threads"),
    "ChiefQueueRunner.create_threads.daemon": Accepted("there are no queues and no threads"),
    "ChiefQueueRunner.create_threads.sess": Accepted("there are no queues and no threads"),
    "ChiefQueueRunner.create_threads.start": Accepted("there are no queues and no threads"),
    "EvalSpec.start_delay_secs": Accepted(
        "evaluations are in the process that trains, after checkpoints", warns=True
    ),
    "ignore_live_threads": Accepted("there are no queues and no threads"),
    "CheckpointSaverHook.steps_per_run": Accepted("the step is read after each run"),
    "show_dataflow": Accepted("a trace has tasks, and what they wait for"),
    "show_memory": Accepted("a trace has no memory", warns=True),
    "SyncReplicasOptimizer.apply_gradients.name": Accepted("its operations have their own names"),
}


def accepted(qualname: str, argument: str) -> Accepted | None:
    """Return why an argument of a function changes nothing, None if that is not declared.

    >>> accepted("Session.reset", "config").reason
    'a reset takes no options'
    """
    return ACCEPTED.get(f"{qualname}.{argument}") or ACCEPTED.get(argument)


def accepts(*arguments: str) -> Callable[[_Function], _Function]:
    """Say in a function's docstring that arguments are accepted, and warn where they mattered.

    A class is documented as its constructor is.

    Raises:
      ValueError: an argument is not declared in `ACCEPTED`.
    """

    def decorate(target: _Function) -> _Function:
        function = target.__init__ if isinstance(target, type) else target  # type: ignore[misc]
        declared = {name: accepted(target.__qualname__, name) for name in arguments}
        if None in declared.values():
            raise ValueError(f"{target.__qualname__} accepts {declared}: say why in ACCEPTED")
        found = {name: why for name, why in declared.items() if why is not None}
        family = Family({name: Argument(why.text) for name, why in found.items()})
        parameters = inspect.signature(function).parameters
        target.__doc__ = family.documented(target.__doc__, parameters)
        warned = _warning(function, target.__qualname__, found, parameters)
        if isinstance(target, type):
            target.__init__ = warned  # type: ignore[misc]
            return target
        return warned

    return decorate


def _warning(
    function: _Function,
    qualname: str,
    declared: dict[str, Accepted],
    parameters: Mapping[str, inspect.Parameter],
) -> _Function:
    """Return a function that warns of the arguments that mattered, the same if none can."""
    watched = [
        (name, place, parameters[name].default)
        for place, name in enumerate(parameters)
        if name in declared and declared[name].warns
    ]
    if not watched:
        return function

    @functools.wraps(function)
    def warned(*args: Any, **kwargs: Any) -> Any:
        for name, place, default in watched:
            value = args[place] if place < len(args) else kwargs.get(name, default)
            if value is not default and value != default and (qualname, name) not in _warned:
                _warned.add((qualname, name))
                said = f"{qualname}: {name}={value!r} has no effect: {declared[name].reason}"
                warnings.warn(said, stacklevel=2)
        return function(*args, **kwargs)

    return warned  # type: ignore[return-value]
