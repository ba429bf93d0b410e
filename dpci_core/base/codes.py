"""What records, the solvers, the ledger, a release and a download are refused for, and what a check
of the ledger finds, one word each.

`report.refusals` has the sentences, `tests/ui/test_nonsense.py` sees that no code is without one.
"""

from __future__ import annotations

from typing import Literal

# fmt: off
DataCode = Literal[
    "X_has_not_2_dimensions", "y_has_another_shape", "no_record_or_no_column", "masked_array",
    "not_real_numbers", "row_not_finite", "label_not_a_sign", "row_norm_above_1",
    "row_outweighs_1", "weights_have_another_shape", "X_has_weights",
    "persons_have_another_shape", "no_person",
    "label_not_declared", "record_not_encoded", "no_training_part",
    "another_number_of_columns", "cannot_be_unpacked",
    "not_the_original", "column_not_numbers", "another_table",
    "parquet_damaged", "unpacking_too_large", "unpacking_too_slow", "type_not_plain",
    "text_too_long", "file_empty", "file_too_large", "not_parquet", "no_rows", "nothing_to_release",
    "quotation_marks_open", "text_is_utf_16", "another_format", "control_character",
    "no_longer_utf_8", "unknown_encoding", "record_too_long", "first_line_unreadable",
    "another_number_of_fields", "line_unreadable", "no_column_names", "too_many_columns",
    "column_without_name", "names_are_numbers", "name_too_long", "name_unreadable", "name_repeated",
    "too_many_rows", "too_many_cells", "unpacked_too_large", "too_many_features", "column_repeated",
    "columns_not_in_header", "column_not_plain", "header_unreadable", "no_rows_below_names",
    "not_csv", "header_not_utf_8", "header_without_names", "header_quotation_mark_open",
    "file_changed", "no_row_of_data", "column_missing", "cell_not_a_number",
    "no_feature_to_encode", "batch_of_another_size", "batch_broken_off", "batch_unreadable",
    "rows_do_not_count", "cache_unwritable",
    "chunks_unknown",
    "folder_empty", "folder_of_other_files", "folder_files_differ", "folder_file_twice",
]
ConvergenceCode = Literal[
    "rounding", "classes_separable", "too_many_steps", "hessian_singular",
]
LedgerCode = Literal[
    "half_a_declared_cap", "line_name_unreadable", "line_names_repeat",
    "lines_do_not_add_up", "no_pure_price", "no_gaussian_price", "entry_impossible",
    "entry_with_another_cap", "entry_with_another_amount", "entry_above_the_cap",
    "entry_of_a_known_request", "entry_draws_again", "draw_begun", "on_a_network",
    "file_with_two_names", "file_is_mounted", "owned_by_another", "open_to_others",
    "entry_ends_again", "entry_without_cost", "entry_changed", "unknown_dataset", "schema_changed",
    "same_people_or_others", "ledger_is_folder", "ledger_not_a_file", "too_short", "damaged",
    "not_trusted", "writing_not_kept", "ledger_full", "no_key_yet", "not_a_ledger",
    "cannot_be_opened",
    "not_openable", "busy", "disk_full", "not_writable", "disk_failed", "key_not_a_file",
    "key_missing", "key_unreadable", "key_open_to_others", "not_a_key", "key_not_writable",
    "ledger_is_its_key", "no_cap", "another_content", "unknown_charge", "charge_has_ended",
    "anchor_not_writable", "anchor_unreadable", "not_an_anchor", "key_without_ledger",
    "reading_only", "empty_path", "no_time_zone", "cap_not_converted", "dataset_exists",
    "same_people_and_others", "name_taken", "name_of_other_people", "another_cap", "unit_differs",
    "no_head", "record_unreadable", "not_a_public_key",
    "new_key_unnamed", "new_key_in_the_way",
    "not_proposed", "not_approved", "approves_the_own", "unknown_proposal", "proposal_withdrawn",
    "proposal_booked", "no_approval_needed", "cap_without_approval", "entry_not_approved",
    "entry_answers_again", "entry_proposes_in_vain", "entry_with_another_approval",
]
ReleaseCode = Literal[
    "not_reviewed", "blanks_around", "another_unit", "not_a_file", "folder_missing",
    "folder_not_writable", "no_release", "another_release", "release_unknown", "release_replaced",
    "codes_not_declared", "cells_do_not_fit", "many_incomplete",
    "rows_not_as_planned", "persons_not_as_planned", "persons_not_offered", "engine_broken",
]
SpentCode = Literal[
    "release_failed", "failure_not_noted", "release_lost", "release_unfinished",
    "release_paused",
]
AfterCode = Literal[
    "intervals_of_other_matrices", "no_such_coefficient",
    "weight_not_finite", "no_weight", "a_value_for_each", "depend_on_each_other", "silent_about",
    "nothing_spoken_about", "names_of_region", "column_to_predict_missing", "column_not_used",
    "no_row_to_predict", "cell_to_predict_missing", "cell_outside_bounds",
    "level_to_predict_unknown",
]
DownloadCode = Literal[
    "not_downloaded", "download_unusable", "download_without_columns", "cache_not_writable",
]
FindingCode = Literal[
    "entry_missing", "entry_of_another_key", "seal_broken", "entries_removed", "entry_replaced",
    "result_unknown", "clock_set_back", "key_without_entries", "pinned_key_differs",
    "pinned_key_replaced",
    "no_signature", "signature_unreadable", "signature_invalid", "signed_file_missing",
    "signed_file_changed", "file_not_signed", "release_of_another_key", "release_as_signed",
    "release_not_signed", "release_not_as_signed", "release_with_named", "release_with_pinned",
    "checked_with_named", "checked_with_pinned", "database_damaged",
    "guard_changed", "guard_added", "ledger_changed",
    "ledger_or_record_changed", "record_changed", "ledger_empty", "ledger_whole",
    "ledger_whole_with_records", "not_read_or_written", "out_of_memory", "broken_off", "stopped",
    "fetching", "checking_rows", "kept_rows",
]
# fmt: on
Code = (
    DataCode
    | ConvergenceCode
    | LedgerCode
    | ReleaseCode
    | SpentCode
    | AfterCode
    | DownloadCode
    | FindingCode
)
