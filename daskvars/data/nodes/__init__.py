"""The steps of a pipeline, as data, and what goes through its elements.

Vocabulary: a *node* says what elements there are, of which others it makes them, and what dtypes
and shapes they have; it is immutable and shared by all that iterate. A *pass* is one going through
them: it settles what tensors around are, and counts what random numbers depend on. *Elements* is
the state of a pass in one node: ``next``, and ``skip`` to go past some without making them. An
element is a flat tuple of *components*, arrays of this process.

Three decisions:

- Rows go by their places as long as nobody needs them (`Node.rows_in`). Shuffling, repeating and
  cutting rows of arrays so is a matter of small integers, and a batch is gathered in one step, as
  by hand; on a cluster, by the workers that use it.
- Whoever takes several elements asks for them at once (`Elements.many`). A function that only
  computes is then called for all of them together (`together`): a batch of images costs one call of
  each kernel, not 64, and its bits are those of a call for each.
- Nothing of a pass is ever stored but how many elements were taken. All else follows from seeds,
  so it need not be; see `daskvars.data.iterators.cursor`.

Files: ``elements`` (structures and components), ``node`` (the three words above), ``sources``,
``files``, ``ordering`` (shuffle, repeat, take, zip, cache, ...), ``choosing`` (of several inputs,
by numbers or draws), ``batches``, ``functions`` (tracing), ``together`` (of several elements),
``mapping`` (what calls them) and ``scanning`` (with a state), ``windows`` (elements that are
datasets), ``caching`` (in files), ``prefetch`` (elements made ahead), ``ignoring`` (errors).
"""
