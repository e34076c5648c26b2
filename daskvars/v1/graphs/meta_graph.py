"""Graphs in files: a `MetaGraphDef` is a graph with its collections and its saver, as JSON.

A file describes; it cannot do anything. Reading one makes operations of registered ops, variables
and numbers, each checked, and nothing else.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from daskvars.graph.graph import Graph
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.interpreter import builder_for
from daskvars.graph.records.attribute_json import decode, encode, shortened
from daskvars.graph.records.graph_def import GraphDef
from daskvars.graph.records.json_record import JsonRecord, dumped
from daskvars.graph.tensor import Operation, Tensor
from daskvars.state.stores.files import read_file, write_file
from daskvars.surface.messages import from_plain
from daskvars.v1.graphs.importer import import_graph_def
from daskvars.v1.graphs.saver_def import SaverDef
from daskvars.v1.graphs.signatures import AssetFileDef, SignatureDef, assets_of, signatures_of
from daskvars.v1.graphs.subgraph import extract
from daskvars.variables.variable import Variable
from daskvars.variables.variable_def import VariableDef

FORMAT = 1
UNBOUND_INPUTS = "unbound_inputs"


@dataclass
class MetaInfoDef:
    """What is said of a graph in a file.

    Attributes:
      meta_graph_version: a text of the user's own.
      tags: texts of the user's own.
    """

    meta_graph_version: str = ""
    tags: list[str] = field(default_factory=list)


@dataclass
class ValueList:
    """The values of a collection, all of one kind.

    Attributes:
      value: the values.
    """

    value: list[Any] = field(default_factory=list)


def _field(name: str, doc: str) -> Any:
    """Return the property that gives a field's values."""

    def values(collection: CollectionDef) -> ValueList:
        return ValueList([_field_value(item) for item in collection if _field_of(item) == name])

    return property(values, doc=doc)


class CollectionDef(list[Any]):
    """The items of a collection as JSON data, which can be read in TensorFlow's fields too.

    Of the fields one has values: `node_list` the names of tensors and operations, `int64_list` and
    `float_list` numbers, `bytes_list` texts and what describes other items, as bytes.

    Source: TensorFlow 1.15, ``tf.MetaGraphDef.CollectionDefEntry``.

    >>> with tf.Graph().as_default():
    ...     tf.add_to_collection("losses", tf.constant(1.0, name="loss"))
    ...     losses = tf.train.export_meta_graph().collection_def["losses"]
    >>> losses.WhichOneof("kind"), losses.node_list.value
    ('node_list', ['loss:0'])
    """

    def WhichOneof(self, oneof_group: str) -> str | None:
        """Return the name of the field that has values, None of a collection without items.

        Raises:
          ValueError: the group is not "kind".
        """
        if oneof_group != "kind":
            raise ValueError(f"a collection has one group of fields, 'kind', not {oneof_group!r}")
        return _field_of(self[0]) if self else None

    def HasField(self, field_name: str) -> bool:
        """Return whether it is this field that has values."""
        return self.WhichOneof("kind") == field_name

    node_list: ValueList = _field("node_list", "The names of tensors and operations.")
    bytes_list: ValueList = _field("bytes_list", "Texts, and what describes other items, as bytes.")
    int64_list: ValueList = _field("int64_list", "Integers.")
    float_list: ValueList = _field("float_list", "Floats.")


def _field_of(item: dict[str, Any]) -> str:
    """Return which field of a `CollectionDef` has an item."""
    if "node" in item:
        return "node_list"
    numbers = {int: "int64_list", bool: "int64_list", float: "float_list"}
    return numbers.get(type(item.get("value")), "bytes_list")


def _field_value(item: dict[str, Any]) -> Any:
    ((kind, content),) = item.items()
    if kind != "value":
        return content if kind == "node" else dumped(content)
    value = decode(content, _nothing_special)
    return value.encode() if isinstance(value, str) else value


@dataclass
class MetaGraphDef(JsonRecord):
    """A graph with what belongs to it, as data.

    Attributes:
      graph_def: its operations, a `GraphDef`.
      saver_def: its saver, if there is one.
      collection_def: name of a collection -> its items, a `CollectionDef`.
      meta_info_def: what is said of it.
      signature_def: what is fed and fetched, by key: of a saved model.
      asset_file_def: the files that a saved model brings.

    Source: TensorFlow 1.15, ``tf.MetaGraphDef``.

    >>> with tf.Graph().as_default():
    ...     w = tf.get_variable("w", [2])
    ...     meta_graph = tf.train.export_meta_graph()
    >>> copy = tf.MetaGraphDef.FromString(meta_graph.SerializeToString())
    >>> len(copy.graph_def.node) == len(meta_graph.graph_def.node), sorted(copy.collection_def)
    (True, ['trainable_variables', 'variables'])
    """

    what: ClassVar[str] = "a meta graph"

    graph_def: GraphDef = field(default_factory=GraphDef)
    saver_def: SaverDef | None = None
    collection_def: dict[str, CollectionDef] = field(default_factory=dict)
    meta_info_def: MetaInfoDef = field(default_factory=MetaInfoDef)
    signature_def: dict[str, SignatureDef] = field(default_factory=dict)
    asset_file_def: list[AssetFileDef] = field(default_factory=list)

    def HasField(self, name: str) -> bool:
        """Return whether a field is set."""
        return getattr(self, name) is not None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON data."""
        signatures = {key: found.to_json() for key, found in self.signature_def.items()}
        assets = [found.to_json() for found in self.asset_file_def]
        return {
            "format": FORMAT,
            "meta_info": vars(self.meta_info_def),
            "saver": None if self.saver_def is None else self.saver_def.to_json(),
            "collections": self.collection_def,
            "graph": self.graph_def.to_json(),
            **({"signatures": signatures} if signatures else {}),
            **({"assets": assets} if assets else {}),
        }

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Return what JSON data describes. Raises ValueError where it is no such thing."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError(f"no meta graph in format {FORMAT} of daskvars: {shortened(data)}")
        collections, info = data.get("collections"), data.get("meta_info")
        if not isinstance(collections, dict) or not all(
            isinstance(items, list) for items in collections.values()
        ):
            raise ValueError(f"{shortened(collections)} where collections belong")
        if not isinstance(info, dict) or info.keys() != vars(MetaInfoDef()).keys():
            raise ValueError(f"{shortened(info)} where 'meta_info' belongs")
        version, tags = info["meta_graph_version"], info["tags"]
        if not isinstance(tags, list) or not all(isinstance(t, str) for t in [version, *tags]):
            raise ValueError(f"{shortened(info)} where 'meta_info' belongs")
        saver = data.get("saver")
        return cls(
            GraphDef.from_json(data.get("graph")),
            None if saver is None else SaverDef.from_json(saver),
            {name: CollectionDef(items) for name, items in collections.items()},
            MetaInfoDef(**info),
            signatures_of(data.get("signatures", {})),
            assets_of(data.get("assets", [])),
        )


def read_meta_graph_file(filename: str) -> MetaGraphDef:
    """Return the meta graph in a file.

    Raises:
      OSError: there is no such file, or it holds no meta graph.
    """
    path = os.fspath(filename)
    content = read_file(path)
    if content is None:
        raise OSError(f"File {path} does not exist.")
    try:
        return MetaGraphDef.FromString(content)
    except ValueError as error:
        raise OSError(f"Cannot parse file {path}: {error}") from None


# -- items of collections -----------------------------------------------------------------------

_ITEMS: dict[str, tuple[Any, Callable[[Any, str], Any], Callable[[Any, str], Any]]] = {}


def register_collection_item(
    kind: str, cls: Any, to_json: Callable[[Any, str], Any], from_json: Callable[[Any, str], Any]
) -> None:
    """Write objects of a class that are in collections to files.

    Args:
      kind: what they are called in a file.
      cls: their class, or several.
      to_json: ``to_json(item, export_scope)`` -> JSON data, None for an item outside the scope.
      from_json: ``from_json(data, import_scope)`` -> the item in the graph being built.
    """
    _ITEMS[kind] = (cls, to_json, from_json)


def register_described_item(kind: str, cls: Any, definition: type[JsonRecord]) -> None:
    """Write objects of a class that are in collections to files, as what describes them.

    Args:
      kind, cls: as of `register_collection_item`.
      definition: of what the class's `to_proto` gives and its `from_proto` takes.
    """

    def to_json(item: Any, scope: str) -> Any:
        found = item.to_proto(scope)
        return None if found is None else found.to_json()

    def from_json(data: Any, scope: str) -> Any:
        return cls.from_proto(definition.from_json(data), scope)

    register_collection_item(kind, cls, to_json, from_json)


def _node_json(item: Any, scope: str) -> str | None:
    prefix = f"{scope}/" if scope else ""
    return item.name.removeprefix(prefix) if item.name.startswith(prefix) else None


def _node(name: Any, scope: str) -> Any:
    return builder_for(()).as_graph_element(f"{scope}/{name}" if scope else name)


def _slices_json(item: IndexedSlices, scope: str) -> list[Any] | None:
    parts = [item.values, item.indices, item.dense_shape]
    names = [None if part is None else _node_json(part, scope) for part in parts]
    return None if None in names[:2] else names


def _slices(names: Any, scope: str) -> IndexedSlices:
    values, indices, *shape = names
    dense_shape = [None if name is None else _node(name, scope) for name in shape]
    return IndexedSlices(_node(values, scope), _node(indices, scope), *dense_shape)


def _variable(data: Any, scope: str) -> Variable:
    """Return the variable that was described: the same object each time."""
    graph = builder_for(())
    described = from_plain(VariableDef, data)
    if not described.variable_name:
        raise ValueError("a variable has no 'variable_name'")
    handle = _node(described.variable_name, scope)
    known = graph.notes.setdefault("variables_by_op", {})
    return known[handle.op] if handle.op in known else Variable.from_proto(described, scope)


def _variable_json(variable: Variable, scope: str) -> Any:
    described = variable.to_proto(scope)
    return None if described is None else described.plain()


register_collection_item("variable", Variable, _variable_json, _variable)
register_collection_item("node", Tensor | Operation, _node_json, _node)
register_collection_item("indexed_slices", IndexedSlices, _slices_json, _slices)


def _item_json(item: Any, scope: str) -> Any:
    """Return an item as JSON data, None for one outside the scope. Raises TypeError."""
    for kind, (cls, to_json, _) in _ITEMS.items():
        if isinstance(item, cls):
            data = to_json(item, scope)
            return None if data is None else {kind: data}
    if callable(item):
        raise TypeError(f"an item of type {type(item).__name__} cannot be written")
    return {"value": encode(item, lambda value: None)}


def _item(data: Any, scope: str) -> Any:
    """Return the item that JSON data describes in the graph being built."""
    if not isinstance(data, dict) or len(data) != 1:
        raise ValueError(f"{shortened(data)} where an item of a collection belongs")
    ((kind, content),) = data.items()
    if kind == "value":
        return decode(content, _nothing_special)
    if kind not in _ITEMS:
        raise ValueError(f"unknown kind of item: {shortened(data)}")
    try:
        return _ITEMS[kind][2](content, scope)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{shortened(data)} in a collection: {error}") from None


def _nothing_special(kind: str, data: Any) -> Any:
    raise ValueError(f"{shortened({kind: data})} where a value belongs")


def _collections_json(
    graph: Graph, names: Sequence[Any] | None, scope: str
) -> dict[str, CollectionDef]:
    found: dict[str, list[Any]] = {}
    for name in graph.get_all_collection_keys() if names is None else names:
        if not isinstance(name, str):
            warnings.warn(
                f"Only collections with string type keys will be serialized. {name!r} "
                f"has {type(name)}",
                stacklevel=4,
            )
            continue
        items = []
        for item in graph.get_collection(name):
            try:
                items.append(_item_json(item, scope))
            except TypeError as error:
                warnings.warn(f"Error encountered when serializing {name}: {error}", stacklevel=4)
        found[name] = [item for item in items if item is not None]
    return {name: CollectionDef(items) for name, items in found.items() if items}


# -- graphs -------------------------------------------------------------------------------------


def export_scoped_meta_graph(
    filename: str | None = None,
    graph_def: GraphDef | None = None,
    graph: Graph | None = None,
    export_scope: str | None = None,
    as_text: bool = False,
    unbound_inputs_col_name: str | None = UNBOUND_INPUTS,
    clear_devices: bool = False,
    saver_def: SaverDef | None = None,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    meta_info_def: MetaInfoDef | None = None,
    collection_list: Sequence[str] | None = None,
) -> tuple[MetaGraphDef, dict[str, Variable]]:
    """Return a graph with its collections as data, and the global variables in it by name.

    See `export_meta_graph`; `unbound_inputs_col_name` names a collection of the names of inputs
    that are not under `export_scope`.
    """
    graph = builder_for(()) if graph is None else graph
    if not isinstance(graph, Graph) or graph.is_eager:
        raise RuntimeError("a meta graph is exported of a graph: enter one, or give graph=")
    scope = (export_scope or "").rstrip("/")
    whole = graph.as_graph_def() if graph_def is None else graph_def
    excluded = _nodes_of_savers(whole, saver_def) if clear_extraneous_savers else set()
    part, unbound = whole, list[str]()
    if scope or excluded or clear_devices:
        part, unbound = extract(whole, scope, excluded, clear_devices)
    if unbound_inputs_col_name and (scope or excluded):
        graph.get_collection_ref(unbound_inputs_col_name)[:] = unbound
    collections = _collections_json(graph, collection_list, scope)
    if clear_extraneous_savers:
        collections.pop("savers", None)
    found = MetaGraphDef(part, saver_def, collections, meta_info_def or MetaInfoDef())
    if filename:
        write_file(os.fspath(filename), found.pieces())
    return found, _variables_in(graph, scope)


def _variables_in(graph: Graph, scope: str) -> dict[str, Variable]:
    """Return the variables of a scope, by their names in it."""
    named = ((_node_json(v, scope), v) for v in graph.get_collection("variables"))
    return {name: v for name, v in named if name is not None}


def _nodes_of_savers(graph_def: GraphDef, saver_def: SaverDef | None) -> set[str]:
    """Return the names of all nodes of savers but those of one."""
    scopes = {node.name.rpartition("/")[0] + "/" for node in graph_def.node if node.op == "SaveV2"}
    if saver_def is not None:
        scopes.discard(saver_def.save_tensor_name.rpartition("/")[0] + "/")
    return {node.name for node in graph_def.node if node.name.startswith(tuple(scopes))}


def import_scoped_meta_graph(
    meta_graph_or_file: MetaGraphDef | str,
    clear_devices: bool = False,
    graph: Graph | None = None,
    import_scope: str | None = None,
    input_map: Mapping[str, Any] | None = None,
    unbound_inputs_col_name: str | None = UNBOUND_INPUTS,
    restore_collections_predicate: Callable[[str], bool] = lambda key: True,
) -> dict[str, Variable]:
    """Add a graph to the one being built, and its collections; return its variables by name.

    Args:
      meta_graph_or_file: what was exported, or the path of a file.
      clear_devices: forget devices.
      graph: the graph to add to, by default the one being built.
      import_scope: name scope to put it under.
      input_map: name of a tensor in it -> what is taken in its place.
      unbound_inputs_col_name: collection that names the inputs that must be mapped.
      restore_collections_predicate: which collections to take, by name.

    Raises:
      OSError: there is no such file, or it holds no meta graph.
      ValueError: inputs are not mapped that must be, or nodes cannot be added: see
        `import_graph_def`.
    """
    with naming_file(meta_graph_or_file) as found:
        return _imported(
            found,
            clear_devices,
            graph,
            import_scope,
            input_map,
            unbound_inputs_col_name,
            restore_collections_predicate,
        )


@contextmanager
def naming_file(meta_graph_or_file: MetaGraphDef | str) -> Iterator[MetaGraphDef]:
    """Enter with a meta graph, read from its file if need be, which errors then name."""
    if isinstance(meta_graph_or_file, MetaGraphDef):
        yield meta_graph_or_file
        return
    found = read_meta_graph_file(meta_graph_or_file)
    try:
        yield found
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{os.fspath(meta_graph_or_file)}: {error}") from error


def _imported(
    found: MetaGraphDef,
    clear_devices: bool,
    graph: Graph | None,
    import_scope: str | None,
    input_map: Mapping[str, Any] | None,
    unbound_inputs_col_name: str | None,
    restore_collections_predicate: Callable[[str], bool],
) -> dict[str, Variable]:
    graph = builder_for(()) if graph is None else graph
    if graph.is_eager:
        raise RuntimeError("a meta graph is imported into a graph: enter one, or give graph=")
    unbound = [
        _item(item, "") for item in found.collection_def.get(unbound_inputs_col_name or "", [])
    ]
    missing = sorted(set(unbound) - set(input_map or {}))
    if missing:
        raise ValueError(
            f"Graph contains unbound inputs: {','.join(missing)}. Must provide these inputs "
            "through input_map."
        )
    nodes = extract(found.graph_def, "", (), True)[0] if clear_devices else found.graph_def
    with graph.as_default():
        scope = graph.unique_name(import_scope or "", mark_as_used=False).rstrip("/")
        _check_free(graph, nodes, scope)
        import_graph_def(nodes, input_map, name=import_scope or (f"{scope}/" if scope else ""))
        for name, items in found.collection_def.items():
            if name != unbound_inputs_col_name and restore_collections_predicate(name):
                graph.get_collection_ref(name).extend(_item(item, scope) for item in items)
    return _variables_in(graph, scope)


def _check_free(graph: Graph, graph_def: GraphDef, scope: str) -> None:
    """Refuse names that are taken: collections name their items, and would name the others."""
    for node in graph_def.node:
        name = f"{scope}/{node.name}" if scope else node.name
        if graph.has_operation(name):
            raise ValueError(
                f"Node name {name!r} already exists in the Graph: give an import_scope, or import "
                "into a new graph"
            )


def copy_scoped_meta_graph(
    from_scope: str, to_scope: str, from_graph: Graph | None = None, to_graph: Graph | None = None
) -> dict[str, Variable]:
    """Copy what is under a name scope to another scope; return the copied variables by name.

    Raises:
      ValueError: both scopes are the same, in one graph.
    """
    from_graph = builder_for(()) if from_graph is None else from_graph
    to_graph = builder_for(()) if to_graph is None else to_graph
    if from_graph is to_graph and from_scope == to_scope:
        raise ValueError(f"'from_scope' and 'to_scope' need to be different: {from_scope!r}")
    found, _ = export_scoped_meta_graph(export_scope=from_scope, graph=from_graph)
    return import_scoped_meta_graph(found, graph=to_graph, import_scope=to_scope)
