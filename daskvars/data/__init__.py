"""Data: datasets of TensorFlow's kind, and batches of rows.

A *dataset* (`Dataset`) is a description: a chain of steps, as immutable as a graph. What goes
through it is an *iterator*, whose state is a position: how many elements were taken. In eager code
``for element in dataset`` makes one; in a graph an `Iterator` is kept by the session, and each run
takes the next element, as it takes feeds, before anything is computed. Functions of elements
are traced into graphs that this process runs, in the thread that prepares elements.

On a cluster, batches that a session takes of stored arrays, or of the records of files, are made by
the workers that will use them. This process goes through *places* alone: row numbers, or a block of
a file and a number in it, of which shuffles and repetitions are the same as of elements; so order,
positions and errors are those of one process. Workers look for where records are, some blocks ahead
(the *index*); each then reads the blocks that its part of a batch has rows of, keeps them as long
as a shuffle's buffer may have more, and calls the functions of a `map` on its rows. Before a run
takes a batch, it is known to be made. What cannot be done by rows is done here, and all before it:
filters, functions after a batch, functions with effects, with random numbers or with results whose
shapes are not known, sparse and padded batches, ``cache``, files that are compressed.

Steps and what goes through them are in ``nodes``; ``dataset`` has their public form, ``arguments``
what its methods are given, ``options`` what a program may say of one, ``iterators`` what users hold
and the position, ``records`` files of TFRecords and what is in them as a rule, ``experimental``
what TensorFlow calls so.

*Batches* (`batches`, in ``rows``) are simpler: rows of arrays, shuffled by a seed, larger than
memory, the same again whenever asked for; with a Dask client it is workers that read and shuffle
them, each the rows that it will use. The rows come in blocks: the chunks of a Zarr or dask array,
or the whole of a NumPy array. Rows come as they are stored; with ``shuffle=True`` an epoch goes
through the blocks in a shuffled order, some at a time (a *window*). The rows of a block are
shuffled, and each batch has of all blocks of a window in proportion, those of one block side by
side: so a part of a batch needs few blocks, and the worker that has the part reads these alone. So
every row occurs exactly once in an epoch, memory holds two windows at most, and which rows are in
batch k of epoch e depends on the seed, the blocks, the window and the size of a batch alone: not on
threads, workers or what was read before.
"""

from daskvars.data import experimental
from daskvars.data.dataset import (
    Dataset,
    FixedLengthRecordDataset,
    TextLineDataset,
    TFRecordDataset,
    get_output_classes,
    get_output_shapes,
    get_output_types,
    make_initializable_iterator,
    make_one_shot_iterator,
)
from daskvars.data.iterators.eager import DatasetIterator
from daskvars.data.iterators.graph import Iterator
from daskvars.data.options import Options
from daskvars.data.records.examples import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)
from daskvars.data.records.tfrecords import (
    TFRecordCompressionType,
    TFRecordOptions,
    TFRecordWriter,
    tf_record_iterator,
)
from daskvars.data.rows.batching import Batches, batches

__all__ = [
    "Batches", "BytesList", "Dataset", "DatasetIterator", "Example", "Feature", "FeatureList",
    "FeatureLists", "Features", "FixedLengthRecordDataset", "FloatList", "Int64List", "Iterator",
    "Options", "SequenceExample", "TFRecordCompressionType", "TFRecordDataset", "TFRecordOptions",
    "TFRecordWriter", "TextLineDataset", "batches", "experimental", "get_output_classes",
    "get_output_shapes", "get_output_types", "make_initializable_iterator",
    "make_one_shot_iterator", "tf_record_iterator",
]  # fmt: skip
