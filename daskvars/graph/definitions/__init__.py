"""What an op is, before anybody uses it: its definition and the rules of it that are data.

An `opdef.OpDef` *requires* a shape rule, an access pattern, a kernel and a gradient (none is
spelled `NO_GRADIENT`), so that a missing rule is an error where the op is written, not where a
program needs it. Engines are loops that look these rules up.

- ``opdef``: the definition, and the registry of all of them;
- ``patterns``: access patterns, which block of each input a block of the output needs. Layout
  propagation, fusion and emission are written once for each pattern, not for each op;
- ``gradient_registry``: gradients that programs register under a name, and the blocks in which an
  op's gradient is another's;
- ``static_values``: what is known of a tensor before any run.
"""
