"""Neural networks' ops; `daskvars.nn` lists their public names.

Rooms: ``windows``, what slides over images, poolings above all; ``convolution``; ``normalization``.
Files: ``activation``, ``bias``, ``dropout``, ``embedding``, ``embedding_sparse``; ``softmax``,
``loss``, ``ranking``, ``weighting``; ``ctc``, labels without their times.

The numbers, those of gradients too, are computed in the rooms and files of the same names in
`daskvars.kernels.nn`; here it stands which op is whose gradient, and what arguments mean.

The batch may be cut in all of them; where another dimension may be, the op's pattern says it.
"""
