"""`tf.saved_model`: a trained graph in a directory, with its values and what it is asked for.

A saved model is a directory: ``variables/variables`` is a checkpoint as `Saver` writes it,
``assets`` has files that the graph reads, and ``saved_model.json`` has meta graphs (see
`daskvars.v1.graphs`), each with *tags*, by which one is chosen, and *signatures*, which say what is
fed and fetched. The file is written last and at once: there is no model before, and a whole one
after. What is read is data: a model brings no code, and names no file outside of its directory.

Models that TensorFlow saved are not read; theirs are protocol buffers of another runtime's ops.

- ``constants``, ``signature_constants``, ``tag_constants``: names that programs agree on;
- ``signature_def_utils``, ``tensor_infos`` (``utils``): signatures made of tensors;
- ``builder``: writes; ``loader``: reads; ``saving``: writes in one call; ``main_op``: what runs
  when a model has been loaded.
"""

from daskvars.v1.graphs.signatures import SignatureDef, TensorInfo
from daskvars.v1.saved_model import (
    builder,
    constants,
    loader,
    main_op,
    signature_constants,
    signature_def_utils,
    tag_constants,
    tensor_infos as utils,
)
from daskvars.v1.saved_model.builder import SavedModelBuilder, SavedModelBuilder as Builder
from daskvars.v1.saved_model.constants import (
    ASSETS_DIRECTORY,
    ASSETS_KEY,
    LEGACY_INIT_OP_KEY,
    MAIN_OP_KEY,
    SAVED_MODEL_FILENAME_PB,
    SAVED_MODEL_FILENAME_PBTXT,
    SAVED_MODEL_SCHEMA_VERSION,
    VARIABLES_DIRECTORY,
    VARIABLES_FILENAME,
)
from daskvars.v1.saved_model.loader import contains_saved_model, load, maybe_saved_model_directory
from daskvars.v1.saved_model.main_op import main_op_with_restore
from daskvars.v1.saved_model.saving import simple_save
from daskvars.v1.saved_model.signature_constants import (
    CLASSIFY_INPUTS,
    CLASSIFY_METHOD_NAME,
    CLASSIFY_OUTPUT_CLASSES,
    CLASSIFY_OUTPUT_SCORES,
    DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    PREDICT_INPUTS,
    PREDICT_METHOD_NAME,
    PREDICT_OUTPUTS,
    REGRESS_INPUTS,
    REGRESS_METHOD_NAME,
    REGRESS_OUTPUTS,
)
from daskvars.v1.saved_model.signature_def_utils import (
    build_signature_def,
    classification_signature_def,
    is_valid_signature,
    predict_signature_def,
    regression_signature_def,
)
from daskvars.v1.saved_model.tag_constants import EVAL, GPU, SERVING, TPU, TRAINING
from daskvars.v1.saved_model.tensor_infos import build_tensor_info, get_tensor_from_tensor_info

__all__ = [
    "ASSETS_DIRECTORY", "ASSETS_KEY", "CLASSIFY_INPUTS", "CLASSIFY_METHOD_NAME",
    "CLASSIFY_OUTPUT_CLASSES", "CLASSIFY_OUTPUT_SCORES", "DEFAULT_SERVING_SIGNATURE_DEF_KEY",
    "EVAL", "GPU", "LEGACY_INIT_OP_KEY", "MAIN_OP_KEY", "PREDICT_INPUTS", "PREDICT_METHOD_NAME",
    "PREDICT_OUTPUTS", "REGRESS_INPUTS", "REGRESS_METHOD_NAME", "REGRESS_OUTPUTS",
    "SAVED_MODEL_FILENAME_PB", "SAVED_MODEL_FILENAME_PBTXT", "SAVED_MODEL_SCHEMA_VERSION",
    "SERVING", "TPU", "TRAINING", "VARIABLES_DIRECTORY", "VARIABLES_FILENAME", "Builder",
    "SavedModelBuilder", "SignatureDef", "TensorInfo", "build_signature_def", "build_tensor_info",
    "builder", "classification_signature_def", "constants", "contains_saved_model",
    "get_tensor_from_tensor_info", "is_valid_signature", "load", "loader", "main_op",
    "main_op_with_restore", "maybe_saved_model_directory", "predict_signature_def",
    "regression_signature_def", "signature_constants", "signature_def_utils", "simple_save",
    "tag_constants", "utils",
]  # fmt: skip
