"""Neural networks: convolution, pooling, normalization, losses on logits.

- ``windows``: a room: how windows slide over images, the patches that they see, and the poolings.
- ``convolution``, ``convolution3d``, ``depthwise``: products over patches, a block of a cache's
  size at a time, and their gradients.
- ``batch_norm``, ``normalization``, ``loss``: moments, softmax and losses, which share one
  exponential with their gradients.
- ``candidates``: classes drawn to stand for all; ``ctc``: labels without their times.
- ``activation``, ``bias``, ``dropout``, ``ranking`` (the k largest): the small ones.

A kernel and its gradient's stand side by side. Image formats are an argument (``data_format``), and
channels-last is what is computed in.
"""
