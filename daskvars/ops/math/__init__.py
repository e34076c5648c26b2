"""Elementwise functions, comparisons, reductions, running sums and counts.

``arithmetic``, ``division``, ``transcendental``, ``gamma_functions``, ``comparison``, ``bitwise``,
``casting`` are elementwise: their result is cut as their arguments are, and chains of them are
fused. ``reduce``, ``moments``, ``counting`` fold over axes: over a cut axis each part is folded,
and the parts in their order, so the bits do not depend on who had them. ``scans`` run
along an axis. ``clip`` is made of the others. ``quantiles_and_bessel`` and
``fake_quantization`` (numbers of a few bits) are elementwise too; ``quantization`` is made of
them."""
