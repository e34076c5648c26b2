"""Readers: records out of the files whose names a queue gives."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy

from daskvars.data.records.tfrecords import compression_of
from daskvars.dtypes import int64, string
from daskvars.errors import invalid
from daskvars.execution.host_ops.resources import Call, host_op
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.interpreter import apply, apply_op
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.surface.accepted import accepts
from daskvars.surface.forwarding import forwards
from daskvars.v1.queues import lmdb_files, work
from daskvars.v1.queues.elements import Queue
from daskvars.v1.queues.queue_ops import QueueBase, entered_for, name_as_array, object_of

_RECORDS: dict[str, tuple[Callable[..., Any], bool]] = {
    "TextLineReaderV2": (work.lines, False),
    "WholeFileReaderV2": (work.whole, True),
    "IdentityReaderV2": (work.itself, True),
    "FixedLengthRecordReaderV2": (work.of_equal_length, False),
    "TFRecordReaderV2": (work.tf_records, False),
    "LMDBReader": (lmdb_files.pairs, False),
}


def _make_reader(call: Call, **attrs: Any) -> numpy.ndarray:
    records, ends_at_once = _RECORDS[call.op.type]
    call.resources.get(call.op.name, lambda: work.Reader(partial(records, **attrs), ends_at_once))
    return name_as_array(call.op.name)


def _reader(call: Call, handle: numpy.ndarray) -> work.Reader:
    return object_of(call, handle, work.Reader, "reader")


def _records(
    call: Call, reader: numpy.ndarray, queue: numpy.ndarray, count: int
) -> list[work.Record]:
    source = object_of(call, queue, Queue, "queue")
    return _reader(call, reader).read(count, lambda: source.dequeue(call.waiting)[0].item())


def _read(call: Call, reader: numpy.ndarray, queue: numpy.ndarray) -> Any:
    return _records(call, reader, queue, 1)[0]


def _read_up_to(call: Call, reader: numpy.ndarray, queue: numpy.ndarray, count: Any) -> Any:
    records = _records(call, reader, queue, int(count))
    columns = numpy.empty((2, len(records)), object)
    for i, record in enumerate(records):
        columns[:, i] = record
    return tuple(columns)


def _num_records(call: Call, reader: numpy.ndarray) -> numpy.ndarray:
    return numpy.asarray(_reader(call, reader).num_records)


def _num_done(call: Call, reader: numpy.ndarray) -> numpy.ndarray:
    return numpy.asarray(_reader(call, reader).num_done)


def _state(call: Call, reader: numpy.ndarray) -> numpy.ndarray:
    return numpy.array(_reader(call, reader).state(), object)


def _restore(call: Call, reader: numpy.ndarray, state: numpy.ndarray) -> tuple:
    try:
        _reader(call, reader).restore(state.item())
    except ValueError as error:
        kind = call.op.inputs[0].op.type.removesuffix("V2")
        raise invalid(
            f"Could not parse state for {kind} '{reader.item().decode()}': {state.item()[:64]!r} "
            f"({error})"
        ) from None
    return ()


def _reset(call: Call, reader: numpy.ndarray) -> tuple:
    _reader(call, reader).reset()
    return ()


_ATTRIBUTES = {
    **dict.fromkeys(
        ("footer_bytes", "header_bytes", "hop_bytes", "record_bytes", "skip_header_lines"),
        kinds_of.INT,
    ),
    **dict.fromkeys(("compression", "encoding"), kinds_of.TEXT),
}


def _op(type: str, signature: str, specs: Any, kernel: Any, waits: bool = False) -> OpDef:
    return host_op(
        type, signature, lambda inputs, **attrs: specs, kernel, waits, attributes=_ATTRIBUTES
    )


_MAKERS = {type: _op(type, "", Spec(string, ()), _make_reader) for type in _RECORDS}
_STRINGS = Spec(string, (None,))
READ = _op("ReaderReadV2", "reader:S, queue:S", (Spec(string, ()), Spec(string, ())), _read, True)
READ_UP_TO = _op(
    "ReaderReadUpToV2", "reader:S, queue:S, n:I", (_STRINGS, _STRINGS), _read_up_to, True
)
NUM_RECORDS = _op("ReaderNumRecordsProducedV2", "reader:S", Spec(int64, ()), _num_records)
NUM_DONE = _op("ReaderNumWorkUnitsCompletedV2", "reader:S", Spec(int64, ()), _num_done)
RESET = _op("ReaderResetV2", "reader:S", (), _reset)
SERIALIZE_STATE = _op("ReaderSerializeStateV2", "reader:S", Spec(string, ()), _state)
RESTORE_STATE = _op("ReaderRestoreStateV2", "reader:S, state:S", (), _restore)


class ReaderBase:
    """Turns work, such as names of files in a queue, into records of a key and a value.

    A reader is in the session's process and reads files there.

    Args:
      name: name of the operation.
      **attrs: attributes of the operation that makes the reader.

    Raises:
      NotImplementedError: it is made itself, not one of its kinds.

    Source: TensorFlow 1.15, ``tf.ReaderBase``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     reader = tf.IdentityReader()
    ...     isinstance(reader, tf.ReaderBase), int(sess.run(reader.num_records_produced()))
    (True, 0)
    """

    type: ClassVar[str] = ""

    def __init__(self, name: str | None, **attrs: Any) -> None:
        if not self.type:
            raise NotImplementedError("a ReaderBase is one of its kinds, such as TextLineReader")
        self._reader_ref = apply(_MAKERS[self.type], name=name, **attrs)

    def __repr__(self) -> str:
        return f"<tf.{type(self).__name__} {self._reader_ref.op.name!r}>"

    reader_ref: Tensor = forwards(
        "_reader_ref", "The handle: [] string, the reader's name in the session."
    )

    @property
    def supports_serialize(self) -> bool:
        """Whether its state can be had as a string: yes."""
        return True

    def read(self, queue: QueueBase | Tensor, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Return the next record, of the work in hand or the next that the queue gives.

        Args:
          queue: of strings, or its handle.
          name: name of the operation.

        Returns:
          Key and value: [] string.

        Raises:
          OutOfRangeError: (when run) the queue is closed and empty.
        """
        with entered_for(self._reader_ref, f"reading by {self._reader_ref.op.name!r}"):
            return apply(READ, self._reader_ref, _handle_of(queue), name=name)

    def read_up_to(
        self, queue: QueueBase | Tensor, num_records: TensorLike, name: str | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return at most `num_records` of the next records, fewer at the end of a file.

        Args:
          queue: of strings, or its handle.
          num_records: [] int64.
          name: name of the operation.

        Returns:
          Keys and values: [n] string.
        """
        with entered_for(self._reader_ref, f"reading by {self._reader_ref.op.name!r}"):
            return apply(READ_UP_TO, self._reader_ref, _handle_of(queue), num_records, name=name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Return how many records were read: [] int64."""
        return self._look(NUM_RECORDS, name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Return how many files were read to the end: [] int64."""
        return self._look(NUM_DONE, name)

    def serialize_state(self, name: str | None = None) -> Tensor:
        """Return how far it has come, for `restore_state`: [] string.

        That is the work in hand, such as the name of a file, how many of its records were read,
        and the counts.
        """
        return self._look(SERIALIZE_STATE, name)

    def _look(self, opdef: OpDef, name: str | None) -> Tensor:
        with entered_for(self._reader_ref, f"a look at {self._reader_ref.op.name!r}"):
            return apply(opdef, self._reader_ref, name=name)

    def restore_state(self, state: Tensor | bytes, name: str | None = None) -> Operation:
        """Return an operation after which it goes on from where it was when it gave a state.

        The work is read again up to there; what is left in the queue is another matter.

        Args:
          state: [] string, of `serialize_state` of a reader of this kind.
          name: name of the operation.

        Raises:
          ValueError: the state has another shape.
          InvalidArgumentError: (when run) it is none.
        """
        with entered_for(self._reader_ref, f"a change of {self._reader_ref.op.name!r}"):
            given = convert_to_tensor(state, string, name="state")
            given.shape.assert_is_compatible_with([])
            return apply_op(RESTORE_STATE, self._reader_ref, given, name=name)

    def reset(self, name: str | None = None) -> Operation:
        """Return an operation that sets it back: the file in hand is let go of."""
        with entered_for(self._reader_ref, f"setting back {self._reader_ref.op.name!r}"):
            return apply_op(RESET, self._reader_ref, name=name)


def _handle_of(queue: QueueBase | Tensor) -> Tensor:
    return queue.queue_ref if isinstance(queue, QueueBase) else queue


class TextLineReader(ReaderBase):
    """Reads the lines of files, without their ends; keys are "file:number".

    Args:
      skip_header_lines: how many lines of each file are left out.
      name: name of the operation.

    Source: TensorFlow 1.15, ``tf.TextLineReader``.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "few.csv")
    >>> _ = path.write_text("a,b\\n1,2\\n3,4\\n")
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     names = tf.train.string_input_producer([str(path)], num_epochs=1)
    ...     key, line = tf.TextLineReader(skip_header_lines=1).read(names)
    ...     sess.run(tf.local_variables_initializer())
    ...     threads = tf.train.start_queue_runners(sess)
    ...     sess.run(line), sess.run(line)
    (b'1,2', b'3,4')
    """

    type = "TextLineReaderV2"

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(name, skip_header_lines=int(skip_header_lines or 0))


class WholeFileReader(ReaderBase):
    """Reads whole files; keys are their names.

    Args:
      name: name of the operation.

    Source: TensorFlow 1.15, ``tf.WholeFileReader``.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "words.txt")
    >>> size = path.write_text("all of it")
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     names = tf.FIFOQueue(1, tf.string)
    ...     name, text = tf.WholeFileReader().read(names)
    ...     sess.run(names.enqueue(str(path)))
    ...     sess.run(text)
    b'all of it'
    """

    type = "WholeFileReaderV2"

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)


class IdentityReader(ReaderBase):
    """Gives the work itself, as key and as value.

    Args:
      name: name of the operation.

    Source: TensorFlow 1.15, ``tf.IdentityReader``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     work = tf.FIFOQueue(1, tf.string)
    ...     record = tf.IdentityReader().read(work)
    ...     sess.run(work.enqueue("a"))
    ...     tuple(sess.run(record))
    (b'a', b'a')
    """

    type = "IdentityReaderV2"

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)


class FixedLengthRecordReader(ReaderBase):
    """Reads records of one length; keys are "file:number". What is left at the end is left out.

    Args:
      record_bytes: size of a record, in bytes.
      header_bytes, footer_bytes: bytes before the first and after the last.
      hop_bytes: bytes from one record to the next, by default those of a record.
      name: name of the operation.
      encoding: "ZLIB" or "GZIP" where files are compressed.

    Source: TensorFlow 1.15, ``tf.FixedLengthRecordReader``.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "pairs.bin")
    >>> size = path.write_bytes(b"HEADaabb")
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     names = tf.FIFOQueue(1, tf.string)
    ...     _, record = tf.FixedLengthRecordReader(2, header_bytes=4).read(names)
    ...     sess.run(names.enqueue(str(path)))
    ...     sess.run(record), sess.run(record)
    (b'aa', b'bb')
    """

    type = "FixedLengthRecordReaderV2"

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        super().__init__(
            name,
            record_bytes=int(record_bytes),
            header_bytes=int(header_bytes or 0),
            footer_bytes=int(footer_bytes or 0),
            hop_bytes=int(hop_bytes or 0),
            encoding=encoding or "",
        )


class TFRecordReader(ReaderBase):
    """Reads the records of TFRecord files; keys are "file:offset".

    Args:
      name: name of the operation.
      options: a `TFRecordOptions` that says how files are compressed, or its name.

    Raises:
      ValueError: there is no such compression.

    Source: TensorFlow 1.15, ``tf.TFRecordReader``.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "few.tfrecord")
    >>> with tf.python_io.TFRecordWriter(path) as writer:
    ...     writer.write(b"one")
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     names = tf.FIFOQueue(1, tf.string)
    ...     _, record = tf.TFRecordReader().read(names)
    ...     sess.run(names.enqueue(path))
    ...     sess.run(record)
    b'one'
    """

    type = "TFRecordReaderV2"

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        super().__init__(name, compression=compression_of(options))


@accepts("options")
class LMDBReader(ReaderBase):
    """Reads the pairs of LMDB files (or of ``data.mdb`` in folders), as Caffe's tools write them.

    Nobody may write to a file while it is read. Databases by name, and several values of a key, are
    refused.

    Args:
      name: name of the operation.

    Source: TensorFlow 1.15, ``tf.LMDBReader``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     names = tf.FIFOQueue(1, tf.string)
    ...     key, value = tf.LMDBReader().read(names)
    ...     sess.run(names.enqueue("nowhere.mdb"))
    ...     try:
    ...         sess.run(value)
    ...     except tf.errors.NotFoundError:
    ...         print("there is no such file")
    there is no such file
    """

    type = "LMDBReader"

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        super().__init__(name)
