"""Images: [batch, height, width, channels], or one image of rank 3 where a function takes that.

Files: `resizing`; `cropping` (parts of images, and borders); `flipping`; `colors` and `adjusting`
(brightness, contrast and the like); `boxes` (crops, overlaps, drawing); `patches`; `glimpses`;
`comparing` (how alike images are, and how they change from pixel to pixel); `coding` (PNG, JPEG and
the like, by Pillow); `sizes` (heights and widths, known or not). Whatever is of one image is cut
along the batch.
"""
