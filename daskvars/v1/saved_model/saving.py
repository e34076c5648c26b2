"""simple_save: a session's graph and values as a saved model, in one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.stacks import SessionLike
from daskvars.graph.tensor import Operation
from daskvars.v1.saved_model.builder import SavedModelBuilder
from daskvars.v1.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from daskvars.v1.saved_model.signature_def_utils import predict_signature_def
from daskvars.v1.saved_model.tag_constants import SERVING


def simple_save(
    session: SessionLike,
    export_dir: str,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    legacy_init_op: Operation | None = None,
) -> None:
    """Save a session's graph and values for prediction.

    The graph has the tag ``serve``, and one signature, ``serving_default``.

    Args:
      session: whose values are saved, and whose graph.
      export_dir: a directory with nothing in it.
      inputs, outputs: name -> tensor.
      legacy_init_op: an operation to be run when the model has been loaded.

    Raises:
      AssertionError, ValueError, FailedPreconditionError: see `SavedModelBuilder`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place, tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [2], name="x")
    ...     tf.saved_model.simple_save(sess, place + "/model", {"x": x}, {"y": x * 2.0})
    ...     print(tf.saved_model.maybe_saved_model_directory(place + "/model"))
    True
    """
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session,
        [SERVING],
        {DEFAULT_SERVING_SIGNATURE_DEF_KEY: predict_signature_def(inputs, outputs)},
        assets_collection=session.graph.get_collection(GraphKeys.ASSET_FILEPATHS),
        main_op=legacy_init_op,
        clear_devices=True,
    )
    builder.save()
