"""Kernels of boxes: rectangles [y1, x1, y2, x2], of which 0 and 1 are the borders of an image."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse

from daskvars.backend import Array, ArrayModule
from daskvars.device_array import host_kernel
from daskvars.dtypes import DType
from daskvars.errors import invalid
from daskvars.kernels.gather_scatter.segments import check_ids, segment_sum
from daskvars.kernels.math.row_sums import as_matrix

COLORS = (  # of TensorFlow's boxes, one after the other
    (1, 1, 0, 1),
    (0, 0, 1, 1),
    (1, 0, 0, 1),
    (0, 1, 0, 1),
    (0.5, 0, 0.5, 1),
    (0.5, 0.5, 0, 1),
    (0.5, 0, 0, 1),
    (0, 0, 0.5, 1),
    (0, 1, 1, 1),
    (1, 0, 1, 1),
)
# Boxes that are compared with all those taken before them at once (m, 10,000 boxes of which 1000
# stay: 32, 64, 128, 256 at once 8.1, 7.0, 10.9, 14.6 ms; one of these after the other 349).
BOXES_AT_ONCE = 64

# What gives how much each of some boxes overlaps each of others, of their numbers.
Overlaps: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]


# -- crops that are resized --------------------------------------------------------------------


def crop_and_resize(
    xp: ArrayModule,
    image: Array,
    boxes: Array,
    box_ind: Array,
    *,
    crop_size: tuple[int, int],
    method: str,
    extrapolation_value: float,
    dtype: DType,
) -> Array:
    """Give for each box its part of its image, [boxes, *crop_size, channels]."""
    check_ids(xp, box_ind, size=image.shape[0], what="box_index")
    _check_sizes(image.shape[1:3], crop_size)
    given = image.astype(np.promote_types(dtype.np, np.float32), copy=False)
    corners = _corners(xp, boxes, image.shape, crop_size, method)
    if xp is np:
        matrix = _corner_matrix(corners, box_ind, image.shape, given.dtype)
        result = (matrix @ as_matrix(given)).reshape(len(boxes), *crop_size, image.shape[3])
    else:
        result = 0
        for rows, columns, weight in corners:
            pixels = given[box_ind.reshape(-1, 1, 1), rows, columns]
            pixels *= weight[..., None].astype(given.dtype)
            result = result + pixels
    result[_outside(xp, boxes, image.shape, crop_size)] = extrapolation_value
    return result.astype(dtype.np, copy=False)


def crop_and_resize_grad_image(
    xp: ArrayModule,
    dy: Array,
    boxes: Array,
    box_ind: Array,
    *,
    image_size: tuple[int, ...],
    method: str,
    dtype: DType,
) -> Array:
    """Give the gradient by the images, of `image_size`."""
    batch, height, width = image_size[:3]
    check_ids(xp, box_ind, size=batch, what="box_index")
    inside = ~_outside(xp, boxes, image_size, dy.shape[1:3])
    corners = [
        (rows, columns, xp.where(inside, weight, 0))
        for rows, columns, weight in _corners(xp, boxes, image_size, dy.shape[1:3], method)
    ]
    if xp is np:
        work = np.promote_types(dy.dtype, np.float32)
        matrix = _corner_matrix(corners, box_ind, image_size, work)
        total: Any = matrix.T @ as_matrix(dy.astype(work, copy=False))
    else:
        total = 0
        for rows, columns, weight in corners:
            places = (box_ind.reshape(-1, 1, 1).astype(np.int64) * height + rows) * width + columns
            total = total + segment_sum(
                xp,
                as_matrix(dy * weight[..., None].astype(dy.dtype)),
                places.reshape(-1),
                num_segments=batch * height * width,
            )
    return total.reshape(batch, height, width, dy.shape[3]).astype(dtype.np, copy=False)


def crop_and_resize_grad_boxes(
    xp: ArrayModule, dy: Array, image: Array, boxes: Array, box_ind: Array
) -> Array:
    """Give the gradient by the boxes, [boxes, 4], of crops by linear interpolation."""
    check_ids(xp, box_ind, size=image.shape[0], what="box_index")
    size = dy.shape[1:3]
    inside = ~_outside(xp, boxes, image.shape, size)
    down, across = (_places(xp, boxes, axis, image.shape[1 + axis], size[axis]) for axis in (0, 1))
    spots = [(xp.floor(x).astype(np.int64), xp.ceil(x).astype(np.int64)) for x in (down, across)]
    shares = [x - xp.floor(x) for x in (down, across)]
    limits = [n - 1 for n in image.shape[1:3]]
    (top, bottom), (left, right) = (
        [xp.clip(x, 0, limit) for x in pair] for pair, limit in zip(spots, limits, strict=True)
    )
    which = box_ind.reshape(-1, 1, 1)

    def pixels(rows: Any, columns: Any) -> Any:
        return image[which, rows[:, :, None], columns[:, None, :]].astype(dy.dtype, copy=False)

    corners = [pixels(row, column) for row in (top, bottom) for column in (left, right)]
    y_share, x_share = shares[0][:, :, None, None], shares[1][:, None, :, None]
    top_left, top_right, bottom_left, bottom_right = corners
    slope_y = (1 - x_share) * (bottom_left - top_left) + x_share * (bottom_right - top_right)
    slope_x = (1 - y_share) * (top_right - top_left) + y_share * (bottom_right - bottom_left)
    parts = []
    for axis, slope in enumerate((slope_y, slope_x)):
        moved = xp.where(inside, (slope * dy).sum(axis=3), 0).sum(axis=2 - axis)
        far = _shares_of_end(xp, size[axis], dy.dtype) * limits[axis]
        parts.append(((moved * (limits[axis] - far)).sum(axis=1), (moved * far).sum(axis=1)))
    (y1, y2), (x1, x2) = parts
    return xp.stack([y1, x1, y2, x2], axis=1).astype(boxes.dtype, copy=False)


def _corner_matrix(
    corners: list[tuple[Any, Any, Any]], box_ind: Array, shape: tuple[int, ...], dtype: Any
) -> Any:
    """Return what makes the pixels of all crops, as rows, of those of images of `shape`."""
    batch, height, width = shape[:3]
    first_rows = box_ind.reshape(-1, 1, 1).astype(np.int64) * height
    places = np.stack([(first_rows + rows) * width + columns for rows, columns, _ in corners], -1)
    weights = np.stack([weight for *_, weight in corners], -1).astype(dtype, copy=False)
    starts = np.arange(0, places.size + 1, len(corners))
    parts = weights.reshape(-1), places.reshape(-1), starts
    return scipy.sparse.csr_array(parts, (len(starts) - 1, batch * height * width))


def _check_sizes(given: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if 0 in given or min(wanted) < 1:
        raise invalid(
            f"image dimensions and crop_size must be positive, got images of {given} and {wanted}"
        )


def _shares_of_end(xp: ArrayModule, count: int, dtype: Any) -> Any:
    """Return how much of each place is the box's end rather than its beginning."""
    if count == 1:
        return xp.full(1, 0.5, dtype)
    return xp.arange(count, dtype=dtype) / (count - 1)


def _places(xp: ArrayModule, boxes: Array, axis: int, size: int, count: int) -> Any:
    """Return where pixels of the crops lie along a dimension of the image, [boxes, count]."""
    first, last = boxes[:, axis : axis + 1], boxes[:, axis + 2 : axis + 3]
    if count == 1:
        return 0.5 * (first + last) * (size - 1)
    step = (last - first) * ((size - 1) / (count - 1))
    return first * (size - 1) + xp.arange(count, dtype=boxes.dtype) * step


def _outside(xp: ArrayModule, boxes: Array, shape: tuple[int, ...], size: tuple[int, ...]) -> Any:
    """Return which pixels of the crops are outside of the image, [boxes, *size]."""
    found = []
    for axis in (0, 1):
        places = _places(xp, boxes, axis, shape[1 + axis], size[axis])
        found.append((places < 0) | (places > shape[1 + axis] - 1) | xp.isnan(places))
    return found[0][:, :, None] | found[1][:, None, :]


def _corners(
    xp: ArrayModule, boxes: Array, shape: tuple[int, ...], size: tuple[int, ...], method: str
) -> list[tuple[Any, Any, Any]]:
    """Return (rows, columns, weights) of the pixels that each pixel of the crops is made of."""
    sides = []
    for axis in (0, 1):
        n = shape[1 + axis]
        places = xp.clip(_places(xp, boxes, axis, n, size[axis]), 0, n - 1)
        places = xp.where(xp.isnan(places), 0, places)
        if method == "nearest":
            sides.append([(xp.floor(places + 0.5).astype(np.int64), xp.ones_like(places))])
        else:
            below = xp.floor(places)
            share = places - below
            ends = (below.astype(np.int64), 1 - share), (xp.ceil(places).astype(np.int64), share)
            sides.append([*ends])
    return [
        (rows[:, :, None], columns[:, None, :], heavy[:, :, None] * wide[:, None, :])
        for rows, heavy in sides[0]
        for columns, wide in sides[1]
    ]


# -- boxes that overlap ------------------------------------------------------------------------


@host_kernel
def non_max_suppression(
    xp: ArrayModule,
    boxes: Array,
    scores: Array,
    *,
    max_output_size: int,
    iou_threshold: float,
    score_threshold: float,
) -> Array:
    """Give the boxes of the highest scores that do not overlap one taken before too much."""
    overlaps = _overlaps_of(np.asarray(boxes))
    return _taken(np.asarray(scores), overlaps, max_output_size, iou_threshold, score_threshold)


@host_kernel
def non_max_suppression_overlaps(
    xp: ArrayModule,
    overlaps: Array,
    scores: Array,
    *,
    max_output_size: int,
    overlap_threshold: float,
    score_threshold: float,
) -> Array:
    """Give the boxes of the highest scores, given how much each overlaps each other."""
    table = np.asarray(overlaps)
    return _taken(
        np.asarray(scores),
        lambda these, others: table[these[:, None], others],
        max_output_size,
        overlap_threshold,
        score_threshold,
    )


@host_kernel
def combined_non_max_suppression(
    xp: ArrayModule,
    boxes: Array,
    scores: Array,
    *,
    max_output_size_per_class: int,
    max_total_size: int,
    iou_threshold: float,
    score_threshold: float,
    size: int,
    clip_boxes: bool,
) -> tuple[Array, Array, Array, Array]:
    """Give the boxes of each image that stay, of all classes together, and how many they are.

    Boxes [batch, size, 4], scores and classes [batch, size], counts [batch].
    """
    boxes, scores = np.asarray(boxes), np.asarray(scores)
    batch, _, num_classes = scores.shape
    limits = max_output_size_per_class, iou_threshold, score_threshold
    found = np.zeros((batch, size, 4), boxes.dtype)
    of_found, classes = (np.zeros((batch, size), scores.dtype) for _ in range(2))
    counts = np.zeros(batch, np.int32)
    for image in range(batch):
        kept = []
        for number in range(num_classes):
            own = boxes[image, :, number if boxes.shape[2] > 1 else 0]
            taken = _taken(scores[image, :, number], _overlaps_of(own), *limits)
            kept.append((own[taken], scores[image, taken, number], np.full(len(taken), number)))
        near, high, which = (np.concatenate(part) for part in zip(*kept, strict=True))
        best = np.argsort(-high.astype(np.float64), kind="stable")[: min(max_total_size, size)]
        counts[image] = len(best)
        found[image, : len(best)] = np.clip(near[best], 0, 1) if clip_boxes else near[best]
        of_found[image, : len(best)], classes[image, : len(best)] = high[best], which[best]
    return found, of_found, classes, counts


def _overlaps_of(boxes: np.ndarray) -> Overlaps:
    """Return what gives the shares of their areas that boxes have in common with others."""
    corners = boxes.astype(np.float32).reshape(-1, 2, 2)
    low, high = corners.min(axis=1), corners.max(axis=1)
    areas = (high - low).prod(axis=1)
    # One that has no area, or is none, shares nothing: as a point within an infinite area.
    is_none = ~(areas > 0)
    low[is_none] = high[is_none] = 0
    areas[is_none] = np.inf
    sides = [(low[:, axis].copy(), high[:, axis].copy()) for axis in (0, 1)]

    def overlaps(these: np.ndarray, others: np.ndarray) -> np.ndarray:
        down, across = (
            np.minimum(last[these, None], last[others])
            - np.maximum(first[these, None], first[others])
            for first, last in sides
        )
        shared = np.maximum(down, 0) * np.maximum(across, 0)
        return shared / (areas[these, None] + areas[others] - shared)

    return overlaps


def _taken(
    scores: np.ndarray, overlaps: Overlaps, most: int, threshold: float, lowest: float
) -> np.ndarray:
    """Return the boxes of the highest scores that overlap none before them too much.

    They are gone through in blocks: what overlaps a box of an earlier block is found at once.
    """
    order = np.argsort(-scores.astype(np.float64), kind="stable")
    left = order[scores[order] > lowest]
    taken = left[:0]
    for start in range(0, len(left), BOXES_AT_ONCE):
        block = left[start : start + BOXES_AT_ONCE]
        if taken.size:
            block = block[(overlaps(block, taken) <= threshold).all(axis=1)]
        taken = np.concatenate([taken, block[_apart(overlaps(block, block) <= threshold)]])
        if len(taken) >= most:
            break
    return taken[: max(most, 0)].astype(np.int32)


def _apart(is_apart: np.ndarray) -> list[int]:
    """Return the boxes that are apart from all that are returned before them.

    Args:
      is_apart: of each box, whether it is apart from each.
    """
    free, found = np.ones(len(is_apart), bool), []
    for number, of_number in enumerate(np.ascontiguousarray(is_apart.T)):
        if free[number]:
            found.append(number)
            free &= of_number
    return found


# -- boxes that are drawn ----------------------------------------------------------------------


@host_kernel
def draw_bounding_boxes(xp: ArrayModule, images: Array, boxes: Array, colors: Any = None) -> Array:
    """Give images with the outlines of their boxes, one pixel wide."""
    drawn = np.array(images)
    _, height, width, depth = drawn.shape
    table = np.array(COLORS if colors is None or not len(colors) else colors, np.float32)
    if colors is None and depth == 1:
        table = np.ones((1, 1), np.float32)
    limits = np.array([height - 1, width - 1], np.float32)
    for image, of_image in zip(drawn, np.asarray(boxes), strict=True):
        for number, box in enumerate(of_image):
            color = table[number % len(table)][:depth].astype(drawn.dtype)
            _draw(image, (box.reshape(2, 2) * limits).astype(np.int64), color)
    return drawn


def _draw(image: np.ndarray, box: np.ndarray, color: np.ndarray) -> None:
    (top, left), (bottom, right) = box.tolist()
    height, width = image.shape[:2]
    if top > bottom or left > right or top >= height or bottom < 0 or left >= width or right < 0:
        return
    rows = slice(max(top, 0), min(bottom, height - 1) + 1)
    columns = slice(max(left, 0), min(right, width - 1) + 1)
    if top >= 0:
        image[top, columns] = color
    if bottom < height:
        image[bottom, columns] = color
    if left >= 0:
        image[rows, left] = color
    if right < width:
        image[rows, right] = color


# -- a box by chance ---------------------------------------------------------------------------


@host_kernel
def sample_distorted_box(
    xp: ArrayModule,
    key: tuple[int, int],
    image_size: Array,
    boxes: Array,
    *,
    min_object_covered: float,
    aspect_ratio_range: tuple[float, float],
    area_range: tuple[float, float],
    max_attempts: int,
    use_image_if_no_bounding_boxes: bool,
) -> tuple[Any, Any, Any]:
    """Give (begin [3], size [3], box [1, 1, 4]) of a part of an image that covers an object."""
    sizes, objects = np.asarray(image_size), np.asarray(boxes, np.float64).reshape(-1, 4)
    height, width = int(sizes[0]), int(sizes[1])
    if not len(objects):
        if not use_image_if_no_bounding_boxes:
            raise invalid(
                "No bounding boxes provided as input. One must enable "
                "use_image_if_no_bounding_boxes if you wish to not provide any bounding boxes."
            )
        objects = np.array([[0.0, 0.0, 1.0, 1.0]])
    if objects.min() < 0 or objects.max() > 1:
        raise invalid("All bounding box coordinates must be in [0.0, 1.0]")
    rng = np.random.Generator(np.random.Philox(key=np.array(key, np.uint64)))
    pixels = objects * [height, width, height, width]
    least, most = (part * height * width for part in area_range)
    top, left, rows, columns = 0, 0, height, width
    for _ in range(max_attempts):
        area = rng.uniform(*area_range) * height * width
        ratio = rng.uniform(*aspect_ratio_range)
        h = round((area / ratio) ** 0.5)
        w = round(h * ratio)
        is_within = 0 < h <= height and 0 < w <= width
        if not is_within or not least <= h * w <= most:
            continue
        y, x = int(rng.integers(height - h + 1)), int(rng.integers(width - w + 1))
        if _covers(pixels, (y, x, y + h, x + w), min_object_covered):
            top, left, rows, columns = y, x, h, w
            break
    kind = sizes.dtype
    box = [top / height, left / width, (top + rows) / height, (left + columns) / width]
    return (
        np.array([top, left, 0], kind),
        np.array([rows, columns, -1], kind),
        np.array(box, np.float32).reshape(1, 1, 4),
    )


def _covers(objects: np.ndarray, part: tuple[int, ...], least: float) -> bool:
    """Return whether a part has enough of one of the objects."""
    sides = np.minimum(objects[:, 2:], part[2:]) - np.maximum(objects[:, :2], part[:2])
    areas = (objects[:, 2:] - objects[:, :2]).prod(axis=1)
    shared = np.maximum(sides, 0).prod(axis=1)
    return bool(((areas > 0) & (shared >= least * areas)).any())
