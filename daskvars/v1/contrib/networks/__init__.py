"""Layers of ``tf.contrib.layers`` and slim.

What those with weights have in common is declared in ``slim_layers``: a layer of the core whose
variables have slim's names and are model variables, then a normalizer or a bias, an activation, and
collections for variables and outputs (``collected``). Layers: ``weighted_layers``,
``normalizations``, ``plain_layers``, ``sequence_layers``; recurrent are ``projected_cells``,
``attention_cell`` and ``further_cells``, and ``fused_networks`` of them take all times at once;
``linear_maps`` has what cells of one's own are written with.
"""
