"""Neural networks' ops; `daskvars.nn` lists their public names.

Rooms: ``convolution``, ``normalization``. Files: ``pooling``, ``pooling_by_rank``,
``fractional_pooling``, ``morphology``, ``dilated``; ``windows``, how convolutions and poolings
take strides, paddings and formats; ``activation``, ``bias``, ``dropout``, ``embedding``,
``embedding_sparse``; ``softmax``, ``loss``, ``ranking``, ``weighting``; ``ctc``, labels without
their times.

The numbers, those of gradients too, are computed in the files of the same names in
`daskvars.kernels.nn`; here it stands which op is whose gradient, and what arguments mean.

The batch may be cut in all of them; where another dimension may be, the op's pattern says it.
"""
