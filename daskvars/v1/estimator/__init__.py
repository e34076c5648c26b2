"""`tf.estimator`: a model as a function, with training, evaluation and prediction around it.

- ``specs``: what a ``model_fn`` returns, and in which mode it is called; ``run_config``: how;
- ``estimator``: builds a graph by the ``model_fn`` for each call and runs it in a monitored
  session, on the active Dask cluster if there is one; what is saved is in ``model_dir``;
- ``export``: what an exported model is fed and asked for; ``exporting`` writes it as a saved model;
  ``exporters``: which models are exported while it is trained;
- ``canned``: models that are there already, and their ``heads``: what their logits mean;
- ``early_stopping``: hooks that end a training by its evaluations, ``experimental`` for 1.15;
- ``tpu``: estimators of programs for TPUs, which run without them;
- ``training``: training and evaluation in turns; ``inputs``: functions that give batches of arrays.
"""

from daskvars.train.checkpoints.vocabularies import VocabInfo
from daskvars.v1.estimator import experimental, export, inputs, tpu
from daskvars.v1.estimator.canned import (
    BaselineClassifier,
    BaselineRegressor,
    DNNClassifier,
    DNNLinearCombinedClassifier,
    DNNLinearCombinedRegressor,
    DNNRegressor,
    LinearClassifier,
    LinearRegressor,
)
from daskvars.v1.estimator.estimator import Estimator
from daskvars.v1.estimator.exporters import BestExporter, Exporter, FinalExporter, LatestExporter
from daskvars.v1.estimator.run_config import RunConfig
from daskvars.v1.estimator.specs import EstimatorSpec, ModeKeys, WarmStartSettings
from daskvars.v1.estimator.training import EvalSpec, TrainSpec, train_and_evaluate
from daskvars.v1.sessions import (
    CheckpointSaverHook,
    CheckpointSaverListener,
    FeedFnHook,
    FinalOpsHook,
    GlobalStepWaiterHook,
    LoggingTensorHook,
    NanLossDuringTrainingError,
    NanTensorHook,
    ProfilerHook,
    SecondOrStepTimer,
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    StepCounterHook,
    StopAtStepHook,
    SummarySaverHook,
)

__all__ = [
    "BaselineClassifier", "BaselineRegressor", "BestExporter", "CheckpointSaverHook",
    "CheckpointSaverListener", "DNNClassifier", "DNNLinearCombinedClassifier",
    "DNNLinearCombinedRegressor", "DNNRegressor", "Estimator", "EstimatorSpec", "EvalSpec",
    "Exporter", "FeedFnHook", "FinalExporter", "FinalOpsHook", "GlobalStepWaiterHook",
    "LatestExporter", "LinearClassifier", "LinearRegressor", "LoggingTensorHook", "ModeKeys",
    "NanLossDuringTrainingError", "NanTensorHook", "ProfilerHook", "RunConfig", "SecondOrStepTimer",
    "SessionRunArgs", "SessionRunContext", "SessionRunHook", "SessionRunValues", "StepCounterHook",
    "StopAtStepHook", "SummarySaverHook", "TrainSpec", "VocabInfo", "WarmStartSettings",
    "experimental", "export", "inputs", "tpu", "train_and_evaluate",
]  # fmt: skip
