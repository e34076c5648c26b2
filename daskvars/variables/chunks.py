"""How a variable is cut into chunks: as somebody said, or by default.

By default what is larger than ``config.chunk_bytes`` is cut into chunks of at most that (Dask's
"auto"), and what is smaller is one chunk, which a cluster may cut for its update
(`ClusterPlacement.automatic_chunks`).
"""

from __future__ import annotations

from daskvars import config, shapes
from daskvars.chunk_grid import Chunks, ChunksLike, normalize_chunks
from daskvars.dtypes import DType
from daskvars.errors import LayoutError


def layout_of(chunks: ChunksLike, shape: shapes.Shape, dtype: DType, name: str) -> Chunks | None:
    """Return the layout of a variable; None where nobody said it, and one chunk will do.

    One chunk that somebody asked for is a layout: it stays whole, on a cluster too.

    Raises:
      ValueError: chunks are given, but the shape is not known, or they do not fit it.
    """
    limit, is_asked = config.get().chunk_bytes, chunks not in (None, "auto")
    if chunks is None:
        size = shapes.size(shape)
        if size is None or size * dtype.size <= limit:
            return None
        chunks = "auto"
    if not shapes.is_known(shape):
        raise ValueError(
            f"variable {name} of unknown shape {shapes.show(shape)} cannot have chunks={chunks!r}"
        )
    try:
        layout = normalize_chunks(chunks, shape, dtype, limit)
    except LayoutError as error:
        raise LayoutError(f"Variable {name!r}: {error}") from error.__cause__
    return layout if is_asked or any(len(sizes) > 1 for sizes in layout) else None
