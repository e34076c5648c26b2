"""Updates in place of several regions: none of them sees what another has changed."""

import numpy as np
import pytest

import daskvars.v1 as tf

SIZE = 1 << 19  # large enough to be changed in place


@pytest.mark.parametrize("chunks", [SIZE, SIZE // 2])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_variable_is_read_before_it_is_changed_elsewhere(chunks, is_first):
    with tf.Graph().as_default(), tf.Session() as session:
        names = ("a", "b") if is_first else ("z", "b")
        a = tf.get_variable(names[0], initializer=np.zeros(SIZE, "f4"), chunks=chunks)
        b = tf.get_variable(names[1], initializer=np.ones(SIZE, "f4"), chunks=SIZE)
        before_a, before_b = tf.identity(a), tf.identity(b)
        step = tf.group(a.assign(before_a * 0.5 + before_b), b.assign(before_b + 1.0))
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(step)
        found_a, found_b = session.run([a, b])
    np.testing.assert_array_equal(found_a, np.full(SIZE, 4.25, "f4"))
    np.testing.assert_array_equal(found_b, np.full(SIZE, 4.0, "f4"))
