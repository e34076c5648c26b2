"""Variable scopes: which name a variable gets, and whether it is made or shared.

Opening a scope changes what is in force for `get_variable` in this graph and this thread: a prefix,
whether variables are shared (``reuse``), and defaults (initializer, regularizer, partitioner,
dtype). It opens a name scope, too, which numbers itself; the two are told apart in the package's
docstring.

- ``variable_scope``: the scopes of programs, and `get_variable`;
- ``variable_store``: a graph's variables by full name, made or shared there and nowhere else;
- ``scope_stack``: the current scope; ``scope_counts``: how default names are made unique;
- ``creators``: functions that take part in the making of every variable of a block;
- ``templates``: functions whose variables are made by the first call.
"""
