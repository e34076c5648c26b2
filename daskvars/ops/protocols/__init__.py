"""How tensors take part in Python and NumPy.

``operators``: ``+ - * / // % ** @``, comparisons, logic; ``indexing``: what ``t[...]`` means;
``numpy_functions``: NumPy's functions become ops, so that gradients go through them, and what is
not known is refused with a hint.

They are attached from above: a Tensor knows no op.
"""
