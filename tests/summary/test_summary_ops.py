"""Summary ops: names and tags, values, collections, merging."""

import io
import json
import wave

import numpy as np
import pytest

import daskvars.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")


def values_of(summary, feeds=None):
    with tf.Session() as session:
        return tf.Summary.FromString(session.run(summary, feeds)).value


def test_a_scalar_is_json_under_its_name():
    with tf.name_scope("outer"):
        summary = tf.summary.scalar("inner", tf.constant(3))
    with tf.Session() as session:
        text = session.run(summary)
    assert json.loads(text) == {"value": [{"tag": "outer/inner", "simple_value": 3.0}]}


# Names and tags are TensorFlow 1.5's (summary/summary_test.py).
@pytest.mark.parametrize(
    "name, family, op, tag",
    [
        ("a", None, "s/a", "s/a"),
        ("a", "f", "s/f/a", "f/s/f/a"),
        ("with spaces", None, "s/with_spaces", "s/with_spaces"),
        ("/a/b^", None, "s/a/b_", "s/a/b_"),
    ],
)
def test_names_and_tags(name, family, op, tag):
    with tf.name_scope("s"):
        first = tf.summary.scalar(name, 1.0, family=family)
        second = tf.summary.scalar(name, 1.0, family=family)
    assert (first.op.name, second.op.name) == (op, f"{op}_1")
    assert values_of(first)[0].tag == tag


def test_a_histogram_has_tensorflow_s_buckets():
    # kernel_tests/summary_ops_test.py of TensorFlow 1.5
    (value,) = values_of(tf.summary.histogram("h", tf.constant(10.0)))
    histo = value.histo
    assert (histo.min, histo.max, histo.num, histo.sum, histo.sum_squares) == (10, 10, 1, 10, 100)
    np.testing.assert_allclose(
        histo.bucket_limit, [9.93809490288, 10.9319043932, 1.7976931348623157e308], rtol=1e-11
    )
    assert histo.bucket == [0.0, 1.0, 0.0]


def test_a_histogram_counts_every_element_once():
    numbers = np.random.default_rng(0).normal(size=(40, 25)).astype("f4") * 100
    x = tf.placeholder(tf.float32, [None, 25])
    (value,) = values_of(tf.summary.histogram("h", x), {x: numbers})
    limits, counts = np.array(value.histo.bucket_limit), np.array(value.histo.bucket)
    wanted, _ = np.histogram(numbers.astype(float), np.concatenate([[-np.inf], limits]))
    assert counts.sum() == 1000
    assert counts.tolist() == wanted.tolist()


@pytest.mark.parametrize(
    "bad, text",
    [(np.nan, "Nan in summary histogram for: h"), (np.inf, "Infinity in summary histogram")],
)
def test_a_histogram_of_nan_is_an_error(bad, text):
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=text):
        session.run(tf.summary.histogram("h", [1.0, bad]))


def test_a_nan_loss_is_recorded_as_such():
    (value,) = values_of(tf.summary.scalar("loss", np.nan))
    assert np.isnan(value.simple_value)


@pytest.mark.parametrize("shape, channels", [([5, 3, 4], 4), ([2, 3], 1)])
def test_clips_of_sound(shape, channels):
    rate = tf.placeholder_with_default(16000.0, [])
    clips = values_of(tf.summary.audio("a", tf.ones(shape), rate, max_outputs=2, family="f"))
    assert [v.tag for v in clips] == ["f/f/a/audio/0", "f/f/a/audio/1"]
    clip = clips[0].audio
    assert (clip.sample_rate, clip.num_channels, clip.length_frames) == (16000.0, channels, 3)
    with pytest.raises(ValueError, match="rank 2 or 3"):
        tf.summary.audio("b", [1.0], 1.0)


def test_sound_is_a_wav_file():
    sound = np.array([[0.0, 0.5, -1.0, 2.0]], "f4")
    (value,) = values_of(tf.summary.audio("a", tf.constant(sound), 8000, max_outputs=1))
    assert value.audio.content_type == "audio/wav"
    with wave.open(io.BytesIO(value.audio.encoded_audio_string)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (8000, 1, 2)
        frames = np.frombuffer(file.readframes(9), "<i2")
    assert frames.tolist() == [0, 1 << 14, -(1 << 15), (1 << 15) - 1]
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="frames per second"),
    ):
        session.run(tf.summary.audio("b", tf.constant(sound), 0.0))


def pixels_of(value):
    """What another reader sees in the PNG file of a summary."""
    Image = pytest.importorskip("PIL.Image")
    return np.asarray(Image.open(io.BytesIO(value.image.encoded_image_string)))


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_images_of_bytes_are_png_files_of_the_same_pixels(channels):
    pixels = np.random.default_rng(0).integers(0, 256, (2, 5, 7, channels), "u1")
    found = [pixels_of(v) for v in values_of(tf.summary.image("i", tf.constant(pixels)))]
    np.testing.assert_array_equal(np.reshape(found, pixels.shape), pixels)


# TensorFlow's rule: what is positive fills 0 to 255, else zero is in the middle.
@pytest.mark.parametrize(
    "numbers, shown",
    [
        ([0.0, 1.0, 2.0], [0, 127, 255]),
        ([-1.0, 0.0, 0.5], [1, 128, 191]),
        ([0.0, 0.0, 0.0], [0, 0, 0]),
        ([np.nan, 1.0, np.inf], [255, 255, 255]),
    ],
)
@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
def test_images_of_numbers_are_scaled(dtype, numbers, shown):
    image = tf.reshape(tf.constant(numbers, dtype), [1, 1, 3, 1])
    (value,) = values_of(tf.summary.image("i", image))
    assert pixels_of(value).ravel().tolist() == shown


def test_the_number_farthest_below_zero_is_one():
    image = np.array([-0.7, -1.3, -2.3, -2.6, 0.1], "f4")  # in float64 some come out below 1
    for lowest in image[:4]:
        (value,) = values_of(
            tf.summary.image("i", np.array([lowest, 0.1], "f4").reshape(1, 1, 2, 1))
        )
        scaled = np.float32(127) / np.abs(lowest) * lowest + np.float32(128)
        assert pixels_of(value).ravel()[0] == int(scaled)


def test_pixels_that_are_not_finite_are_red():
    image = tf.constant(np.array([[[[np.nan, 0, 0], [0, 1, 0]]]], "f4"))
    (value,) = values_of(tf.summary.image("i", image))
    assert pixels_of(value).tolist() == [[[255, 0, 0], [0, 255, 0]]]


def test_channels_that_no_image_has_are_refused():
    with pytest.raises(ValueError, match=r"1 .grey., 3 .*found 2"):
        tf.summary.image("i", tf.ones([1, 2, 2, 2]))
    x = tf.placeholder(tf.float32, [1, None, None, None])
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="channels"):
        session.run(tf.summary.image("j", x), {x: np.ones((1, 2, 2, 2), "f4")})


def test_images_text_and_tensors():
    images = values_of(tf.summary.image("i", tf.ones([5, 4, 3, 1]), max_outputs=2))
    assert [v.tag for v in images] == ["i/image/0", "i/image/1"]
    assert (images[0].image.height, images[0].image.width, images[0].image.colorspace) == (4, 3, 1)
    (text,) = values_of(tf.summary.text("t", tf.constant(["one", "two"])))
    assert text.tensor == {"dtype": "string", "shape": [2], "values": ["one", "two"]}
    assert text.metadata.plain() == {"plugin_data": {"plugin_name": "text"}}
    (tensor,) = values_of(tf.summary.tensor_summary("x", tf.constant([[1, 2]])))
    assert tensor.tensor == {"dtype": "int32", "shape": [1, 2], "values": [1, 2]}


def test_what_is_said_of_a_tensor():
    said = tf.SummaryMetadata(display_name="sizes")
    said.plugin_data.plugin_name, said.plugin_data.content = "mine", b"\x00\xff"
    kept = tf.summary.tensor_summary("x", [1, 2], "*two*", summary_metadata=said)
    (found,) = values_of(kept)
    assert (found.metadata.display_name, found.metadata.summary_description) == ("sizes", "*two*")
    assert found.metadata.plugin_data == said.plugin_data
    assert not said.HasField("summary_description")  # what was given stays as it was
    named = tf.summary.tensor_summary("x", 1, summary_metadata=said, display_name="other")
    assert values_of(named)[0].metadata.display_name == "other"
    assert not values_of(tf.summary.tensor_summary("x", 1))[0].HasField("metadata")
    with pytest.raises(TypeError, match="SummaryMetadata"):
        tf.summary.tensor_summary("x", 1, summary_metadata="text")


def test_what_does_not_fit_is_an_error_when_built():
    with pytest.raises(ValueError, match="dtype string"):
        tf.summary.text("t", tf.constant(1))
    with pytest.raises(ValueError, match="a scalar has rank 0"):
        tf.summary.scalar("s", [1.0, 2.0])
    with pytest.raises(ValueError, match="rank 4"):
        tf.summary.image("i", [1.0, 2.0])


def test_merging():
    a = tf.summary.scalar("a", 1.0)
    b = tf.summary.scalar("b", 2.0, collections=["mine"])
    c = tf.summary.histogram("c", [1.0])
    merged = tf.summary.merge_all()
    assert (merged.op.type, list(merged.op.inputs)) == ("MergeSummary", [a, c])
    mine = tf.summary.merge_all("mine", name="all")
    assert list(mine.op.inputs) == [b]
    assert (merged.name, mine.name) == ("Merge/MergeSummary:0", "all/all:0")  # TensorFlow's
    assert tf.summary.merge_all("nothing") is None
    assert [v.tag for v in values_of(merged)] == ["a", "c"]
    twice = tf.summary.merge([a, a])
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="Duplicate"):
        session.run(twice)


def test_variables_are_summarized():
    v = tf.Variable(42.0)
    summary = tf.summary.scalar("v", v)
    with tf.Session() as session:
        session.run(v.initializer)
        assert tf.Summary.FromString(session.run(summary)).value[0].simple_value == 42.0
