"""From a program that is cut, placed and fused to what runs: regions as data, and stages.

- ``emit`` (pass 15): the `Plan`: for each region its program, its blocks, and where each input
  comes from; ``overlap``: the order of a region's calls, Python functions beside each other;
  ``summed_products``: what a loop's gradient only adds up; ``row_kernels``: what a block calls
  where rows are cut.
- ``stages``: for a cluster, the blocks of a plan that one worker computes between two exchanges, as
  one task.

The rule: nothing is decided here that changes a number or a layout. What comes out is plain data
(`remote.regions.region_program`), which workers compile and run; it names no key, worker or
version, so one plan is run many times, and on a cluster that has changed.
"""
