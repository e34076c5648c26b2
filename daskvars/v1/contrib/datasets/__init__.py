"""Data sets of ``tf.contrib.slim``: files of records, and what a record is decoded to.

``parallel_reading`` has the queues that several readers fill with records, ``example_decoding``
what makes items such as an image of an example's features, ``providing`` the description of a data
set and the tensors of its items.
"""
