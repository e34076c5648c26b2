"""Graphs in files: with collections and saver (``meta_graph``), or as text (``graph_files``).

What is read is data: it names ops, and brings no code; see `daskvars.graph.records`.
"""
