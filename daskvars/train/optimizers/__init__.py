"""Optimizers: gradients in, updates of variables out.

An optimizer is its *slots* (variables beside each variable) and one *update rule* in the notation
of its paper: ``optimizer`` is the template, ``update_rule`` what a rule is written against (cells
that are read and set, whole or by rows), ``slots`` what it keeps. The rules, by kind:

- ``sgd``: the gradient, with momentum alone.
- ``adaptive``: each element's step by a second moment, what its gradients squared have been
  (Adagrad to Adam).
- ``adam_variants``: Adam but for one thing.
- ``lamb``: what is none of these has a file of its own, as Lion would.

``decoupled_decay`` shrinks weights before any of them; ``moving_averages`` go beside them.

To add one, write its rule in the file of its kind, and name it in ``train/__init__.py`` (imports
and ``__all__``): dense and sparse gradients, chunks and devices follow from the rule.
"""
