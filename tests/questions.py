"""Questions that a user may ask of the dashboard, and the tests that show its answers."""

QUESTIONS = {
    "1": (
        'Does every budget control carry a sentence in odds or "x out of 100"?',
        "test_pages_and_summaries_speak_alike",
        "test_currencies_and_delta",
    ),
    "2": (
        "Is it plain which end is more private, and is a large budget flagged?",
        "test_currencies_and_delta",
    ),
    "3": (
        "Is ε(δ) shown with ρ and the other way round, the same everywhere?",
        "test_currencies_and_delta",
    ),
    "4": (
        "Is δ one plain sentence, and always in the report?",
        "test_the_page_says_what_a_decision_needs",
    ),
    "5": (
        "Does the privacy unit stand on plan, release page and report?",
        "test_before_the_click_everything_is_said",
    ),
    "6": (
        "Is it said that a small part protects nothing more?",
        "test_it_is_said_that_the_split_protects_nobody",
    ),
    "7": (
        "Is the private interval drawn with variability and non-private interval, the ratio "
        "as a number?",
        "test_intervals_are_drawn_where_they_are",
    ),
    "8": (
        "Are sampling error, privacy noise and their sum apart?",
        "test_one_click_releases_books_and_shows_planned_beside_released",
    ),
    "9": (
        "Is coverage shown with Monte Carlo error and repetitions, forecast and simulation apart?",
        "test_a_simulation_runs_and_is_drawn_over_the_forecast",
    ),
    "10": (
        "Are unusual charts explained, and can animation be stopped?",
        "test_the_question_comes_before_the_picture",
        "test_pictures_first_and_large_type",
    ),
    "11": (
        "Has every chart a sentence and a table, and never colour alone?",
        "test_a_place_is_for_every_reader",
        "test_what_no_link_opens",
        "test_every_tab_of_explore_draws_one_picture_with_sentence_finding_and_assumptions",
        "test_colours_differ_for_every_sight",
    ),
    "12": (
        "Target width in, budget or n out, with the probability?",
        "test_each_of_the_three_is_found_from_the_other_two_and_is_that_of_the_core",
    ),
    "13": (
        "Is a split recommended, mine scored, locks kept, sums always valid?",
        "test_the_best_split_has_the_penalty_that_goes_with_it",
        "test_how_much_shorter_is_by_the_mean_length_of_what_is_shown",
        "test_with_a_locked_part_the_best_split_keeps_it",
        "test_parts_add_up_after_any_sequence_of_moves",
    ),
    "14": (
        'Is "not feasible" said with the smallest change?',
        "test_an_impossible_target_is_answered_in_the_units_it_was_made_in",
        "tests/planner/test_changes.py",
    ),
    "15": (
        "Do all assumed values stand on every plot and export?",
        "test_every_tab_of_explore_draws_one_picture_with_sentence_finding_and_assumptions",
        "test_a_simulation_runs_and_is_drawn_over_the_forecast",
    ),
    "16": (
        "Does more budget never lengthen the planned interval?",
        "test_published_lengths_fall_with_n_and_with_the_budget",
        "test_the_best_split_of_a_larger_total_is_not_longer",
        "test_sharp_lengths_hardly_rise_anywhere",
        "test_a_split_that_wastes_budget_is_called_so",
    ),
    "17": (
        "Same settings, same picture, one link?",
        "test_the_same_link_gives_the_same_picture",
        "test_the_link_restores_the_goal",
        "test_a_choice_travels_and_survives_other_pages",
        "test_pins_travel_with_their_numbers",
        "test_the_way_to_a_total_leaves_no_trace_in_any_currency",
    ),
    "18": (
        "Can a plan be saved and loaded?",
        "test_a_saved_plan_opens_on_the_page",
    ),
    "19": (
        "Does planning work without the private file?",
        "test_the_whole_path_opens_no_file_and_no_connection",
    ),
    "20": (
        "Do simulated, public and private sources look different?",
        "test_a_declared_file_is_explored_and_stays_in_its_session",
    ),
    "21": (
        "Are bounds asked from prior knowledge, with what a bad one costs?",
        "test_a_bad_bound_is_shown_to_cost_length_or_truth",
    ),
    "22": (
        'Does exactly one action spend, with price, rest and "cannot be undone"?',
        "test_before_the_click_everything_is_said",
        "test_the_button_waits_for_file_name_and_confirmation",
    ),
    "23": (
        "After reload, second tab, second click: does everything know?",
        "test_one_release_whatever_is_clicked_its_ledger_and_its_report",
        "test_a_new_session_knows_that_it_happened",
    ),
    "23b": (
        "Can a budget ask for two persons, and is what one approved what the other releases?",
        "test_what_another_person_approved_is_released_by_who_proposed_it",
        "test_what_was_approved_is_what_is_booked",
    ),
    "24": (
        "Is an exhausted budget explained?",
        "test_an_exhausted_budget_is_refused_in_words",
    ),
    "25": (
        "Does the record hold plan, versions, time, person, and can it be verified; planned "
        "beside released?",
        "test_the_ledger_shows_budget_history_and_verdict",
    ),
    "26": (
        "Is there a readable report for third parties?",
        "test_one_release_whatever_is_clicked_its_ledger_and_its_report",
    ),
    "27": (
        "Does a demo start with no file and no decision?",
        "test_the_front_page_is_explore_with_no_decision_to_make",
    ),
    "28": (
        "Can every control be moved by keyboard, with a typed alternative?",
        "test_the_main_tasks_by_keys_alone",
        "test_a_number_can_be_typed_and_goes_to_the_nearest_step",
        "test_explore_is_downloaded_moved_by_keys_and_left_for_a_private_file",
        "test_a_typed_number_moves_the_slider_the_state_and_the_charts",
    ),
    "29": (
        "Does a move reach the chart in under 0.3 s; is slow work cancellable?",
        "test_start_watch_cancel_start_again",
        "test_the_map_is_stopped_and_computed_after_all",
        "test_after_many_quick_moves_the_answer_is_that_of_the_last",
        "test_of_many_moves_only_the_last_is_worked_on_and_answered",
        "test_a_search_ends_at_the_step_after_it_was_stopped_and_has_no_answer",
    ),
    "30": (
        "Does an error name the control or cell, and never a trace?",
        "test_no_link_breaks_a_page",
        "test_arguments_keep_their_names_and_numbers",
        "tests/datasets/test_hostile_uploads.py",
    ),
    "31": (
        "Consequence first, mechanism behind a click, help off stays off?",
        "test_explanations_can_be_switched_off_and_stay_off",
    ),
    "32": (
        "Are intervals for the effect people mean, in the step they typed, and is that in "
        "every title?",
        "test_encoding_penalty_and_split_are_chosen_and_no_search_is_made_twice",
        "test_a_target_is_in_the_units_people_typed",
        "test_pages_say_what_is_covered_in_the_words_of_reports",
    ),
    "33": (
        "Is a design that is useless, covers too little or cannot report a coefficient called "
        "so before the click?",
        "test_what_speaks_against_a_design_is_said_in_the_words_of_the_boards_page",
        "test_what_speaks_against_a_release_is_read_before_it",
    ),
    "35": (
        "Is it said how often all intervals hold at once, and can combinations, tests and "
        "predictions be had without paying again?",
        "test_a_finished_release_answers_more_at_no_charge",
        "test_report_and_card_say_how_often_all_hold",
        "test_repeated_releases_are_covered_together",
    ),
}
"""By number: the question, then names of tests or of files of tests."""
