"""Recurrent networks: a cell, applied step by step.

``cell`` is what one step is; ``cells`` the usual ones, ``cell_wrappers`` go around a cell,
``rnn_cell`` lists their names. ``rnn`` unrolls a cell or runs it in a loop, ``bidirectional`` in
both directions of time, ``raw_rnn`` under a function's control. ``batch_and_time``: which axis is
which."""
