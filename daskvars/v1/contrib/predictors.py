"""`tf.contrib.predictor`: a saved model as a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from daskvars.errors import did_you_mean
from daskvars.execution.session import Session
from daskvars.graph.graph import Graph
from daskvars.v1.graphs.signatures import SignatureDef
from daskvars.v1.saved_model.loader import load
from daskvars.v1.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from daskvars.v1.saved_model.tag_constants import SERVING
from daskvars.v1.saved_model.tensor_infos import get_tensor_from_tensor_info

__all__ = ["Predictor", "from_saved_model"]


class Predictor:
    """A use of a graph as a function: ``predictor({"x": array})`` returns a dict of arrays.

    Args:
      session: the session with the values.
      feed_tensors: name -> the tensor that is fed.
      fetch_tensors: name -> the tensor that is fetched.
    """

    def __init__(
        self, session: Session, feed_tensors: Mapping[str, Any], fetch_tensors: Mapping[str, Any]
    ) -> None:
        self.session, self.graph = session, session.graph
        self.feed_tensors, self.fetch_tensors = dict(feed_tensors), dict(fetch_tensors)

    def __repr__(self) -> str:
        return f"Predictor with feed tensors {self.feed_tensors} and fetch_tensors " + repr(
            self.fetch_tensors
        )

    def __call__(self, input_dict: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is fetched for what is fed.

        Args:
          input_dict: name -> array.

        Raises:
          ValueError: there is no input of a name.
        """
        unknown = sorted(set(input_dict) - set(self.feed_tensors))
        if unknown:
            raise ValueError(
                f"Got unexpected keys in input_dict: {unknown}\nexpected: "
                f"{sorted(self.feed_tensors)}{did_you_mean(unknown[0], self.feed_tensors)}"
            )
        fed = {self.feed_tensors[key]: value for key, value in input_dict.items()}
        return self.session.run(self.fetch_tensors, fed)


def from_saved_model(
    export_dir: str | bytes,
    signature_def_key: str | None = None,
    signature_def: SignatureDef | None = None,
    input_names: Mapping[str, str] | None = None,
    output_names: Mapping[str, str] | None = None,
    tags: str | Sequence[str] | None = None,
    graph: Graph | None = None,
    config: Any = None,
) -> Predictor:
    """Return a saved model as a function.

    Args:
      export_dir: the directory of the model, see `tf.saved_model`.
      signature_def_key: which signature of it, by default ``serving_default``.
      signature_def: a signature of one's own, in its place.
      input_names, output_names: names -> names of tensors, in the place of both.
      tags: the tags of the graph, by default ``serve``.
      graph: the graph to load it into, by default a new one.
      config: a `ConfigProto` for the session.

    Raises:
      OSError: there is no model.
      RuntimeError: it has no graph of these tags.
      ValueError: it has no such signature, or more than one of the three is given.

    Source: TensorFlow 1.15, ``tf.contrib.predictor.from_saved_model``.

    >>> import tempfile
    >>> place = tempfile.TemporaryDirectory()
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [2])
    ...     tf.saved_model.simple_save(sess, place.name + "/model", {"x": x}, {"y": 2.0 * x})
    >>> predict = tf.contrib.predictor.from_saved_model(place.name + "/model")
    >>> predict({"x": [1.0, 2.0]})["y"].tolist()
    [2.0, 4.0]
    >>> place.cleanup()
    """
    if sum(map(bool, (signature_def_key, signature_def, input_names or output_names))) > 1:
        raise ValueError(
            "You must specify at most one of signature_def_key OR signature_def OR (input_names "
            "AND output_names)."
        )
    graph = Graph() if graph is None else graph
    session = Session(graph=graph, config=config)
    chosen = [tags] if isinstance(tags, str) else list(tags or [SERVING])
    signatures = load(session, chosen, export_dir).signature_def
    if input_names or output_names:
        return Predictor(
            session,
            {key: graph.get_tensor_by_name(name) for key, name in (input_names or {}).items()},
            {key: graph.get_tensor_by_name(name) for key, name in (output_names or {}).items()},
        )
    key = signature_def_key or DEFAULT_SERVING_SIGNATURE_DEF_KEY
    found = signature_def or signatures.get(key)
    if found is None:
        raise ValueError(
            f'Got signature_def_key "{key}". Available signatures are {sorted(signatures)}.'
            f"{did_you_mean(key, signatures)}"
        )
    inputs, outputs = (
        {name: get_tensor_from_tensor_info(info, graph) for name, info in side.items()}
        for side in (found.inputs, found.outputs)
    )
    return Predictor(session, inputs, outputs)
