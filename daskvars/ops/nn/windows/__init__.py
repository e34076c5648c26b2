"""Windows that slide over images, as ops: poolings, and what convolutions share with them.

- ``arguments``: how strides, dilations, paddings, data formats and shapes of images are given, to
  convolutions too.
- ``pooling``: maxima and means of images' windows; ``pooling_by_rank``: the same in one and three
  dimensions, and by the rank of the input, made of these.
- ``fractional_pooling``: windows of unequal sizes; ``morphology``: windows that add a filter.
- ``dilated``: windows with holes as plain ones over the phases of an image, for any function.

The batch may be cut in all of them, and the channels where each is pooled on its own.
"""
