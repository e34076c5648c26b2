"""What ops are written with: shape rules, axes as data, families of ops.

- ``shapes``: shape and dtype rules that many ops share.
- ``axes``: axes, sizes and other shape-like arguments as plain data, and which dimensions stay cut.
- ``families``: one expression defines an elementwise op and its public function; adjoints.
- ``static_shapes``: what is known of tensors without running anything.

A rule takes specs and attributes and gives specs; it raises naming the op and what it was given.
"""
