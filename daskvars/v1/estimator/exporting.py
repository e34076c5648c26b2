"""An estimator's model to a directory of saved models, each named by when it was exported."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from typing import Any

from daskvars.execution.session import Session
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.state.stores.files import read_file, write_file
from daskvars.v1.estimator.export import export_outputs_of, signatures_for
from daskvars.v1.estimator.specs import EstimatorSpec
from daskvars.v1.graphs.saver import Saver
from daskvars.v1.saved_model.builder import SavedModelBuilder
from daskvars.v1.saved_model.main_op import main_op as saved_main_op
from daskvars.v1.saved_model.tag_constants import SERVING

EXTRA = "assets.extra"


def export_built(
    spec: EstimatorSpec,
    received: Any,
    export_dir_base: str,
    checkpoint_path: str,
    session_config: Any = None,
    assets_extra: Mapping[str, str] | None = None,
) -> bytes:
    """Write a saved model of the graph being built, with the values of a checkpoint.

    Args:
      received: what it is fed, a `ServingInputReceiver`.
      export_dir_base: the directory of saved models; the new one is in it under a number.
      session_config: a `ConfigProto`.
      assets_extra: path below ``assets.extra`` -> path of a file that is copied there.

    Returns:
      The path of the saved model. It is there when it is whole.
    """
    outputs = export_outputs_of(spec.export_outputs, spec.predictions)
    signatures = signatures_for(received, outputs)
    graph = builder_for(())
    final = timestamped(export_dir_base)
    partial = os.path.join(os.path.dirname(final), f"temp-{os.path.basename(final)}")
    try:
        with Session(graph=graph, config=session_config) as session:
            saver = spec.scaffold.saver or Saver(sharded=True, allow_empty=True)
            saver.restore(session, checkpoint_path)
            builder = SavedModelBuilder(partial)
            builder.add_meta_graph_and_variables(
                session,
                [SERVING],
                signatures,
                assets_collection=graph.get_collection(GraphKeys.ASSET_FILEPATHS),
                main_op=spec.scaffold.local_init_op or saved_main_op(),
                saver=saver,
            )
            builder.save()
        for target, source in (assets_extra or {}).items():
            content = read_file(source)
            if content is None:
                raise ValueError(f"assets_extra: there is no file {source!r}")
            write_file(os.path.join(partial, EXTRA, target), content)
        os.rename(partial, final)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return final.encode()


def timestamped(export_dir_base: str) -> str:
    """Return the path of a new model in a directory: the seconds since 1970, or the next number.

    Numbers rise, so that the largest is the newest, however many are exported in a second.
    """
    there = os.listdir(export_dir_base) if os.path.isdir(export_dir_base) else []
    numbers = [int(name) for name in there if name.isdecimal()]
    return os.path.join(export_dir_base, str(max([int(time.time()), *(n + 1 for n in numbers)])))
