"""Several threads that build one graph."""

import daskvars.v1 as tf
from tests.at_once import at_once


def test_names_and_numbers_are_unique(switching_often):
    graph = tf.Graph()

    def build():
        with graph.as_default():
            for i in range(100):
                tf.constant(i, name="c")

    at_once(*[build] * 8)
    operations = graph.get_operations()
    assert {op.name for op in operations} == {"c", *(f"c_{i}" for i in range(1, 800))}
    assert sorted(op.id for op in operations) == list(range(800))
    assert all(graph.get_operation_by_name(op.name) is op for op in operations)


def test_names_asked_for_without_taking_them():
    graph = tf.Graph()
    assert [graph.unique_name("a", mark_as_used=False) for _ in range(2)] == ["a", "a"]
    assert [graph.unique_name(name) for name in ("a", "a_1", "A", "a")] == [
        "a",
        "a_1",
        "A_2",
        "a_3",
    ]
    assert graph.unique_name("a", mark_as_used=False) == "a_4"
    assert graph.unique_name("a") == "a_4"
    assert graph.unique_name("a_1") == "a_1_1"
