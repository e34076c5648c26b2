"""Neural networks' ops; `daskvars.nn` lists their public names.

``convolution`` (two dimensions, and what families of them are), ``convolution3d``,
``convolution_adjoints``, ``convolution_forms``; ``pooling``, ``pooling_forms``; ``windows``: how
all of these take strides, paddings and formats. ``activation``, ``bias``, ``dropout``,
``embedding``. ``softmax``, ``loss``, ``sampled_loss`` and the ``candidates`` that they draw,
``ranking``, ``weighting``. ``batch_norm``, ``layer_norm``, ``normalization``.

The batch may be cut in all of them; where another dimension may be, the op's pattern says it.
"""
