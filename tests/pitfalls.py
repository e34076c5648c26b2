"""What neighbouring systems get wrong, and the tests that say it is right here.

The numbers are those of the project's list of pitfalls; those required are checked whole, others
are here with the tests that they have. An entry is a test file and names of tests in it. What needs
many runs or much data is checked by counts in the suite and by time and memory in `benchmarks/`.

A run of tests fails if it skips one of these, or goes through a file without coming to one of those
named in it (`Watch`, which `conftest` registers).
"""

import pytest

REQUIRED = {*range(1, 26)}

PITFALLS = {
    1: (
        "restore is strict and says everything at once",
        {
            "v1/programs/test_checkpoints.py": ["a_larger_model_is_told_all_that_it_misses"],
            "state/test_checkpoint.py": [
                "one_error_lists_all_that_a_larger_model_misses",
                "one_error_lists_every_kind_of_difference",
            ],
            "test_errors.py": ["restore_lists_everything_at_once", "near_matches"],
        },
    ),
    2: (
        "lost or damaged chunks never load as values",
        {
            "state/format/test_snapshot.py": [
                "damage_to_any_chunk_is_an_error_that_names_it",
                "an_all_zero_variable_is_stored_and_restored",
            ],
            "state/test_hostile_stores.py": ["each_is_refused"],
        },
    ),
    3: (
        "a save is atomic on any store",
        {
            "state/stores/test_crash.py": [
                "a_killed_save_leaves_the_old_checkpoint_or_the_new",
                "a_killed_first_save_leaves_nothing_or_the_whole",
                "a_killed_store_opens_at_its_last_commit",
                "each_change_of_the_store_may_be_the_last",
            ],
            "state/test_checkpoint.py": ["a_copied_or_moved_checkpoint_is_valid"],
            "execution/cluster/saving/test_total_loss.py": [
                "the_store_opens_after_the_loss_of_everything"
            ],
        },
    ),
    4: (
        "the death of a worker does not change the numbers",
        {
            "execution/cluster/saving/test_sealing.py": [
                "a_killed_worker_does_not_change_the_numbers",
                "what_cannot_be_rebuilt_is_an_error_until_recovery",
            ],
            "execution/cluster/test_distributed.py": [
                "lost_data_is_named_with_the_last_durable_version"
            ],
            "execution/cluster/runs/test_worker_loss.py": ["training_survives"],
        },
    ),
    5: (
        "updates apply exactly once under retries",
        {
            "execution/cluster/runs/test_exactly_once.py": [
                "updates_that_run_twice_have_the_same_bits"
            ],
        },
    ),
    6: (
        "a stored chunk has one writer",
        {
            "state/format/test_snapshot.py": ["a_stored_chunk_has_one_writer_whatever_the_layout"],
            "state/test_checkpoint.py": ["any_layout_is_restored_into_any_other"],
        },
    ),
    7: (
        "long runs cost the same from first to last",
        {
            "execution/cluster/saving/test_sealing.py": ["long_runs_leave_no_trace"],
            "execution/cluster/saving/test_shared_durability.py": ["long_runs_leave_no_trace"],
        },
    ),
    8: (
        "placement survives optimization",
        {
            "execution/cluster/workers/test_placement.py": [
                "the_log_of_where_tasks_ran_shows_no_violation",
                "explain_says_why",
                "in_this_process_every_device_is_here",
            ],
        },
    ),
    9: (
        "work that nobody can do fails at once",
        {
            "execution/cluster/workers/test_placement.py": [
                "an_impossible_demand_is_refused_before_anything_is_sent",
                "a_variable_nobody_may_have_is_refused",
                "soft_placement_falls_back_and_says_so",
            ],
        },
    ),
    10: (
        "names map one to one to legal store keys",
        {
            "state/format/test_keypath.py": [
                "each_name_of_the_table",
                "encoding_is_reversible_and_free_of_collisions",
                "a_key_under_another_is_no_child_of_its_array",
                "every_path_is_a_legal_zarr_node",
                "plain_zarr_reads_every_name_of_the_table",
            ],
        },
    ),
    11: (
        "reads see one consistent version",
        {
            "execution/test_session.py": [
                "reads_see_the_start_of_the_run_unless_ordered_after_an_assignment",
                "changing_a_fetched_array_does_not_change_the_variable",
            ],
            "execution/cluster/test_same_bits.py": ["any_program_gives_the_local_bits"],
        },
    ),
    12: (
        "keys never clash across steps or sessions",
        {
            "execution/cluster/test_distributed.py": ["no_key_is_used_twice"],
        },
    ),
    13: (
        "a checkpoint is restored into any layout, slots included",
        {
            "v1/programs/test_checkpoints.py": [
                "a_checkpoint_is_restored_into_other_chunks_slots_too"
            ],
            "state/test_checkpoint.py": ["any_layout_is_restored_into_any_other"],
            "execution/cluster/test_distributed.py": [
                "checkpoints_are_written_and_read_by_workers"
            ],
        },
    ),
    14: (
        "an asynchronous save has the values of the moment of the call",
        {
            "train/checkpoints/test_async_save.py": [
                "later_runs_change_nothing_in_it",
                "twenty_of_them_leave_no_memory_behind",
                "an_error_is_told_once",
            ],
            "execution/cluster/saving/test_checkpoints.py": [
                "an_asynchronous_save_has_the_values_of_its_moment",
                "an_asynchronous_save_of_a_run_that_fails",
            ],
        },
    ),
    15: (
        "the graph of a step is built once, and growth is an error",
        {
            "execution/test_session.py": [
                "building_in_the_loop_is_an_error_once_the_graph_is_final",
                "a_graph_that_grows_with_every_run_is_warned_of",
            ],
        },
    ),
    16: (
        "tasks per step are bounded and reported",
        {
            "execution/cluster/test_distributed.py": ["a_run_is_few_tasks_and_few_bytes"],
            "execution/cluster/saving/test_sealing.py": ["long_runs_leave_no_trace"],
        },
    ),
    17: (
        "sparse gradients stay sparse",
        {
            "test_sparse_gradients.py": [
                "gather_gives_slices",
                "large_densification_names_op_and_size",
            ],
            "train/optimizers/test_optimizers.py": ["rows_not_used_are_not_touched"],
            "execution/cluster/test_row_shards.py": [
                "rows_change_in_place_at_their_owners_and_only_rows_travel",
            ],
            "lowering/rewrites/test_route_updates.py": ["rows_of_a_cut_table_travel_once"],
        },
    ),
    18: (
        "placement balances bytes, not counts",
        {
            "v1/servers/test_cluster.py": ["bytes_are_balanced"],
            "execution/cluster/workers/test_placement.py": ["bytes_are_balanced_not_counts"],
        },
    ),
    19: (
        "the type of arrays never drifts, and a client needs no CuPy",
        {
            "test_layers.py": ["only_backend_imports_cupy"],
            "ops/test_every_op_on_gpu.py": ["a_gpu_computes_what_numpy_does"],
            "execution/cluster/workers/test_gpu_worker.py": [
                "a_layer_on_a_gpu_trains_as_on_a_cpu",
                "a_variable_on_a_gpu_is_saved_sealed_and_restored",
            ],
            "test_public_surface.py": ["import_is_quick_and_leaves_cupy_alone"],
        },
    ),
    20: (
        "scope rules are boring and errors help",
        {
            "variables/scopes/test_scope_table.py": ["table", "names"],
            "variables/test_get_variable.py": [
                "an_existing_name_says_where_it_was_made_and_what_to_do",
                "a_missing_name_lists_near_matches",
            ],
            "test_first_mistakes.py": ["an_error_says_what_and_what_to_do"],
        },
    ),
    21: (
        "uninitialized use names every culprit",
        {
            "v1/programs/test_training.py": [
                "variables_and_slots_without_values_are_named_at_once"
            ],
            "execution/test_session.py": ["uninitialized_reads_name_all_culprits"],
            "execution/cluster/test_distributed.py": [
                "uninitialized_reads_raise_before_anything_is_sent"
            ],
        },
    ),
    22: (
        "there is no bulk data inside graphs",
        {
            "execution/cluster/test_distributed.py": [
                "no_large_graph_is_ever_sent",
                "large_constants_are_sent_once",
                "feeds_small_and_large",
            ],
        },
    ),
    23: (
        "the dashboard speaks of the user's scopes",
        {
            "execution/cluster/test_dashboard_names.py": [
                "task_prefixes_are_scopes_and_do_not_grow"
            ],
            "execution/cluster/test_distributed.py": ["a_key_is_grouped_under_its_label"],
        },
    ),
    24: (
        "metrics are complete and can be exported",
        {
            "observe/test_record.py": [
                "counts_are_exact_and_memory_is_bounded",
                "everything_is_there_when_the_cluster_is_gone",
                "bytes_in_this_process_are_those_of_the_values",
            ],
            "v1/sessions/test_hooks.py": ["a_profile_is_a_trace"],
            "execution/test_session_protocol.py": ["metadata_records_what_the_options_ask_for"],
            "summary/test_file_writer.py": ["lines_hold_time_step_tag_and_value"],
        },
    ),
    25: (
        "speed and file count of stores are stated and held",
        {
            "state/format/test_snapshot.py": ["files_are_one_per_chunk_and_one_per_node"],
            "state/test_checkpoint.py": ["a_thousand_variables_are_listed_by_reading_one_document"],
            "test_benchmarks.py": ["a_benchmark_prints_its_limit_and_ratio"],  # checkpoint
        },
    ),
}


def problems(outcomes, files, is_selective=False):
    """Return in words what is wrong with the checks of a run of tests.

    Args:
      outcomes: (file below ``tests/``, test) -> what became of it, once for each of its cases.
      files: those that were gone through.
      is_selective: whether tests were selected, so that what did not run need not have.
    """
    found = []
    for number, (title, named) in PITFALLS.items():
        for file, names in named.items():
            for name in names if file in files else ():
                seen = outcomes.get((file, f"test_{name}"), set())
                if "passed" not in seen and (seen or not is_selective):
                    what = "was skipped" if "skipped" in seen else "failed" if seen else "is gone"
                    found.append(f"pitfall {number} ({title}): tests/{file}::test_{name} {what}")
    return found


class Watch:
    """Looks at which of the checks are run."""

    def __init__(self):
        self.outcomes = {}
        self.problems = []

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.skipped:
            file, *_, name = report.nodeid.partition("[")[0].split("::")
            key = file.removeprefix("tests/"), name
            self.outcomes.setdefault(key, set()).add(report.outcome)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        options = session.config.option
        is_worker = hasattr(session.config, "workerinput")
        if is_worker or options.collectonly or session.shouldstop or session.shouldfail:
            return
        named = any("::" in argument for argument in session.config.args)
        is_selective = bool(options.markexpr or options.keyword or named)
        files = {file for file, _ in self.outcomes}
        self.problems = problems(self.outcomes, files, is_selective)
        if self.problems:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        for problem in self.problems:
            terminalreporter.write_line(problem, red=True)
