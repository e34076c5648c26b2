"""The names of ``tf.graph_util``. Made by tests/typed/stubs.py; a test compares them."""

from daskvars.v1.graphs.graph_util import convert_variables_to_constants as convert_variables_to_constants
from daskvars.v1.graphs.graph_util import extract_sub_graph as extract_sub_graph
from daskvars.v1.graphs.graph_util import import_graph_def as import_graph_def
from daskvars.v1.graphs.graph_util import remove_training_nodes as remove_training_nodes
from daskvars.v1.graphs.graph_util import tensor_shape_from_node_def_name as tensor_shape_from_node_def_name
