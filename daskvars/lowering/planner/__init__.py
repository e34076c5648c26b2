"""Along what a program is cut, where its nodes run, and which of them share a task.

- ``cut_feeds`` (pass 11): along which dimension a step's feeds are cut, into how many parts: it
  tries a few ways and takes the cheapest. ``feed_pieces``: what is fed and only taken apart is fed
  in those pieces. ``sharding_report``: what it chose, as text and data.
- ``propagate``: what follows for all other values from how the leaves are cut; ``cut_loops``:
  the same through branches and loops (a `dynamic_rnn` that is cut along its batch);
  ``fold_rows``: a large sum over everything is the sum of its rows' sums.
- ``place`` (pass 12): the device of each node; ``client_work``: what needs no worker at all.
- ``fuse`` (pass 13): nodes to regions, each one task for each block; ``segments`` (pass 14):
  regions that begin before all of what they take from other workers has come.
- ``piecewise``: which large products threads share where nothing is cut.
- ``costs``: what nodes, tasks and exchanges cost, about, and how much better a choice must be.

Vocabulary: a *label* is a dimension that several values share, and what is cut alike has one label;
a *partial* result lacks a label of what it was made from, and is merged (summed) over its parts; a
*place* is a device, and with which of its workers the blocks begin.

The rule: a choice is made by cost, from concrete shapes, and looks at access patterns and bytes,
never at an op's name. `cut_feeds` tries a choice by running `propagate` and `fuse` on a copy of
the program, so what it estimates is what would be run.
"""
