"""Event files as TensorBoard reads them: TensorFlow's records, written by TensorBoard's own writer.

It needs the package ``tensorboard`` and nothing else imports this module before a file is written
or read. What TensorBoard's protocol buffers have no field for is written in words: what a run's
metadata tell beyond its steps (`num_tasks`, bytes, the plan) stands as text under the same tag.

Reading trusts nothing: a length is compared with the file before memory is taken for it, and a
tensor's shape with the elements that are there.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy
from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message
from tensorboard.compat.proto import (
    attr_value_pb2,
    config_pb2,
    event_pb2,
    graph_pb2,
    meta_graph_pb2,
    step_stats_pb2,
    summary_pb2,
    tensor_pb2,
    tensor_shape_pb2,
    types_pb2,
)
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util import tensor_util

from daskvars.graph.records.graph_def import SHAPES, GraphDef
from daskvars.kernels.summaries import plain
from daskvars.remote.tasks.tfrecord_reader import masked
from daskvars.summary.drawn_nodes import drawn_nodes
from daskvars.summary.records import SHOWN_AS_TEXT, Event, HistogramProto, Summary, SummaryValue

MAX_REPEATED = 256
"""Most elements of a tensor that a file gives as one value and a shape."""
_HEADER, _CHECKSUM = struct.Struct("<QI"), struct.Struct("<I")
# The collection that has a meta graph as we write it, and the attribute that has a graph.
_OWN = "daskvars"
_MEDIA = ("image", "audio")
_LOG_FIELDS = ("status", "checkpoint_path", "msg")


class TensorBoardFile:
    """A new event file in a directory, written by TensorBoard's `EventFileWriter`.

    Args:
      logdir: the directory, or a URL that TensorBoard knows; made if need be.
      suffix: ends the file's name.
      max_queue: how many events may wait for the thread that writes.
      flush_secs: how many seconds an event may wait at most.
    """

    def __init__(self, logdir: str, suffix: str, max_queue: int, flush_secs: float) -> None:
        self._writer = EventFileWriter(logdir, max_queue, flush_secs, suffix)

    def add(self, event: Event) -> None:
        """Write an event; the thread of the writer does it a little later."""
        for message in protos_of(event):
            self._writer.add_event(message)

    def add_proto(self, summary: Message, wall_time: float, step: int) -> None:
        """Write a summary that a plugin of TensorBoard made, as it is.

        Raises:
          DecodeError: it is another kind of message.
        """
        same = summary_pb2.Summary.FromString(summary.SerializeToString())
        self._writer.add_event(event_pb2.Event(wall_time=wall_time, step=step, summary=same))

    def flush(self) -> None:
        """Write what waits."""
        self._writer.flush()

    def close(self) -> None:
        """Write what waits and close the file."""
        try:
            self._writer.flush()  # which alone says what became of the thread that writes
        finally:
            self._writer.close()


# -- our records as TensorBoard's -----------------------------------------------------------------


def protos_of(event: Event) -> list[event_pb2.Event]:
    """Return an event as TensorBoard's, and what its record of runs has no field for as text."""
    found = event_pb2.Event(wall_time=event.wall_time, step=event.step)
    more = []
    if event.file_version:
        found.file_version = event.file_version
    if event.HasField("graph_def"):
        found.graph_def = _graph_bytes(event.graph_def)
    elif event.HasField("meta_graph_def"):
        found.meta_graph_def = _meta_graph_bytes(event.meta_graph_def)
    elif event.HasField("summary"):
        found.summary.value.extend(map(_value_proto, event.summary.value))
    elif event.HasField("session_log"):
        for name in _LOG_FIELDS:
            setattr(found.session_log, name, getattr(event.session_log, name))
    elif event.HasField("tagged_run_metadata"):
        record = event.tagged_run_metadata
        told = json.loads(record.run_metadata)
        steps = {"step_stats": told.pop("step_stats", {})}
        metadata = json_format.ParseDict(
            steps, config_pb2.RunMetadata(), ignore_unknown_fields=True
        )
        found.tagged_run_metadata.tag = record.tag
        found.tagged_run_metadata.run_metadata = metadata.SerializeToString()
        if told:
            rows = [f"    {name}: {value}" for name, value in told.items()]
            text = {"dtype": "string", "shape": [], "values": ["\n".join(rows)]}
            shown = SummaryValue(tag=record.tag, tensor=text, metadata=SHOWN_AS_TEXT)
            summary = summary_pb2.Summary(value=[_value_proto(shown)])
            more = [event_pb2.Event(wall_time=event.wall_time, step=event.step, summary=summary)]
    return [found, *more]


def _value_proto(value: SummaryValue) -> summary_pb2.Summary.Value:
    found = summary_pb2.Summary.Value(tag=value.tag, node_name=value.node_name)
    kind = value.WhichOneof("value") or "simple_value"
    content = getattr(value, kind)
    if kind == "simple_value":
        found.simple_value = content
    elif kind == "tensor":
        found.tensor.CopyFrom(_tensor_proto(content))
    else:
        target = getattr(found, kind)
        target.SetInParent()
        for name, item in content._values.items():
            if isinstance(item, list):
                getattr(target, name).extend(item)
            else:
                setattr(target, name, item)
    if value.HasField("metadata"):
        _copy_metadata(value.metadata, found.metadata)
    return found


def _copy_metadata(source: Any, target: Any) -> None:
    """Set the fields of a `SummaryMetadata`, ours or TensorBoard's, that another one has."""
    for name in ("display_name", "summary_description"):
        if getattr(source, name):
            setattr(target, name, getattr(source, name))
    for name in ("plugin_name", "content"):
        if getattr(source.plugin_data, name):
            setattr(target.plugin_data, name, getattr(source.plugin_data, name))


def _tensor_proto(content: dict[str, Any]) -> tensor_pb2.TensorProto:
    """Return a tensor; bfloat16, which TensorBoard's NumPy lacks, as float32, which holds it."""
    dtype, values = content["dtype"], content["values"]
    if dtype == "string":
        texts = [v.encode() if isinstance(v, str) else v for v in values]
        shape = tensor_shape_pb2.TensorShapeProto(
            dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=n) for n in content["shape"]]
        )
        return tensor_pb2.TensorProto(
            dtype=types_pb2.DT_STRING, tensor_shape=shape, string_val=texts
        )
    if dtype.startswith("complex"):
        values = [complex(v) for v in values]
    elif "float" in dtype:
        values = [float(v) for v in values]
    array = numpy.array(values, "float32" if dtype == "bfloat16" else dtype)
    return tensor_util.make_tensor_proto(array.reshape(content["shape"]))


def _is_own(data: bytes) -> bool:
    """Return whether a graph is as we write it, else as TensorFlow did, which a file gave."""
    return data.startswith(b"{")


def _graph_bytes(data: bytes) -> bytes:
    """Return a graph as TensorBoard reads it; an attribute of the first node has it as we do."""
    if not _is_own(data):
        return data
    found = _graph_proto(drawn_nodes(GraphDef.FromString(data)))
    if found.node:
        found.node[0].attr[_OWN].s = data
    return found.SerializeToString()


def _graph_data(data: bytes) -> bytes:
    """Return what `_graph_bytes` was given."""
    nodes = graph_pb2.GraphDef.FromString(data).node
    if not nodes:
        return GraphDef().SerializeToString()
    return nodes[0].attr[_OWN].s if _OWN in nodes[0].attr else data


def _graph_proto(nodes: list[dict[str, Any]]) -> graph_pb2.GraphDef:
    found = graph_pb2.GraphDef()
    found.versions.producer = 22  # that of TensorFlow 1.0, whose fields these are
    for node in nodes:
        attr = node.get("attr", {})
        added = found.node.add(**{name: node[name] for name in node if name != "attr"})
        for key, data in attr.items():
            added.attr[key].CopyFrom(_attr_proto(key, data))
    return found


def _meta_graph_bytes(data: bytes) -> bytes:
    """Return a meta graph as TensorBoard reads it; a collection has it as we do."""
    if not _is_own(data):
        return data
    graph = GraphDef.from_json(json.loads(data)["graph"])
    found = meta_graph_pb2.MetaGraphDef(graph_def=_graph_proto(drawn_nodes(graph)))
    found.collection_def[_OWN].bytes_list.value.append(data)
    return found.SerializeToString()


def _attr_proto(key: str, data: Any) -> attr_value_pb2.AttrValue:
    found = attr_value_pb2.AttrValue()
    if key == SHAPES:
        found.list.SetInParent()
        for shape in data:
            added = found.list.shape.add(unknown_rank=shape is None)
            for size in shape or ():
                added.dim.add(size=-1 if size is None else size)
    elif isinstance(data, bool):
        found.b = data
    elif isinstance(data, int) and abs(data) < 1 << 63:
        found.i = data
    elif isinstance(data, float):
        found.f = data
    elif isinstance(data, dict) and "dtype" in data:
        found.type = types_pb2.DataType.Value(_data_type(data["dtype"]))
    else:
        found.s = str(data).encode()
    return found


def _data_type(name: str) -> str:
    known = {"float32": "DT_FLOAT", "float64": "DT_DOUBLE", "float16": "DT_HALF"}
    found = known.get(name, f"DT_{name.upper()}")
    return found if found in types_pb2.DataType.keys() else "DT_INVALID"  # noqa: SIM118


# -- TensorBoard's records as ours ----------------------------------------------------------------


class Truncated(Exception):
    """The file ends within a record, which is still being written."""


@dataclass
class EventRecordReader:
    """Reads TensorFlow's records: a length, its checksum, the bytes, their checksum.

    Attributes:
      size: its bytes; no more memory is taken, whatever a record says of its length.
    """

    file: BinaryIO
    size: int

    def __iter__(self) -> Iterator[bytes]:
        while True:
            try:
                record = self._next()
            except Truncated:
                return
            yield record

    def _next(self) -> bytes:
        start = self.file.read(_HEADER.size)
        if len(start) < _HEADER.size:
            raise Truncated
        length, checksum = _HEADER.unpack(start)
        self._check(start[:8], checksum)
        if length > self.size - self.file.tell() - _CHECKSUM.size:
            raise Truncated
        data = self.file.read(length)
        self._check(data, _CHECKSUM.unpack(self.file.read(_CHECKSUM.size))[0])
        return data

    def _check(self, data: bytes, checksum: int) -> None:
        if masked(data) != checksum:
            raise ValueError(f"the checksum before byte {self.file.tell()} is wrong")


def read_tfevents(file: BinaryIO) -> Iterator[Event]:
    """Yield the events of an open file.

    Raises:
      ValueError: it holds something else, or a checksum is wrong; an end that is not complete is
        left out.
    """
    size = os.fstat(file.fileno()).st_size
    try:
        for record in EventRecordReader(file, size):
            yield _event_of(event_pb2.Event.FromString(record))
    except (DecodeError, TypeError, OverflowError) as error:
        raise ValueError(f"the record before byte {file.tell()} is no event: {error}") from None


def _event_of(proto: event_pb2.Event) -> Event:
    event = Event(wall_time=proto.wall_time, step=proto.step)
    kind = proto.WhichOneof("what")
    if kind == "file_version":
        event.file_version = proto.file_version
    elif kind == "graph_def":
        event.graph_def = _graph_data(proto.graph_def)
    elif kind == "meta_graph_def":
        meta = meta_graph_pb2.MetaGraphDef.FromString(proto.meta_graph_def)
        own = meta.collection_def[_OWN].bytes_list.value if _OWN in meta.collection_def else ()
        event.meta_graph_def = own[0] if own else proto.meta_graph_def
    elif kind == "summary":
        event.summary = Summary(value=map(_value_of, proto.summary.value))
    elif kind == "session_log":
        for name in _LOG_FIELDS:
            setattr(event.session_log, name, getattr(proto.session_log, name))
    elif kind == "tagged_run_metadata":
        record = config_pb2.RunMetadata.FromString(proto.tagged_run_metadata.run_metadata)
        steps = {"step_stats": _steps_of(record.step_stats)} if record.step_stats.dev_stats else {}
        event.tagged_run_metadata.tag = proto.tagged_run_metadata.tag
        event.tagged_run_metadata.run_metadata = json.dumps(steps).encode()
    return event


def _steps_of(steps: step_stats_pb2.StepStats) -> dict[str, Any]:
    return {
        "dev_stats": [
            {
                "device": device.device,
                "node_stats": [
                    {
                        "node_name": node.node_name,
                        "all_start_micros": node.all_start_micros,
                        "op_end_rel_micros": node.op_end_rel_micros,
                        "all_end_rel_micros": node.all_end_rel_micros,
                        "timeline_label": node.timeline_label,
                        "thread_id": node.thread_id,
                    }
                    for node in device.node_stats
                ],
            }
            for device in steps.dev_stats
        ]
    }


def _value_of(proto: summary_pb2.Summary.Value) -> SummaryValue:
    value = SummaryValue(tag=proto.tag)
    if proto.node_name:
        value.node_name = proto.node_name
    kind = proto.WhichOneof("value")
    if kind == "simple_value":
        value.simple_value = proto.simple_value
    elif kind == "histo":
        fields = {name: getattr(proto.histo, name) for name in HistogramProto.fields}
        value.histo = HistogramProto(**fields)
    elif kind == "tensor":
        value.tensor = _tensor_of(proto.tensor)
    elif kind in _MEDIA:
        target, source = getattr(value, kind), getattr(proto, kind)
        for name in target.fields:
            setattr(target, name, getattr(source, name))
    if proto.HasField("metadata"):
        _copy_metadata(proto.metadata, value.metadata)
    return value


def _tensor_of(proto: tensor_pb2.TensorProto) -> dict[str, Any]:
    shape = [dim.size for dim in proto.tensor_shape.dim]
    size = math.prod(shape)
    if min(shape, default=0) < 0 or (size > MAX_REPEATED and size > proto.ByteSize()):
        raise ValueError(f"a tensor of shape {shape} in {proto.ByteSize()} bytes")
    array = tensor_util.make_ndarray(proto)
    values = [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in array.flat]
    name = "string" if array.dtype == object else array.dtype.name
    return {"dtype": name, "shape": shape, "values": [plain(v) for v in values]}
