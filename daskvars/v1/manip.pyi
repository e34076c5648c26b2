"""The names of ``tf.manip``. Made by tests/typed/stubs.py; a test compares them."""

from daskvars.v1.names.namespaces.manip import batch_to_space_nd as batch_to_space_nd
from daskvars.v1.names.namespaces.manip import gather_nd as gather_nd, reshape as reshape
from daskvars.v1.names.namespaces.manip import reverse as reverse, roll as roll
from daskvars.v1.names.namespaces.manip import scatter_nd as scatter_nd
from daskvars.v1.names.namespaces.manip import space_to_batch_nd as space_to_batch_nd, tile as tile
