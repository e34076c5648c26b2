"""`tf.feature_column`: columns that say how features become a model's input.

A *feature* is a tensor or sparse tensor in a dict, by its key; a *column* says what is made of it.
*Dense* columns are numbers for each example, *categorical* ones are ids: they count as indicators
in `linear_model`, and `input_layer` wants them in `indicator_column` or `embedding_column`.

- ``columns``: what all columns have, and the features of one call, each transformed once;
- ``numeric``: numbers, and numbers in buckets;
- ``categorical``: ids by hash, from a vocabulary, or as they are; weighted, and crossed;
- ``embeddings``: ids as indicators or as rows of a table, which columns may share;
- ``models``: the input of a network, a linear model, and how examples with the features are parsed.

A column makes no operation and no variable; the calls in ``models`` do.
"""

from daskvars.v1.feature_column.categorical import (
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
    crossed_column,
    weighted_categorical_column,
)
from daskvars.v1.feature_column.embeddings import (
    embedding_column,
    indicator_column,
    shared_embedding_columns,
)
from daskvars.v1.feature_column.models import input_layer, linear_model, make_parse_example_spec
from daskvars.v1.feature_column.numeric import bucketized_column, numeric_column

__all__ = [
    "bucketized_column",
    "categorical_column_with_hash_bucket",
    "categorical_column_with_identity",
    "categorical_column_with_vocabulary_file",
    "categorical_column_with_vocabulary_list",
    "crossed_column",
    "embedding_column",
    "indicator_column",
    "input_layer",
    "linear_model",
    "make_parse_example_spec",
    "numeric_column",
    "shared_embedding_columns",
    "weighted_categorical_column",
]
