"""The code blocks of the five documents that the project grew from, each run as it stands.

A page holds the blocks of one document, or of a half of one, in its order and under its titles.
Each section is a program in an empty folder; a rule (``---``) starts a fresh graph with no names.
After ``tensorflow`` has become `daskvars.v1`, the fences of a page mean:

- ``python``: a block of the document, typed in. A line that fills one of its elisions, or shows a
  value that the text states, ends in ``# ...``.
- ``python given``: what the document leaves to its reader, run before the block.
- ``python right``: what the block should have said, after one that is wrong. The sentence above
  says why.
- ``python check``: statements of the text and of comments as assertions, and what follows from
  them.
- ``text``: what the code before it prints, with ``...`` for what varies.
- ``error``: the error that the code before it ends in.

There are 86 code blocks:

``variables_and_saving.md``      10  of "Variables", up to "Trainable/Non-trainable parameters"
``scoping_and_sharing.md``       13  of "Variables", from "Scoping" to "Assignment"
``sharing_step_by_step.md``      10  of "What it the sharing variable?", up to reuse at the root
``scopes_step_by_step.md``        5  of "What it the sharing variable?", the additional properties
``variables_guide.md``           22  of "Variables" (the guide)
``sharing_in_short.md``          11  of "TensorFlow variables, variable sharing and scoping."
``programmers_guide.md``          8  of "TensorFlow Programmer's Guide Part 1", the first half
``programmers_guide_sharing.md``  7  of "TensorFlow Programmer's Guide Part 1", the second half
"""
