"""Neural networks' ops; `daskvars.nn` lists their public names.

Rooms: ``convolution``, ``normalization``. Files: ``pooling``, ``pooling_forms``; ``windows``, how
convolutions and poolings take strides, paddings and formats; ``activation``, ``bias``, ``dropout``,
``embedding``; ``softmax``, ``loss``, ``ranking``, ``weighting``; ``candidates`` that are drawn from
many classes, and ``sampled_loss`` on them.

The batch may be cut in all of them; where another dimension may be, the op's pattern says it.
"""
