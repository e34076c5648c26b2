"""Graphs as plain data: what `Graph.as_graph_def` and `Operation.node_def` give.

``graph_def`` and ``node_def`` are the records: `Graph` and `Operation` are one class each for eager
programs and those of TensorFlow 1, and so what their methods give is here, though only the latter
call them. ``attribute_kinds`` says what attributes may be, for who defines an op;
``attribute_json`` turns them into JSON and back, ``json_record`` whole records. What builds graphs
from records is `daskvars.v1.graphs`."""
