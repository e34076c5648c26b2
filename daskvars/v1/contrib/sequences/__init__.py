"""Networks that write sequences, the names of ``tf.contrib.seq2seq`` and ``legacy_seq2seq``.

A *decoder* is one step of writing: a cell, and what becomes of its output. ``decoders`` runs one in
a `while_loop` until all sequences of a batch are *finished*. What comes next is a *helper*'s to say
(``next_inputs``): the target itself while training, or what the step before chose. ``beam_search``
keeps the best of several beginnings of a sequence, its *beams*, which lie beside the batch as
``[batch, beam, ...]``, and for the cell in it, as ``[batch * beam, ...]``.

``attention`` scores each place of a *memory* for a *query*; from the scores come *alignments*, the
share of each place. ``attention_wrapper`` is the cell that looks there at each step.

``legacy`` unrolls lists of steps instead, under the variables' names of the models that did.
``structures`` are shapes and rows of what nests.
"""
