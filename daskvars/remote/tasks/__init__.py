"""What a task does around the region that it runs.

- ``region_tasks``: the functions that tasks of a plan call, and what is sent once for all of them.
- ``stage_tasks``: all blocks that a worker computes between two exchanges, as one task, and in
  which order it asks other workers for what it takes.
- ``joins``: what a stage takes from several blocks, put together as it comes.
- ``block_arguments``: from which results of other tasks a block's inputs are put together.
- ``table_rows``: rows of a table that is cut, looked up where they are.
- ``feed_tasks``: values that are fed, as they are or as blocks of dask arrays.
- ``row_tasks``: rows of stored arrays, for the parts of batches.
- ``element_tasks``: rows and records anywhere in blocks, and functions of them;
  ``record_blocks``: files of lines and records cut in blocks; ``tfrecord_reader``: what is in a
  TFRecord file.
- ``chunk_tasks``: stored chunks written from blocks, and blocks loaded where they were lost.

A task carries names, numbers and keys; programs and constants travel once and are depended on. So a
step is a few kilobytes, whatever it computes.
"""
