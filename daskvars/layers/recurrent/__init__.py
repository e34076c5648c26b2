"""Recurrent networks: a cell, applied step by step.

``cell`` is what one step is; ``cells`` the usual ones, ``cell_wrappers`` go around a cell,
``rnn_cell`` lists their names. ``rnn`` unrolls a cell or runs it in a loop, ``bidirectional`` in
both directions of time. ``batch_and_time``: which axis is which. (`raw_rnn`, a loop under a
function's control, is TensorFlow 1's: `daskvars.v1`.)

Nothing here is about parallel work: whether a loop over time is cut along the batch, and how, is
decided for all loops and branches in `daskvars.lowering.planner.cut_loops`."""
