"""Optimizers: gradients in, updates of variables out.

An optimizer is its *slots* (variables beside each variable) and one *update rule* in the notation
of its paper: ``optimizer`` is the template, ``update_rule`` what a rule is written against (cells
that are read and set, whole or by rows), ``slots`` what it keeps. ``sgd``, ``adaptive``,
``adam_variants`` and ``lamb`` are the rules; ``decoupled_decay`` shrinks weights before any of
them; ``moving_averages`` go beside them.

To add one, write its rule in the file of its kind, and name it in ``train/__init__.py`` (imports
and ``__all__``): dense and sparse gradients, chunks and devices follow from the rule.
"""
