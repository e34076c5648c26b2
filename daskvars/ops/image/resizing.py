"""Images of another size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskvars import dtypes, shapes
from daskvars.dtypes import DType
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.interpreter import apply
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.image import resizing as kernels
from daskvars.ops.array.reshaping import expand_dims, identity, squeeze
from daskvars.ops.image.cropping import pad_to_bounding_box
from daskvars.ops.image.sizes import height_and_width, is_one_image, least, whole
from daskvars.ops.math.arithmetic import maximum, minimum, round, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.division import truediv
from daskvars.ops.nn.windows.arguments import image_shape
from daskvars.ops.rules import axes
from daskvars.surface.signatures import with_arguments_of


class ResizeMethod:
    """The ways to resize images, for `resize_images`.

    >>> image = [[[1.0], [3.0]]]
    >>> for method in (ResizeMethod.BILINEAR, ResizeMethod.NEAREST_NEIGHBOR):
    ...     dv.image.resize_images(image, [1, 4], method).numpy().ravel().tolist()
    [1.0, 2.0, 3.0, 3.0]
    [1.0, 1.0, 3.0, 3.0]
    """

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_KINDS = {
    "align_corners": kinds_of.BOOL,
    "half_pixel_centers": kinds_of.BOOL,
    "dtype": kinds_of.DTYPE,
    "size": kinds_of.either(kinds_of.NONE, kinds_of.INTS),
}


def _sized(inputs: Sequence[Spec], *, size: Any, dtype: DType, **attrs: Any) -> Spec:
    batch, *given, channels = image_shape(inputs[0], "images")
    wanted = axes.sizes_of(size, inputs[1:])
    if wanted is None:
        return Spec(dtype, (batch, None, None, channels))
    if len(wanted) != 2:
        raise ValueError(f"'size' must be 2 numbers, height and width; got {len(wanted)}")
    if 0 in given:
        raise ValueError(f"input image must be of non-zero size, got {shapes.show((*given,))}")
    if any(n is not None and n < 1 for n in wanted):
        raise ValueError(f"output dimensions must be positive, got {shapes.show(wanted)}")
    return Spec(dtype, (batch, *wanted, channels))


def _resizing(type: str, letter: str, kernel: Any, adjoint: Any) -> OpDef:
    """Define an op that resizes, and the one of its gradient; return the first."""

    def gradient(op: Operation, dy: Tensor) -> Tensor | None:
        images = op.inputs[0]
        if not images.dtype.is_floating:
            return None
        return apply(back, dy, size=whole(height_and_width(images)), **_options(op, images))

    def _options(op: Operation, like: Tensor) -> dict[str, Any]:
        where = {name: op.attrs[name] for name in ("align_corners", "half_pixel_centers")}
        return {**where, "dtype": like.dtype.base_dtype}

    def second(op: Operation, g: Tensor) -> Tensor:
        dy = op.inputs[0]
        return apply(there, g, size=whole(height_and_width(dy)), **_options(op, dy))

    def define(name: str, signature: str, function: Any, derivative: Any) -> OpDef:
        return OpDef(
            name,
            signature,
            infer=_sized,
            pattern=Contraction("n__c->n__c", None),
            kernel=function,
            gradient=derivative,
            operands=("size",),
            attributes=_KINDS,
        )

    there = define(type, f"images:{letter}", kernel, gradient)
    back = define(f"{type}Grad", "grads:D", adjoint, second)
    return there


BILINEAR = _resizing("ResizeBilinear", "R", kernels.resize_bilinear, kernels.resize_bilinear_grad)
BICUBIC = _resizing("ResizeBicubic", "R", kernels.resize_bicubic, kernels.resize_bicubic_grad)
AREA = _resizing("ResizeArea", "R", kernels.resize_area, kernels.resize_area_grad)
NEAREST = _resizing(
    "ResizeNearestNeighbor", "R", kernels.resize_nearest, kernels.resize_nearest_grad
)


def _apply(
    definition: OpDef,
    images: TensorLike,
    size: TensorLike,
    align_corners: bool,
    name: str | None,
    half_pixel_centers: bool = False,
) -> Tensor:
    if align_corners and half_pixel_centers:
        raise ValueError("If half_pixel_centers is True, align_corners must be False.")
    images = convert_to_tensor(images, name="images")
    return apply(
        definition,
        images,
        name=name,
        size=axes.as_operand(size),
        align_corners=bool(align_corners),
        half_pixel_centers=bool(half_pixel_centers),
        dtype=images.dtype.base_dtype if definition is NEAREST else dtypes.float32,
    )


def resize_bilinear(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Resize images by linear interpolation.

    Args:
      images: [batch, height, width, channels] real.
      size: [2] integer, the new height and width.
      align_corners: the centres of the corner pixels stay where they are.
      name: name of the operation, by default "ResizeBilinear".
      half_pixel_centers: a pixel's centre is half a pixel from its edge, as TensorFlow 2 has it.

    Returns:
      [batch, *size, channels] float32.

    Raises:
      ValueError: the rank is not 4, an image has no pixels, or both options are given.

    Source: TensorFlow 1.15, ``tf.image.resize_bilinear``.

    >>> resize_bilinear([[[[0.0], [2.0]]]], [1, 4]).numpy().ravel().tolist()
    [0.0, 1.0, 2.0, 2.0]
    """
    return _apply(BILINEAR, images, size, align_corners, name, half_pixel_centers)


@with_arguments_of(resize_bilinear)
def resize_bicubic(**arguments: Any) -> Tensor:
    """Resize images by cubic interpolation. See `resize_bilinear`.

    Args:
      name: name of the operation, by default "ResizeBicubic".

    >>> resize_bicubic([[[[3.0], [3.0]]]], [1, 3]).numpy().ravel().round(3).tolist()
    [3.0, 3.0, 3.0]
    """
    return _apply(BICUBIC, **arguments)


def resize_area(
    images: TensorLike, size: TensorLike, align_corners: bool = False, name: str | None = None
) -> Tensor:
    """Resize images by the mean of the area that a new pixel covers. See `resize_bilinear`.

    Unlike TensorFlow's it has a gradient.

    >>> resize_area([[[[0.0], [2.0]]]], [1, 1]).numpy().ravel().tolist()
    [1.0]
    """
    return _apply(AREA, images, size, align_corners, name)


@with_arguments_of(resize_bilinear)
def resize_nearest_neighbor(**arguments: Any) -> Tensor:
    """Resize images by taking the nearest pixel; the dtype stays. See `resize_bilinear`.

    Args:
      name: name of the operation, by default "ResizeNearestNeighbor".

    Returns:
      [batch, *size, channels] of the dtype of `images`.

    >>> resize_nearest_neighbor([[[[1], [2]]]], [1, 4]).numpy().ravel().tolist()
    [1, 1, 2, 2]
    """
    return _apply(NEAREST, **arguments)


_METHODS: dict[int | str, Callable[..., Tensor]] = {
    ResizeMethod.BILINEAR: resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: resize_nearest_neighbor,
    ResizeMethod.BICUBIC: resize_bicubic,
    ResizeMethod.AREA: resize_area,
    "bilinear": resize_bilinear,
    "nearest": resize_nearest_neighbor,
    "bicubic": resize_bicubic,
    "area": resize_area,
}


def resize_images(
    images: TensorLike,
    size: TensorLike,
    method: int | str = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resize images, or one image.

    Args:
      images: [batch, height, width, channels] or [height, width, channels] real.
      size: [2] integer, the new height and width.
      method: one of `ResizeMethod`, or "bilinear", "nearest", "bicubic" or "area".
      align_corners: the centres of the corner pixels stay where they are.
      preserve_aspect_ratio: make the images as large as `size` allows without changing their form.
      name: name scope of the operations, by default "resize".

    Returns:
      The images, float32 (of the nearest neighbours: of the dtype of `images`). Images that are
      known to have that size already are returned as they are, in their dtype.

    Raises:
      ValueError: the rank is neither 3 nor 4, `size` is not two numbers, or there is no such
        method.

    Source: TensorFlow 1.15, ``tf.image.resize_images``.

    >>> resize_images([[[0.0], [2.0]]], [1, 4]).numpy().ravel().tolist()
    [0.0, 1.0, 2.0, 2.0]
    """
    if method not in _METHODS:
        raise ValueError(f"Resize method is not implemented: {method!r}; see ResizeMethod")
    with name_scope(name, "resize", [images, size]) as scope:
        images = convert_to_tensor(images, name="images")
        one = is_one_image(images, "images")
        if one:
            images = expand_dims(images, 0)
        found = height_and_width(images)
        wanted = _wanted(size, found, preserve_aspect_ratio)
        if isinstance(wanted, tuple) and wanted == found:
            resized = identity(images)
        else:
            resized = _METHODS[method](images, whole(wanted), align_corners)
        return squeeze(resized, [0], name=scope) if one else identity(resized, name=scope)


def _wanted(size: TensorLike, found: tuple[Any, Any], preserve: bool) -> Any:
    """Return the new size: two numbers, or tensors, or a tensor of both."""
    sizes = axes.as_operand(size)
    if not _are_integers(sizes):
        raise ValueError(f"'size' must be a 1-D int32 Tensor, got {size!r}")
    if isinstance(sizes, tuple):
        if len(sizes) != 2:
            raise ValueError(f"'size' must be a 1-D Tensor of 2 elements: {len(sizes)} given")
        sizes = tuple([n if axes.is_symbolic(n) else int(n) for n in sizes])
    elif not axes.is_symbolic(sizes) or not shapes.compatible(
        convert_to_tensor(sizes).spec.shape, (2,)
    ):
        raise ValueError(
            f"'size' must be a 1-D Tensor of 2 elements: new_height, new_width; {sizes}"
        )
    if not preserve:
        return sizes
    sizes = convert_to_tensor(whole(sizes), dtypes.int32)
    given = cast(convert_to_tensor(whole(found), dtypes.int32), dtypes.float32)
    ratios = truediv(cast(sizes, dtypes.float32), given)
    scaled = cast(round(minimum(ratios[0], ratios[1]) * given), dtypes.int32)
    return (scaled[0], scaled[1])


def _are_integers(sizes: Any) -> bool:
    if isinstance(sizes, tuple):
        return all(map(_are_integers, sizes))
    if axes.is_symbolic(sizes):
        return convert_to_tensor(sizes).dtype.is_integer
    return isinstance(sizes, int)


def resize_image_with_pad(
    image: TensorLike,
    target_height: int,
    target_width: int,
    method: int = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Tensor:
    """Resize images without changing their form, and put zeros beside them.

    Args:
      image: [batch, height, width, channels] or [height, width, channels] real.
      target_height: the new height.
      target_width: the new width.
      method: one of `ResizeMethod`.
      align_corners: see `resize_images`.

    Returns:
      The images, of the new height and width.

    Raises:
      ValueError: a size is not positive, or the rank is neither 3 nor 4.

    Source: TensorFlow 1.15, ``tf.image.resize_image_with_pad``.

    >>> resize_image_with_pad([[[3.0], [3.0]]], 2, 2).numpy().ravel().tolist()
    [3.0, 3.0, 0.0, 0.0]
    """
    least("target_height", target_height, 1)
    least("target_width", target_width, 1)
    with name_scope(None, "resize_image_with_pad", [image]):
        image = convert_to_tensor(image, name="image")
        one = is_one_image(image)
        if one:
            image = expand_dims(image, 0)
        targets = cast(convert_to_tensor([target_height, target_width]), dtypes.float32)
        found = height_and_width(image)
        given = cast(convert_to_tensor(whole(found), dtypes.int32), dtypes.float32)
        ratios = truediv(given, targets)
        ratio = maximum(ratios[0], ratios[1])
        resized = truediv(given, ratio)
        pads = cast(maximum(truediv(subtract(targets, resized), 2.0), 0.0), dtypes.int32)
        sizes = cast(resized, dtypes.int32)
        resized = resize_images(image, sizes, method, align_corners)
        padded = pad_to_bounding_box(resized, pads[0], pads[1], target_height, target_width)
        return squeeze(padded, [0]) if one else padded
