"""Training in the ways of ``tf.contrib``: operations that make a step, and loops around them.

``training_steps`` has `optimize_loss` and `create_train_op`; ``slim_learning`` and
``slim_evaluation`` are loops on monitored sessions, ``slim_queues`` the threads that fill queues;
``old_losses`` take the predictions first, ``sequence_losses`` are of classes at each step,
``metric_losses`` of distances; ``activity_summaries``, ``hyperparameters``. ``averaged_optimizer``
and ``external_optimizers`` are of ``tf.contrib.opt``, whose other ones are rules in
`daskvars.train.optimizers`.
"""
