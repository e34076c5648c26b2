"""Sessions that are initialized or restored by themselves, and what is called around their runs.

``monitored_session`` builds on ``session_manager`` (variables restored or initialized),
``scaffold`` (what a training needs besides its model) and ``wrapped_sessions`` (hooks, a
coordinator, made anew after a failure). Hooks (``session_run_hook``): ``checkpoint_hooks``,
``control_hooks``, ``monitoring_hooks``, when they act: ``hook_timers``. ``coordinator``,
``queue_runners``: threads of TensorFlow-1 programs."""
