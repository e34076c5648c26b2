"""Kernels of images: resized, cut by boxes, in other colours, in and out of files.

`resizing` (by weights along rows and columns, and what gradients take back), `boxes` (crops that
are resized, boxes that overlap, drawn ones), `colors`, `patches` and `coding` (files, by Pillow,
and by `png` and `bmp` where Pillow does not do).
Images are [batch, height, width, channels] but where a kernel says otherwise.
"""
