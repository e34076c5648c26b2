"""Boxes: crops, what overlaps too much, outlines, and a part of an image by chance.

A box is [y1, x1, y2, x2], of which 0 is the first and 1 the last row or column of an image.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from daskvars import dtypes, shapes
from daskvars.dtypes import DType
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import (
    NO_GRADIENT,
    UNDEFINED_GRADIENT,
    OpDef,
    Spec,
    without_gradient,
)
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.interpreter import apply
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.image import boxes as kernels
from daskvars.ops.array.constant import full_shape, shape as shape_of
from daskvars.ops.array.padding import pad
from daskvars.ops.nn.windows.arguments import image_shape, of_batch
from daskvars.ops.random.distributions import drawn_with
from daskvars.ops.rules import axes
from daskvars.shapes import RankedShape, Shape
from daskvars.surface.accepted import accepts

# -- crops that are resized --------------------------------------------------------------------

_METHODS = ("bilinear", "nearest")
_KINDS = {
    "crop_size": kinds_of.either(kinds_of.NONE, kinds_of.INTS),
    "image_size": kinds_of.SHAPE,
    "method": kinds_of.TEXT,
    "extrapolation_value": kinds_of.FLOAT,
    "dtype": kinds_of.DTYPE,
}


def _boxes(boxes: Spec, box_ind: Spec) -> int | None:
    """Return how many boxes there are. Raises ValueError where the shapes do not fit."""
    if not shapes.compatible(boxes.shape, (None, 4)):
        raise ValueError(f"boxes must be [num_boxes, 4], got {shapes.show(boxes.shape)}")
    if not shapes.compatible(box_ind.shape, (None,)):
        raise ValueError(f"box_ind must be [num_boxes], got {shapes.show(box_ind.shape)}")
    counts = [spec.shape[0] for spec in (boxes, box_ind) if spec.shape is not None]
    known = {count for count in counts if count is not None}
    if len(known) > 1:
        raise ValueError(f"boxes and box_ind differ: {counts[0]} boxes, {counts[1]} indices")
    return known.pop() if known else None


def _cropped(inputs: Sequence[Spec], *, crop_size: Any, dtype: DType, **attrs: Any) -> Spec:
    image = image_shape(inputs[0], "image")
    count = _boxes(*inputs[1:3])
    size = axes.sizes_of(crop_size, inputs[3:]) or (None, None)
    if len(size) != 2:
        raise ValueError(f"crop_size must be 2 numbers, height and width; got {len(size)}")
    if 0 in image[1:3] or any(n is not None and n < 1 for n in size):
        raise ValueError(
            f"image dimensions and crop_size must be positive, got images of "
            f"{shapes.show(image[1:3])} and {shapes.show(size)}"
        )
    return Spec(dtype, (count, *size, image[3]))


def _crop_gradient(op: Operation, dy: Tensor) -> list[Tensor | None]:
    image, boxes, box_ind = op.inputs[:3]
    method = op.attrs["method"]
    of_image = None
    if image.dtype.is_floating:
        of_image = apply(
            CROP_GRAD_IMAGE,
            dy,
            boxes,
            box_ind,
            image_size=full_shape(image),
            method=method,
            dtype=image.dtype.base_dtype,
        )
    linear = method == "bilinear"
    of_boxes = apply(CROP_GRAD_BOXES, dy, image, boxes, box_ind) if linear else None
    return [of_image, of_boxes, None]


CROP_AND_RESIZE = OpDef(
    "CropAndResize",
    "image:R, boxes:D, box_ind:I",
    infer=_cropped,
    pattern=Contraction("___c,n_,n->n__c", None),
    kernel=kernels.crop_and_resize,
    gradient=_crop_gradient,
    operands=("crop_size",),
    attributes=_KINDS,
)


def _of_image(inputs: Sequence[Spec], *, image_size: Any, dtype: DType, **attrs: Any) -> Spec:
    channels = image_shape(inputs[0], "grads")[3]
    _boxes(*inputs[1:3])
    return Spec(dtype, (*(image_size or (None,) * 4)[:3], channels))


CROP_GRAD_IMAGE: OpDef = without_gradient(
    "CropAndResizeGradImage",
    "grads:D, boxes:D1, box_ind:I",
    infer=_of_image,
    kernel=kernels.crop_and_resize_grad_image,
    pattern=Contraction("n__c,n_,n->___c"),
    gradient=UNDEFINED_GRADIENT,
    operands=("image_size",),
    attributes=_KINDS,
)
CROP_GRAD_BOXES: OpDef = without_gradient(
    "CropAndResizeGradBoxes",
    "grads:D, image:R, boxes:D1, box_ind:I",
    infer=lambda inputs: Spec(inputs[2].dtype, (_boxes(*inputs[2:4]), 4)),
    kernel=kernels.crop_and_resize_grad_boxes,
    pattern=Contraction("n___,____,n_,n->n_", None),
    gradient=UNDEFINED_GRADIENT,
    attributes={},
)


def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_ind: TensorLike | None = None,
    crop_size: TensorLike | None = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: TensorLike | None = None,
) -> Tensor:
    """Return parts of images, all resized to one size.

    Args:
      image: [batch, height, width, channels] real.
      boxes: [boxes, 4] float32, which part; where y1 > y2 it is upside down.
      box_ind: [boxes] int32, of which image.
      crop_size: [2] integer, height and width of the results.
      method: "bilinear" or "nearest".
      extrapolation_value: what stands where a box is outside of its image.
      name: name of the operation, by default "CropAndResize".
      box_indices: the new name of `box_ind`.

    Returns:
      [boxes, *crop_size, channels] float32. It has gradients by `image` and, where the method is
      "bilinear", by `boxes`.

    Raises:
      ValueError: the shapes do not fit, or there is no such method.
      InvalidArgumentError: (when run) an index is of no image.

    Source: TensorFlow 1.15, ``tf.image.crop_and_resize``.

    >>> crop_and_resize([[[[1.0], [2.0], [3.0]]]], [[0, 0.5, 0, 1]], [0], [1, 2]).numpy().ravel()
    array([2., 3.], dtype=float32)
    """
    if method not in _METHODS:
        raise ValueError(f"method must be one of {', '.join(_METHODS)}, got {method!r}")
    which = axes.either(box_indices, box_ind, "box_indices", "box_ind")
    if which is None or crop_size is None:
        raise ValueError("crop_and_resize() needs box_ind and crop_size")
    return apply(
        CROP_AND_RESIZE,
        image,
        convert_to_tensor(boxes, dtype_hint=dtypes.float32),
        which,
        name=name,
        crop_size=axes.as_operand(crop_size),
        method=method,
        extrapolation_value=float(extrapolation_value),
        dtype=dtypes.float32,
    )


# -- boxes that overlap ------------------------------------------------------------------------


def _ranked(shape: Shape, rank: int, what: str) -> RankedShape:
    """Return a shape of some rank. Raises ValueError where it has another."""
    if shape is not None and len(shape) != rank:
        raise ValueError(f"Shape must be rank {rank} but is rank {len(shape)}: {what}")
    return (None,) * rank if shape is None else shape


def _suppression(type: str, signature: str, kernel: Any, threshold: str, boxes: Any) -> OpDef:
    def chosen(inputs: Sequence[Spec], **attrs: Any) -> Spec:
        what = "boxes [num_boxes, 4]" if boxes[1] else "overlaps [num_boxes, num_boxes]"
        count, of_each = _ranked(inputs[0].shape, 2, what)
        if not shapes.compatible((of_each,), boxes[1:]):
            raise ValueError(f"Dimension must be {boxes[1]} but is {of_each}: {what}")
        (num_scores,) = _ranked(inputs[1].shape, 1, "scores [num_boxes]")
        if not shapes.compatible((count,), (num_scores,)):
            raise ValueError(
                f"Dimensions must be equal, but are {count} and {num_scores}: {what} and scores"
            )
        for spec in inputs[2:]:
            _ranked(spec.shape, 0, "limits")
        return Spec(dtypes.int32, (None,))

    return without_gradient(
        type,
        signature,
        infer=chosen,
        kernel=kernel,
        operands=("max_output_size", threshold, "score_threshold"),
        attributes={
            "max_output_size": kinds_of.either(kinds_of.NONE, kinds_of.INT),
            threshold: kinds_of.either(kinds_of.NONE, kinds_of.FLOAT),
            "score_threshold": kinds_of.either(kinds_of.NONE, kinds_of.FLOAT),
        },
    )


NON_MAX_SUPPRESSION = _suppression(
    "NonMaxSuppressionV3",
    "boxes:D, scores:D",
    kernels.non_max_suppression,
    "iou_threshold",
    (None, 4),
)
NON_MAX_SUPPRESSION_OVERLAPS = _suppression(
    "NonMaxSuppressionWithOverlaps",
    "overlaps:D, scores:D",
    kernels.non_max_suppression_overlaps,
    "overlap_threshold",
    (None, None),
)


def _number(value: Any) -> Any:
    return value if axes.is_symbolic(value) else float(_scalar(value))


def _scalar(value: Any) -> Any:
    _ranked(numpy.shape(value), 0, "limits")
    return value


def _suppressed(
    definition: OpDef, boxes: Any, scores: Any, name: str, count: Any, numbers: dict[str, Any]
) -> Tensor:
    known = {key: _number(value) for key, value in numbers.items()}
    count = count if axes.is_symbolic(count) else int(_scalar(count))
    return apply(definition, boxes, scores, name=name, max_output_size=count, **known)


def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """Return which boxes to keep: the best, the best that does not overlap it too much, and so on.

    Args:
      boxes: [boxes, 4] floating.
      scores: [boxes] of the same dtype.
      max_output_size: scalar integer, how many are kept at most.
      iou_threshold: scalar, the area that two boxes share by the area of both, at most.
      score_threshold: scalar, boxes of this score and less are left out.
      name: name of the operation, by default "NonMaxSuppressionV3".

    Returns:
      [kept] int32, positions of boxes, the best first.

    Raises:
      ValueError: the shapes do not fit.

    Source: TensorFlow 1.15, ``tf.image.non_max_suppression``.

    >>> boxes = [[0.0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3]]
    >>> non_max_suppression(boxes, [0.5, 0.9, 0.3], 3).numpy().tolist()
    [1, 2]
    """
    numbers = {"iou_threshold": iou_threshold, "score_threshold": score_threshold}
    name = name or "non_max_suppression"
    return _suppressed(NON_MAX_SUPPRESSION, boxes, scores, name, max_output_size, numbers)


def non_max_suppression_overlaps(
    overlaps: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    overlap_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """Return which boxes to keep, given how much each overlaps each other.

    Args:
      overlaps: [boxes, boxes] floating.
      scores: [boxes] of the same dtype.
      max_output_size: see `non_max_suppression`, also for `score_threshold`.
      overlap_threshold: scalar, what is still no overlap.
      name: name of the operation, by default "NonMaxSuppressionWithOverlaps".

    Returns:
      [kept] int32.

    Source: TensorFlow 1.15, ``tf.image.non_max_suppression_overlaps``.

    >>> overlaps = [[1.0, 0.8, 0.1], [0.8, 1.0, 0.2], [0.1, 0.2, 1.0]]
    >>> non_max_suppression_overlaps(overlaps, [0.7, 0.9, 0.5], 3).numpy().tolist()
    [1, 2]
    """
    numbers = {"overlap_threshold": overlap_threshold, "score_threshold": score_threshold}
    name = name or "non_max_suppression_overlaps"
    return _suppressed(
        NON_MAX_SUPPRESSION_OVERLAPS, overlaps, scores, name, max_output_size, numbers
    )


def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: int,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Return which boxes to keep, and how many they are. See `non_max_suppression`.

    Args:
      boxes: see `non_max_suppression`, also for the arguments up to `score_threshold`.
      pad_to_max_output_size: fill the result with zeros up to its greatest size.
      name: name scope of the operations, by default "non_max_suppression_padded".

    Returns:
      [kept] or [max_output_size] int32, and [] int32.

    Source: TensorFlow 1.15, ``tf.image.non_max_suppression_padded``.

    >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9], [2.0, 2.0, 3.0, 3.0]]
    >>> kept, count = non_max_suppression_padded(
    ...     boxes, [0.7, 0.9, 0.5], 4, pad_to_max_output_size=True)
    >>> kept.numpy().tolist(), int(count)
    ([1, 2, 0, 0], 2)
    """
    with name_scope(name, "non_max_suppression_padded", [boxes, scores]):
        kept = non_max_suppression(boxes, scores, max_output_size, iou_threshold, score_threshold)
        count = shape_of(kept)[0]
        if pad_to_max_output_size:
            kept = pad(kept, [[0, max_output_size - count]])
            if not axes.is_symbolic(max_output_size):
                kept.set_shape([max_output_size])
        return kept, count


def _of_all_classes(inputs: Sequence[Spec], *, size: int, **attrs: Any) -> tuple[Spec, ...]:
    boxes, scores = inputs
    batch, count, each, four = _ranked(boxes.shape, 4, "boxes [batch, boxes, classes or 1, 4]")
    images, of_count, classes = _ranked(scores.shape, 3, "scores [batch, boxes, classes]")
    fits = shapes.compatible((batch, count, four), (images, of_count, 4))
    if not fits or (each != 1 and not shapes.compatible((each,), (classes,))):
        raise ValueError(
            "boxes must be [batch, boxes, classes or 1, 4] and scores [batch, boxes, classes], "
            f"got {shapes.show(boxes.shape)} and {shapes.show(scores.shape)}"
        )
    batch = images if batch is None else batch
    of_each = Spec(scores.dtype, (batch, size))
    counts = Spec(dtypes.int32, (batch,))
    return Spec(boxes.dtype, (batch, size, 4)), of_each, of_each, counts


COMBINED_NON_MAX_SUPPRESSION = without_gradient(
    "CombinedNonMaxSuppression",
    "boxes:D, scores:D",
    infer=_of_all_classes,
    kernel=kernels.combined_non_max_suppression,
    pattern=Contraction("b___,b__->b__,b_,b_,b", None),
    gradient=UNDEFINED_GRADIENT,
    attributes={
        "max_output_size_per_class": kinds_of.INT,
        "max_total_size": kinds_of.INT,
        "iou_threshold": kinds_of.FLOAT,
        "score_threshold": kinds_of.FLOAT,
        "size": kinds_of.DIMENSION,
        "clip_boxes": kinds_of.BOOL,
    },
)


def combined_non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size_per_class: int,
    max_total_size: int,
    iou_threshold: float = 0.5,
    score_threshold: float = float("-inf"),
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the best boxes of each image, suppressed by `non_max_suppression` class by class.

    Args:
      boxes: [batch, boxes, classes, 4] floating, or [batch, boxes, 1, 4] for all classes.
      scores: [batch, boxes, classes] of the same dtype.
      max_output_size_per_class: number, how many boxes of a class are kept at most.
      max_total_size: number, how many boxes of an image are kept at most.
      iou_threshold: number, see `non_max_suppression`.
      score_threshold: the same.
      pad_per_class: whether results have at most as many places as all classes together may fill.
      clip_boxes: whether corners of boxes are moved into the image, to between 0 and 1.
      name: name of the operation, by default "CombinedNonMaxSuppression".

    Returns:
      nmsed_boxes: [batch, size, 4], the best first, zeros where there are fewer; size is
        `max_total_size`.
      nmsed_scores: [batch, size], their scores.
      nmsed_classes: [batch, size] of the dtype of `scores`, their classes.
      valid_detections: [batch] int32, how many they are.

    Raises:
      ValueError: the shapes do not fit, or with `pad_per_class` the number of classes is not known.

    Source: TensorFlow 1.15, ``tf.image.combined_non_max_suppression``.

    >>> boxes = [[[[0.0, 0, 1, 1]], [[0, 0.1, 1, 1.1]], [[0, 2, 1, 3]]]]
    >>> scores = [[[0.5, 0.1], [0.9, 0.2], [0.3, 0.8]]]
    >>> _, found, classes, count = combined_non_max_suppression(
    ...     boxes, scores, 2, 3, clip_boxes=False)
    >>> [round(float(score), 2) for score in found[0]]
    [0.9, 0.8, 0.3]
    >>> classes.numpy().tolist(), count.numpy().tolist()
    ([[0.0, 1.0, 0.0]], [3])
    """
    per_class, size = int(_scalar(max_output_size_per_class)), int(_scalar(max_total_size))
    scores, total = convert_to_tensor(scores, dtype_hint=dtypes.float32), size
    if pad_per_class:
        num_classes = (scores.spec.shape or [None])[-1]
        if num_classes is None:
            raise ValueError("pad_per_class needs the number of classes, which scores do not say")
        size = min(size, per_class * num_classes)
    return apply(
        COMBINED_NON_MAX_SUPPRESSION,
        convert_to_tensor(boxes, scores.dtype.base_dtype),
        scores,
        name=name,
        max_output_size_per_class=per_class,
        max_total_size=total,
        iou_threshold=float(_scalar(iou_threshold)),
        score_threshold=float(_scalar(score_threshold)),
        size=size,
        clip_boxes=bool(clip_boxes),
    )


# -- boxes that are drawn ----------------------------------------------------------------------


def _with_outlines(inputs: Sequence[Spec], **attrs: Any) -> Spec:
    images = image_shape(inputs[0], "images")
    if not shapes.compatible(inputs[1].shape, (None, None, 4)):
        raise ValueError(f"boxes must be [batch, n, 4], got {shapes.show(inputs[1].shape)}")
    boxes = inputs[1].shape or (None,)
    if not shapes.compatible(images[:1], boxes[:1]):
        raise ValueError(f"{images[0]} images have boxes of {boxes[0]}")
    if images[3] not in (1, 3, 4, None):
        raise ValueError(
            f"Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA), got {images[3]}"
        )
    return of_batch(inputs[0].dtype, images, boxes[0])


def _drawing(type: str, signature: str, access: str, gradient: Any) -> OpDef:
    pattern, kernel = Contraction(access, None), kernels.draw_bounding_boxes
    return OpDef(type, signature, _with_outlines, pattern, kernel, gradient, attributes={})


DRAW_BOXES = _drawing("DrawBoundingBoxes", "images:D, boxes:D1", "n___,n__->n___", NO_GRADIENT)
DRAW_COLORED_BOXES = _drawing(
    "DrawBoundingBoxesV2",
    "images:D, boxes:D1, colors:D2",
    "n___,n__,__->n___",
    UNDEFINED_GRADIENT,
)


def draw_bounding_boxes(
    images: TensorLike, boxes: TensorLike, name: str | None = None, colors: TensorLike | None = None
) -> Tensor:
    """Return images with the outlines of boxes.

    Args:
      images: [batch, height, width, 1, 3 or 4] floating, from 0 to 1.
      boxes: [batch, n, 4] floating.
      name: name of the operation, by default "DrawBoundingBoxes".
      colors: [m, channels] floating, one after the other; those of TensorFlow by default.

    Returns:
      The images, shaped and typed as `images`. It has no gradient.

    Raises:
      ValueError: the shapes do not fit.

    Source: TensorFlow 1.15, ``tf.image.draw_bounding_boxes``.

    >>> draw_bounding_boxes(dv.zeros([1, 3, 3, 1]), [[[0.0, 0.0, 1.0, 1.0]]]).numpy()[0, ..., 0]
    array([[1., 1., 1.],
           [1., 0., 1.],
           [1., 1., 1.]], dtype=float32)
    """
    boxes = convert_to_tensor(boxes, dtype_hint=dtypes.float32)
    if colors is None:
        return apply(DRAW_BOXES, images, boxes, name=name)
    return apply(DRAW_COLORED_BOXES, images, boxes, colors, name=name)


# -- a box by chance ---------------------------------------------------------------------------


def _part(inputs: Sequence[Spec], **attrs: Any) -> tuple[Spec, Spec, Spec]:
    if not shapes.compatible(inputs[0].shape, (3,)):
        raise ValueError(
            f"image_size must be 3 numbers, height, width and channels; got shape "
            f"{shapes.show(inputs[0].shape)}"
        )
    boxes = inputs[1].shape
    if boxes is not None and (len(boxes) != 3 or boxes[2] not in (4, None)):
        raise ValueError(f"bounding_boxes must be [batch, n, 4], got {shapes.show(boxes)}")
    return (
        Spec(inputs[0].dtype, (3,)),
        Spec(inputs[0].dtype, (3,)),
        Spec(dtypes.float32, (1, 1, 4)),
    )


SAMPLE_BOX = without_gradient(
    "SampleDistortedBoundingBoxV2",
    "image_size:Z, bounding_boxes:D",
    infer=_part,
    kernel=kernels.sample_distorted_box,
    operands=("min_object_covered",),
    seeded=True,
)


@accepts("seed2")
def sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: TensorLike = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw a part of an image that has enough of one of some boxes.

    Args:
      image_size: [3] integer, height, width and channels.
      bounding_boxes: [batch, n, 4] floating, the boxes.
      seed: int, see `set_random_seed`.
      min_object_covered: scalar, how much of a box must be in the part.
      aspect_ratio_range: width by height, from 0.75 to 1.33 by default.
      area_range: how much of the image the part is, from 0.05 to 1 by default.
      max_attempts: how often to try, 100 by default; after that it is the whole image.
      use_image_if_no_bounding_boxes: without boxes take the image for one.
      name: name of the operation, by default "sample_distorted_bounding_box".

    Returns:
      begin: [3] of the dtype of `image_size`, for `slice`.
      size: [3] likewise; all channels.
      bboxes: [1, 1, 4] float32, for `draw_bounding_boxes`.

    Raises:
      InvalidArgumentError: (when run) there are no boxes, or one is outside of the image.

    Source: TensorFlow 1.15, ``tf.image.sample_distorted_bounding_box``; the numbers drawn are not
    TensorFlow's.

    >>> begin, size, bboxes = sample_distorted_bounding_box(
    ...     [8, 6, 3], [[[0.25, 0.25, 0.75, 0.75]]], seed=1, min_object_covered=1.0)
    >>> bool((begin.numpy() <= [2, 1, 0]).all())
    True
    >>> dv.slice(dv.ones([8, 6, 3]), begin, size).numpy().shape == (*size.numpy()[:2], 3)
    True
    """
    return apply(
        SAMPLE_BOX,
        image_size,
        convert_to_tensor(bounding_boxes, dtype_hint=dtypes.float32),
        name=name or "sample_distorted_bounding_box",
        min_object_covered=_number(min_object_covered),
        aspect_ratio_range=tuple(map(float, aspect_ratio_range or (0.75, 1.33))),
        area_range=tuple(map(float, area_range or (0.05, 1.0))),
        max_attempts=int(100 if max_attempts is None else max_attempts),
        use_image_if_no_bounding_boxes=bool(use_image_if_no_bounding_boxes),
        _seed=drawn_with(seed),
    )
