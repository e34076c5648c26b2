"""Summaries of tf.contrib.deprecated: tags as they are given, several in one."""

import pytest

import daskvars.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")

old = tf.contrib.deprecated


def values_of(summary):
    with tf.Session() as sess:
        return tf.Summary.FromString(sess.run(summary)).value


def test_scalars_have_the_tags_that_are_given():
    with tf.name_scope("scope"):
        one = old.scalar_summary("a tag: 1", tf.constant(3.0))
        many = old.scalar_summary([["a", "b"], ["c", "d"]], [[1, 2], [3, 4]], name="many")
    assert one.op.name == "scope/ScalarSummary" and many.op.name == "scope/many"
    assert one.shape.as_list() == many.shape.as_list() == []
    found = [(value.tag, value.simple_value) for value in values_of(one)]
    assert found == [("a tag: 1", 3.0)]
    found = [(value.tag, value.simple_value) for value in values_of(many)]
    assert found == [("a", 1.0), ("b", 2.0), ("c", 3.0), ("d", 4.0)]


def test_all_are_merged_and_are_in_collections():
    old.histogram_summary("h h", [1.0, 2.0, 2.0])
    old.image_summary("pictures", tf.zeros([3, 4, 4, 3]), max_images=2)
    old.audio_summary("sounds", tf.zeros([1, 8]), 8000.0, max_outputs=1)
    apart = old.scalar_summary("apart", 1.0, collections=["mine"])
    tags = [value.tag for value in values_of(old.merge_all_summaries())]
    assert tags == ["h h", "pictures/image/0", "pictures/image/1", "sounds/audio"]
    assert tf.get_collection("mine") == [apart]
    both = old.merge_summary([apart, tf.summary.scalar("new", 2.0)])
    assert [value.tag for value in values_of(both)] == ["apart", "new"]


def test_what_is_refused():
    with pytest.raises(ValueError, match="must have one shape"):
        old.scalar_summary(["a", "b"], [1.0])
    with pytest.raises(ValueError, match="known when the graph is built"):
        old.scalar_summary(tf.placeholder(tf.string, []), 1.0)
    with pytest.raises(ValueError, match="has one tag, got"):
        old.histogram_summary(["a"], [1.0])
    with pytest.raises(ValueError, match=r"summary 'in': .* has rank 4"):
        old.image_summary("in", tf.zeros([4, 4]))
