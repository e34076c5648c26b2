"""The records of summaries and events, with TensorFlow's field names."""

from __future__ import annotations

from typing import ClassVar

from daskvars.surface.messages import Message


class HistogramProto(Message):
    """A histogram: `bucket[i]` counts what is below ``bucket_limit[i]`` and not below the last.

    >>> counts = tf.HistogramProto(min=0.5, max=2.0, num=3, bucket_limit=[1.0, 3.0], bucket=[1, 2])
    >>> dict(zip(counts.bucket_limit, counts.bucket))
    {1.0: 1.0, 3.0: 2.0}
    """

    fields: ClassVar = {
        "min": 0.0,
        "max": 0.0,
        "num": 0.0,
        "sum": 0.0,
        "sum_squares": 0.0,
        "bucket_limit": [float],
        "bucket": [float],
    }


class SummaryImage(Message):
    """An image: its size in pixels, its channels, and a PNG file."""

    fields: ClassVar = {"height": 0, "width": 0, "colorspace": 0, "encoded_image_string": b""}


class SummaryAudio(Message):
    """A clip of sound: frames per second, channels, frames, and a WAV file."""

    fields: ClassVar = {
        "sample_rate": 0.0,
        "num_channels": 0,
        "length_frames": 0,
        "encoded_audio_string": b"",
        "content_type": "",
    }


class PluginData(Message):
    """Which plugin of TensorBoard shows a summary, and what it wants to know of it."""

    fields: ClassVar = {"plugin_name": "", "content": b""}


class SummaryMetadata(Message):
    """What is said of a summary: what shows it, under which name, with which description.

    >>> described = SummaryMetadata(display_name="Loss", summary_description="in *nats*")
    >>> described.plugin_data.plugin_name = "scalars"
    >>> described
    SummaryMetadata(display_name='Loss', summary_description='in *nats*', \
plugin_data=PluginData(plugin_name='scalars'))
    """

    PluginData = PluginData
    fields: ClassVar = {"plugin_data": PluginData, "display_name": "", "summary_description": ""}


SHOWN_AS_TEXT = SummaryMetadata(plugin_data=PluginData(plugin_name="text"))


class SummaryValue(Message):
    """One value under a tag: one of a number, a histogram, an image, a sound or a tensor."""

    fields: ClassVar = {
        "tag": "",
        "node_name": "",
        "simple_value": 0.0,
        "histo": HistogramProto,
        "image": SummaryImage,
        "audio": SummaryAudio,
        "tensor": dict,
        "metadata": SummaryMetadata,
    }
    oneofs: ClassVar = {"value": ("simple_value", "histo", "image", "audio", "tensor")}


class Summary(Message):
    """Values under tags; what a summary op gives is one, as JSON.

    >>> summary = Summary(value=[Summary.Value(tag="loss", simple_value=0.5)])
    >>> summary.value.add(tag="rate", simple_value=0.01).tag
    'rate'
    >>> Summary.FromString(summary.SerializeToString()).value[0].simple_value
    0.5
    """

    Value, Image, Audio = SummaryValue, SummaryImage, SummaryAudio
    fields: ClassVar = {"value": [SummaryValue]}


class SessionLog(Message):
    """What happened to a session: it started, stopped, or wrote a checkpoint.

    >>> SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path="model/ckpt-1").status
    3
    """

    STATUS_UNSPECIFIED, START, STOP, CHECKPOINT = 0, 1, 2, 3
    fields: ClassVar = {"status": 0, "checkpoint_path": "", "msg": ""}


class TaggedRunMetadata(Message):
    """The metadata of one run (a `RunMetadata`, serialized) under a tag."""

    fields: ClassVar = {"tag": "", "run_metadata": b""}


class Event(Message):
    """One entry of an event file, at a time (seconds since 1970) and a step.

    ``graph_def`` is what `GraphDef.SerializeToString` gave, and ``meta_graph_def`` what
    `MetaGraphDef.SerializeToString` did.

    >>> Event(step=3, summary=Summary(value=[Summary.Value(tag="a", simple_value=1.0)])).step
    3
    """

    fields: ClassVar = {
        "wall_time": 0.0,
        "step": 0,
        "file_version": "",
        "graph_def": b"",
        "summary": Summary,
        "session_log": SessionLog,
        "tagged_run_metadata": TaggedRunMetadata,
        "meta_graph_def": b"",
    }
