"""Strings to buckets and pieces, with the results of TensorFlow 2.21's `compat.v1`."""

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf

WORDS = [
    b"",
    b"a",
    b"Hello",
    b"TensorFlow",
    b"x" * 20,
    b"y" * 40,
    b"z" * 70,
    b"\xff\x00abc",
    bytes(range(256)),
]
BUCKETS = 2**62
FAST = [
    1936946117179621455,
    3694432073954588131,
    1569640939275362439,
    4265654129848386254,
    3621402210320469444,
    276292113409495006,
    4496752230148318907,
    4494088134771661858,
    679971070136948511,
]
STRONG = [
    887865449656487406,
    2150915142212405420,
    157189255173532072,
    3876270404901353656,
    3675803614113848381,
    411560665529853827,
    2343549409886367874,
    2976345648042614101,
    1745956100030569627,
]
PLAIN = [
    105434511174508091,
    2996632905371535868,
    1802903312739808229,
    4519201464338240520,
    2648813785153059629,
    2760375234777655417,
    3167011311279653072,
    2079632505562475679,
    738269575436937580,
]


def test_buckets_are_those_of_tensorflow():
    assert dv.strings.to_hash_bucket_fast(WORDS, BUCKETS).numpy().tolist() == FAST
    assert dv.strings.to_hash_bucket_strong(WORDS, BUCKETS, [123, 456]).numpy().tolist() == STRONG
    assert dv.strings.to_hash_bucket(WORDS, BUCKETS).numpy().tolist() == PLAIN
    found = dv.string_to_hash_bucket_fast(np.reshape(np.array(WORDS, object), [3, 3]), 7)
    assert found.dtype == dv.int64
    assert found.shape == (3, 3) and found.numpy().min() >= 0 and found.numpy().max() < 7


def test_buckets_of_what_is_fed(graph):
    words = tf.placeholder(tf.string, [None])
    found = tf.string_to_hash_bucket_fast(words, BUCKETS)
    with tf.Session() as session:
        assert session.run(found, {words: WORDS}).tolist() == FAST


@pytest.mark.parametrize(
    "call",
    [
        lambda: dv.strings.to_hash_bucket_fast(["a"], 0),
        lambda: dv.strings.to_hash_bucket_strong(["a"], 10, [1]),
        lambda: dv.strings.to_hash_bucket(["a"]),
    ],
)
def test_no_buckets_and_no_key_are_refused(call):
    with pytest.raises((ValueError, dv.errors.InvalidArgumentError), match=r"num_buckets|Key must"):
        call()


SPLITS = [
    (
        lambda: dv.string_split(["hello world", "a b  c", "", " d "]),
        [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2], [3, 0]],
        b"hello world a b c d",
        [4, 3],
    ),
    (
        lambda: dv.string_split(["hello,world", "a,,b", ""], ",", skip_empty=False),
        [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]],
        b"hello world a  b",
        [3, 3],
    ),
    (
        lambda: dv.string_split(["hey", "ab"], ""),
        [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1]],
        b"h e y a b",
        [2, 3],
    ),
    (
        lambda: dv.string_split(["a,b;c", "ab"], ",;"),
        [[0, 0], [0, 1], [0, 2], [1, 0]],
        b"a b c ab",
        [2, 3],
    ),
    (
        lambda: dv.string_split([",a,,b,"], ",", skip_empty=False),
        [[0, 0], [0, 1], [0, 2], [0, 3], [0, 4]],
        b" a  b ",
        [1, 5],
    ),
    (lambda: dv.strings.split("a b"), [[0, 0], [0, 1]], b"a b", [1, 2]),
    (
        lambda: dv.strings.split(["", ",a,,b,"], ","),
        [[0, 0], [1, 0], [1, 1], [1, 2], [1, 3], [1, 4]],
        b"  a  b ",
        [2, 5],
    ),
    (
        lambda: dv.strings.split(["a,b,,c,d"], ",", maxsplit=2),
        [[0, 0], [0, 1], [0, 2]],
        b"a b ,c,d",
        [1, 3],
    ),
    (
        lambda: dv.strings.split([["a b", "c"], ["", "d e f"]]),
        [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 1, 0], [1, 1, 1], [1, 1, 2]],
        b"a b c d e f",
        [2, 2, 3],
    ),
]


@pytest.mark.parametrize(("call", "places", "pieces", "shape"), SPLITS)
def test_pieces_are_those_of_tensorflow(call, places, pieces, shape):
    found = call()
    assert found.indices.numpy().tolist() == places
    assert b" ".join(found.values.numpy().tolist()) == pieces
    assert found.dense_shape.numpy().tolist() == shape


def test_nothing_is_split_into_nothing(graph):
    words = tf.placeholder(tf.string, [None])
    found = tf.string_split(words)
    with tf.Session() as session:
        value = session.run(found, {words: np.array([], object)})
    assert (value.indices.shape, value.values.shape) == ((0, 2), (0,))
    assert value.dense_shape.tolist() == [0, 0]


def test_words_of_texts_have_rows_of_a_table(graph):
    """A bag of hashed words, trained: strings split, put into buckets, looked up and summed."""
    texts = tf.placeholder(tf.string, [None])
    words = tf.string_split(texts)
    ids = tf.SparseTensor(
        words.indices, tf.string_to_hash_bucket_fast(words.values, 50), words.dense_shape
    )
    table = tf.get_variable("table", [50, 1], initializer=tf.zeros_initializer())
    logits = tf.nn.safe_embedding_lookup_sparse(table, ids, combiner="sum")[:, 0]
    labels = tf.placeholder(tf.float32, [None])
    loss = tf.reduce_mean(tf.square(logits - labels))
    step = tf.train.GradientDescentOptimizer(0.2).minimize(loss)
    fed = {texts: ["good day", "bad day", "good", "bad bad"], labels: [1.0, -1.0, 1.0, -2.0]}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, step], fed)[0] for _ in range(60)]
    assert losses[-1] < 0.05 * losses[0]


def test_ragged_results_and_texts_of_another_rank_are_refused():
    with pytest.raises(ValueError, match="ragged"):
        dv.strings.split(["a b"], result_type="RaggedTensor")
    with pytest.raises(ValueError, match="rank 1"):
        dv.string_split([["a b"]])


def test_a_rewrite_names_groups_by_one_digit():
    """As RE2: 0 is the whole match, and what follows the digit is text."""
    found = dv.strings.regex_replace(["aba\naba", "abcdabcde"], "a.*a", r"(\0)")
    assert found.numpy().tolist() == [b"(aba)\n(aba)", b"(abcda)bcde"]
    assert dv.strings.regex_replace(["ab"], "(a)(b)", r"\10\\\2").numpy().tolist() == [b"a0\\b"]


@pytest.mark.parametrize(
    "pattern, wanted",
    [
        ("[äö]", "a**, é1\n"),
        ("[^[:ascii:]]", "a**, *1\n"),
        ("[[:punct:]é[:digit:]]", "aäö* **\n"),
        ("[:punct:]|,", "aäö* é1\n"),
        (r"\[[:alpha:]|.$", "aäö, é1\n"),
        (r"\w", "*äö, é*\n"),
        (".\n$", "aäö, é*"),
        ("(?m).$", "aäö, é*\n"),
        ("(?s)a.*é..", "*"),
    ],
)
def test_expressions_are_of_characters(pattern, wanted):
    """Not of their bytes, of which no part would be text; and of the classes and ends of RE2."""
    text = "aäö, é1\n"
    assert dv.strings.regex_replace(text, pattern, "*").numpy().decode() == wanted
    assert dv.strings.regex_full_match(text, pattern).numpy() == (wanted == "*")


def test_expressions_leave_what_is_no_text():
    assert dv.strings.regex_replace(b"a\xff\xc3", "a", "b").numpy() == b"b\xff\xc3"
    with pytest.raises(dv.errors.InvalidArgumentError, match=r"error: no characters \[:nope:\]"):
        dv.strings.regex_replace("a", "[[:nope:]]", "").numpy()


def test_strings_are_padded_with_strings():
    words = [["a", "b"], ["c", "d"]]
    padded = dv.pad(words, [[1, 0], [0, 1]], constant_values="PAD")
    pad = b"PAD"
    assert padded.numpy().tolist() == [[pad] * 3, [b"a", b"b", pad], [b"c", b"d", pad]]
    assert dv.pad(["a"], [[1, 1]]).numpy().tolist() == [b"", b"a", b""]
    assert dv.pad(["a"], [[1, 0]], constant_values=dv.constant("z")).numpy().tolist() == [
        b"z",
        b"a",
    ]


def test_a_derivative_of_a_power_stays_within_half_precision():
    """6^6 log 6 does not, where it is multiplied by the incoming gradient last."""
    with dv.GradientTape() as tape:
        x = dv.constant([6.0, 6.0], dv.float16)
        tape.watch(x)
        y = dv.pow(dv.constant([6.0, 6.0], dv.float16), x)
    gradient = tape.gradient(y, x, output_gradients=dv.constant([0.0, 0.5], dv.float16))
    assert gradient.numpy().tolist() == [0.0, 41792.0]


def test_errors_name_the_example_that_is_wrong():
    def example(*numbers):
        feature = dv.data.Feature(float_list=dv.data.FloatList(value=numbers))
        features = dv.data.Features(feature={"a": feature} if numbers else {})
        return dv.data.Example(features=features).SerializeToString()

    def parse(rows, **kwargs):
        features = {"a": dv.FixedLenFeature([1, 3], dv.float32)}
        return dv.parse_example(rows, features, **kwargs)["a"].numpy()

    rows, names = [example(1, 1, 3), example(-1, -1)], ["passing", "failing"]
    wrong = r"Name: failing, Key: a, Index: 1\.  Number of float values != expected"
    with pytest.raises(dv.errors.InvalidArgumentError, match=wrong):
        parse(rows, example_names=names)
    with pytest.raises(dv.errors.InvalidArgumentError, match="Name: <unknown>, Key: a, Index: 1"):
        parse(rows)
    absent = r"Name: it, Feature: a \(data type: float\) is required"
    with pytest.raises(dv.errors.InvalidArgumentError, match=absent):
        parse([example()], example_names=["it"])
    with pytest.raises(dv.errors.InvalidArgumentError, match=r"1 vs\. 2: give a name for each"):
        parse(rows, example_names=["one"])


def test_one_string_of_several_is_an_array(graph):
    """It was Python's bytes where it was taken by its number, out of a list or an example."""
    given = tf.placeholder(tf.string, [None])
    words = tf.TensorArray(tf.string, 2, clear_after_read=False).unstack(given)
    turned = tf.TensorArray(tf.string, 2, clear_after_read=False).scatter([1, 0], given)
    example = tf.train.Example(
        features=tf.train.Features(
            feature={"x": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"a\x00"]))}
        )
    ).SerializeToString()
    # An example is a sequence example without frames too: its features have the same number.
    wanted = {"x": tf.FixedLenFeature([], tf.string)}
    taken = [
        tf.gather(given, 0),
        tf.gather_nd(given, [0]),
        words.read(0),
        words.gather([0])[0],
        turned.read(1),
        turned.stack()[1],
        tf.parse_single_example(given[1], wanted)["x"],
        tf.parse_single_sequence_example(given[1], wanted)[0]["x"],
    ]
    with tf.Session() as sess:
        found = sess.run([tf.expand_dims(each, 0) for each in taken], {given: [b"a\x00", example]})
    assert [each.tolist() for each in found] == [[b"a\x00"]] * len(taken)
