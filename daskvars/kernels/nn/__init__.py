"""Neural networks: convolution, pooling, normalization, losses on logits.

- ``windows``: how a window slides over an image; ``patches``: an image cut into what windows see.
- ``convolution``, ``convolution3d``, ``depthwise``, ``pooling``: products over patches, a block of
  a cache's size at a time, and their gradients.
- ``fractional_pooling``: windows of unequal sizes; ``morphology``: windows that add a filter.
- ``batch_norm``, ``normalization``, ``loss``: moments, softmax and losses, which share one
  exponential with their gradients.
- ``candidates``: classes drawn to stand for all; ``ctc``: labels without their times.
- ``activation``, ``bias``, ``dropout``, ``ranking`` (the k largest): the small ones.

A kernel and its gradient's stand side by side. Image formats are an argument (``data_format``), and
channels-last is what is computed in.
"""
