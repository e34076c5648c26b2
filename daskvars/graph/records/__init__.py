"""Graphs as plain data: for files, for other processes, and back.

``graph_def`` and ``node_def`` are the records; ``attribute_kinds`` says what attributes may be, and
``attribute_json`` turns them into JSON and back; ``importer`` builds operations from records,
checked one by one; ``subgraph`` cuts a part out.

A record is never trusted: an op must be registered, its operands and attributes must be those that
it defines, and a refusal names node and attribute."""
