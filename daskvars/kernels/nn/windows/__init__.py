"""What slides windows over images: where windows are, what they see, and the poolings.

- ``sliding``: how a window slides, as shapes alone: rules of shapes ask it as kernels do.
- ``patches``: an image cut into what windows see, a block of a cache's size at a time; images in
  another format are turned around here, and numbers of few bits get the dtype they are computed in.
- ``strips``: cut into what one row of a window sees, for filters of few channels.
- ``phases``: pixels that are a stride apart, side by side, for what is added tap by tap.
- ``convolving``: what convolutions of images share: their formats, dtypes and windows.
- ``pooling``: the maximum and the mean of a window; ``fractional_pooling``: of windows of unequal
  sizes, which are given by where they begin; ``morphology``: the maximum of pixels plus a filter.

A *window* is a rectangle of pixels, a *tap* a pixel's place in its window, and a *patch* what a
window sees, channels and all. Pixels outside of the image never win a maximum, count for no mean,
and are zeros to a convolution. Where a maximum occurs several times in a window, its first place
in row-major order takes the gradient.

The convolutions beside this room are products over the same patches.
"""
