"""Images, the names of ``tf.image``."""

# fmt: off
from daskvars.ops.image.adjusting import (
    adjust_brightness, adjust_contrast, adjust_gamma, adjust_hue, adjust_saturation,
    per_image_standardization, random_brightness, random_contrast, random_hue, random_saturation,
)
from daskvars.ops.image.boxes import (
    combined_non_max_suppression, crop_and_resize, draw_bounding_boxes, non_max_suppression,
    non_max_suppression_overlaps, non_max_suppression_padded, sample_distorted_bounding_box,
)
from daskvars.ops.image.coding import (
    adjust_jpeg_quality, decode_and_crop_jpeg, decode_bmp, decode_gif, decode_image, decode_jpeg,
    decode_png, encode_jpeg, encode_png, extract_jpeg_shape, is_jpeg, random_jpeg_quality,
)
from daskvars.ops.image.colors import (
    convert_image_dtype, grayscale_to_rgb, hsv_to_rgb, rgb_to_grayscale, rgb_to_hsv, rgb_to_yiq,
    rgb_to_yuv, yiq_to_rgb, yuv_to_rgb,
)
from daskvars.ops.image.comparing import (
    image_gradients, psnr, sobel_edges, ssim, ssim_multiscale, total_variation,
)
from daskvars.ops.image.cropping import (
    central_crop, crop_to_bounding_box, pad_to_bounding_box, resize_image_with_crop_or_pad,
)
from daskvars.ops.image.cropping import resize_image_with_crop_or_pad as resize_with_crop_or_pad
from daskvars.ops.image.flipping import (
    flip_left_right, flip_up_down, random_flip_left_right, random_flip_up_down, rot90,
    transpose_image,
)
from daskvars.ops.image.flipping import transpose_image as transpose
from daskvars.ops.image.glimpses import extract_glimpse
from daskvars.ops.image.patches import extract_image_patches
from daskvars.ops.image.patches import extract_image_patches as extract_patches
from daskvars.ops.image.resizing import (
    ResizeMethod, resize_area, resize_bicubic, resize_bilinear, resize_image_with_pad,
    resize_images, resize_nearest_neighbor,
)
from daskvars.ops.image.resizing import resize_images as resize
from daskvars.ops.random.distributions import random_crop

__all__ = [
    "ResizeMethod", "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue",
    "adjust_jpeg_quality", "adjust_saturation", "central_crop", "combined_non_max_suppression",
    "convert_image_dtype", "crop_and_resize", "crop_to_bounding_box", "decode_and_crop_jpeg",
    "decode_bmp", "decode_gif", "decode_image", "decode_jpeg", "decode_png", "draw_bounding_boxes",
    "encode_jpeg", "encode_png", "extract_glimpse", "extract_image_patches", "extract_jpeg_shape",
    "extract_patches", "flip_left_right", "flip_up_down", "grayscale_to_rgb", "hsv_to_rgb",
    "image_gradients", "is_jpeg", "non_max_suppression", "non_max_suppression_overlaps",
    "non_max_suppression_padded", "pad_to_bounding_box", "per_image_standardization", "psnr",
    "random_brightness", "random_contrast", "random_crop", "random_flip_left_right",
    "random_flip_up_down", "random_hue", "random_jpeg_quality", "random_saturation", "resize",
    "resize_area", "resize_bicubic", "resize_bilinear", "resize_image_with_crop_or_pad",
    "resize_image_with_pad", "resize_images", "resize_nearest_neighbor", "resize_with_crop_or_pad",
    "rgb_to_grayscale", "rgb_to_hsv", "rgb_to_yiq", "rgb_to_yuv", "rot90",
    "sample_distorted_bounding_box", "sobel_edges", "ssim", "ssim_multiscale", "total_variation",
    "transpose", "transpose_image", "yiq_to_rgb", "yuv_to_rgb",
]
