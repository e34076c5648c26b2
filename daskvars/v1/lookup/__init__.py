"""`tf.lookup`: tables from keys to values, such as words to ids.

- ``contents``: what a table is while a program runs: a dict in the session's process; ``files``:
  lines of a file as keys and values;
- ``table_ops``: the ops; ``initializers``: where keys and values come from;
- ``tables``: tables that are filled once, and those that grow; ``buckets``: ids for keys that are
  in no table; ``vocabularies`` (`tf.contrib.lookup`): tables of a file's lines or of a list.

As queues, tables are host-side (`daskvars.execution.host_ops`): a run looks up its keys before it
computes with what they stand for, on a cluster too. In the body of a branch, of a loop or of a
dataset's function they are found by their handle in the process that runs it, which must be this
one.
"""

from daskvars.v1.lookup.buckets import StaticVocabularyTable
from daskvars.v1.lookup.initializers import (
    KeyValueTensorInitializer,
    TextFileIndex,
    TextFileInitializer,
)
from daskvars.v1.lookup.tables import StaticHashTable

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
]
