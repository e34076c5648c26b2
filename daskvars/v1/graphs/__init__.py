"""Graphs in files: a TensorFlow-1 program writes its graph, and another one builds it from that.

A `GraphDef` (`Graph.as_graph_def`, see `daskvars.graph.records`) has the operations; a meta graph
has collections and a saver besides. What is read is data: it names ops, and brings no code. An op
must be registered, its operands and attributes must be those that it defines, and a refusal names
node and attribute.

- ``importer``: `import_graph_def` builds operations from records, checked one by one;
  ``attribute_checks``: what it asks of their attributes; ``subgraph`` cuts a part out;
- ``meta_graph``: a graph with what belongs to it, as JSON;
- ``saver``: a `Saver` that writes it beside each checkpoint, and itself is data (``saver_def``);
- ``signatures``: what a saved model says of its inputs and outputs;
- ``tensor_protos``: arrays as messages of TensorFlow's; ``tensor_spec``: what is said of a tensor
  that is not there yet;
- ``graph_files``: the functions that write and read the files;
- ``graph_util``: graphs as data, with variables made constants: `tf.graph_util`.

An eager program is its own record: it runs again from its source, with a checkpoint's values.
"""

from daskvars.v1.graphs.graph_files import export_meta_graph, import_meta_graph, write_graph
from daskvars.v1.graphs.saver import Saver
from daskvars.v1.graphs.saver_def import SaverDef

__all__ = ["Saver", "SaverDef", "export_meta_graph", "import_meta_graph", "write_graph"]
