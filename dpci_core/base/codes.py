"""What the core refuses and finds by a code, with its sentence: an error is registered here alone.

Pages and the command line say the same (`report.refusals.said`); `tests/ui/test_nonsense.py` sees
that every code which is raised is here, that none is here which nobody raises, and that each
sentence gets its facts.
"""

from __future__ import annotations

_REMEDY = (
    "Raise the regularization c, or the Huber width h if the loss is a Huber SVM, or the "
    "budget of the coefficients if their noise perturbs the objective."
)
_RESTORE = (
    "Check the disk and run `python -m dpci_core ledger verify`. Only if that finds the same "
    "again, put the newest backup back, and compare it with your records: `python -m dpci_core "
    "ledger verify --against release.json ...`."
)
SENTENCES: dict[str, str] = {
    "X_has_not_2_dimensions": "Expected X to have 2 dimensions (n, p), got {found}.",
    "y_has_another_shape": "Expected y of shape {wanted} like X, got {found}.",
    "no_record_or_no_column": (
        "Expected at least one record and one column, got X of shape {found}."
    ),
    "masked_array": "Expected {name} to be a plain array: masked entries would count as records.",
    "not_real_numbers": "Expected {name} to hold real numbers only.",
    "row_not_finite": (
        "Expected X to be finite (no NaN, no infinity); row {row} is the first of {count} that "
        "break it."
    ),
    "label_not_a_sign": (
        "Expected every label in y to be -1 or +1; row {row} is the first of {count} that break it."
    ),
    "row_norm_above_1": (
        "Expected every row of X to have Euclidean norm at most 1; row {row} is the first of "
        "{count} that break it."
    ),
    "row_outweighs_1": (
        "Expected weights 0 < w <= 1 of X with w |x|^2 at most 1; row {row} is the first of "
        "{count} that break it."
    ),
    "weights_have_another_shape": (
        "Expected the weights of X of shape {wanted} like y, got {found}."
    ),
    "persons_have_another_shape": "Expected {wanted} names of persons like X, got {found}.",
    "no_person": "Expected a person's name in at least one row.",
    "X_has_weights": "Expected X without weights: this has no use for them.",
    "label_not_declared": "Expected every label in y to be one of the declared classes={classes}.",
    "record_not_encoded": (
        "Expected records that a fixed public map has encoded: finite, of norm at most 1, with "
        "labels -1 and +1."
    ),
    "no_training_part": (
        "Neither the first nor the last {n_rows:,} of its {found:,} rows are the training part."
    ),
    "another_number_of_columns": "It has {found} columns instead of {wanted}.",
    "cannot_be_unpacked": "The file {file} cannot be unpacked ({problem}).",
    "not_the_original": "The file {file} is not the original: its SHA-256 checksum differs.",
    "column_not_numbers": "Expected numbers in the column {column!r}.",
    "another_table": "This is not the {title} table that is expected here: it has {difference}.",
    "parquet_damaged": "The file starts like Parquet but cannot be read as Parquet.",
    "unpacking_too_large": (
        "The file needs more memory to unpack than a table of the allowed size; it may be damaged."
    ),
    "unpacking_too_slow": (
        "The file took more than {seconds:.0f} seconds to unpack; it may be damaged."
    ),
    "type_not_plain": (
        "Column {position} holds values that are not plain; only numbers, texts, dates and yes/no "
        "can be used."
    ),
    "text_too_long": "Column {position} holds a text longer than {limit:,} characters.",
    "file_empty": "The file is empty. Save the table again, as CSV or Parquet.",
    "file_too_large": "The file has {found:.0f} MB, more than {limit}.",
    "not_parquet": "The file is named Parquet but does not start like a Parquet file.",
    "no_rows": "The table has column names but no rows.",
    "nothing_to_release": "The table has column names but no rows. Nothing was booked.",
    "quotation_marks_open": (
        "The file cannot be read as CSV: its quotation marks do not match up after line {row}."
    ),
    "text_is_utf_16": "The file is UTF-16 text; save it as CSV in UTF-8.",
    "another_format": "The file is {kind}; save the table as CSV or Parquet.",
    "control_character": (
        "Line {row} holds a control character: the file is neither text nor Parquet. Save it as "
        "CSV or Parquet."
    ),
    "no_longer_utf_8": "Line {row} is not UTF-8, as the text before it is; save it as UTF-8.",
    "unknown_encoding": "Line {row} is neither UTF-8 nor Windows-1252 text; save it as UTF-8.",
    "record_too_long": "The record that reaches line {row} is longer than {limit:,} characters.",
    "first_line_unreadable": "The first line of the file cannot be read as column names.",
    "another_number_of_fields": (
        "Line {row} has another number of fields ({found}) than the first line ({wanted})."
    ),
    "line_unreadable": (
        "Line {row} cannot be read as CSV: a field is longer than {limit:,} characters, or the "
        "quotation marks do not match up."
    ),
    "no_column_names": "The file has no line with column names.",
    "too_many_columns": "The table has {found:,} columns, more than {limit:,}.",
    "column_without_name": "Column {position} has no name.",
    "names_are_numbers": "The first line holds numbers only; it must hold the column names.",
    "name_too_long": "The name of column {position} is longer than {limit} characters.",
    "name_unreadable": "The name of column {position} holds an invisible control character.",
    "name_repeated": "Columns {first} and {position} have the same name; each name once.",
    "too_many_rows": "The table has more than {limit:,} rows.",
    "too_many_cells": "The table has more than {limit:,} cells.",
    "unpacked_too_large": "The file unpacks to more than {limit:,} MB.",
    "too_many_features": (
        "Expected at most {limit:,} features with {n_rows:,} rows, got {found:,}. Choose fewer "
        "features, or a file with fewer rows."
    ),
    "column_repeated": "The header has {found} columns {column!r}; the schema declares one.",
    "columns_not_in_header": (
        "The header has no {names}. Names are compared letter by letter: rename columns in the "
        "file, or declare them as they are called there."
    ),
    "column_not_plain": "Column {column!r} holds values that are not plain.",
    "no_such_file": "There is no {path}.",
    "header_unreadable": "The file cannot be opened, or its header cannot be read.",
    "no_rows_below_names": (
        "The file has no line of column names followed by rows. Save the table again, as CSV or "
        "Parquet, with the names in the first line."
    ),
    "not_csv": (
        "The file is no CSV file in UTF-8 or Latin-1. A spreadsheet program writes one as “CSV "
        "UTF-8”."
    ),
    "header_not_utf_8": "The header is not UTF-8; name the encoding if it is latin-1.",
    "header_without_names": (
        "The first line holds no column names, or its quotation marks do not match."
    ),
    "header_quotation_mark_open": "A quotation mark in the header is not closed on its line.",
    "file_changed": "The file has changed since its header was read.",
    "no_row_of_data": "Expected at least one row of data.",
    "column_missing": "Expected the table to have a column {column!r}, as the schema declares.",
    "cell_not_a_number": (
        "Expected numbers in column {column!r}; row {row} (counting from 0) holds something else."
    ),
    "no_feature_to_encode": (
        "Expected at least one column besides the target that varies and can be encoded."
    ),
    "batch_of_another_size": (
        "A batch of the table has {found:,} rows instead of the {wanted:,} that were declared."
    ),
    "batch_broken_off": "A batch of the table could not be worked on ({problem}).",
    "batch_unreadable": "The file {file} of the table is gone or cannot be read any more.",
    "rows_do_not_count": (
        "Expected a finite number in every feature and one of the declared classes, or a finite "
        "number, as outcome, in every row. Which rows break it is not said: clean the table by a "
        "rule for single rows."
    ),
    "chunks_unknown": (
        "Expected chunks of {name} whose sizes are known: {name}.compute_chunk_sizes() counts them."
    ),
    "cache_unwritable": "The folder of the cache cannot be written, or is full.",
    "folder_empty": "The folder {folder} has no Parquet file.",
    "folder_of_other_files": (
        "A folder is read as one table of Parquet files alone; it holds something else."
    ),
    "folder_files_differ": (
        "The columns of {file} are not those of {other}, by their names or because one holds texts "
        "where the other holds numbers."
    ),
    "folder_file_twice": (
        "{file} is another name of a file of the same folder: its records would count twice."
    ),
    "rounding": "Rounding keeps the solver from its tolerance.",
    "classes_separable": (
        "The unpenalised objective has no minimiser here: the classes can be separated."
    ),
    "too_many_steps": (
        "The gradient norm is still {norm:.1e} > {tolerance:.0e} after {steps} Newton steps. "
        + _REMEDY
    ),
    "hessian_singular": "The Hessian is singular up to rounding. " + _REMEDY,
    "half_a_declared_cap": (
        "Expected epsilon and delta together with a rho or a mu^2, or neither: use Cap.approx."
    ),
    "line_name_unreadable": (
        "Expected the name of each line to be printable text without blanks around it."
    ),
    "line_names_repeat": "Expected the names of the lines to differ, got {names}.",
    "lines_do_not_add_up": (
        "Expected the lines of a cost to add up to exactly {amount:f}, got {found}."
    ),
    "no_pure_price": (
        "The cap of this data set is a pure epsilon of {amount:f}, and a release under zCDP has no "
        "pure epsilon, so nothing was booked. Choose a pure budget in the plan."
    ),
    "no_gaussian_price": (
        "The cap of this data set is a mu^2 of {amount:f}, and only releases under Gaussian "
        "differential privacy have a price in mu^2, so nothing was booked. Plan output "
        "perturbation with a budget of mu, or of epsilon and delta."
    ),
    "entry_impossible": "Entry {entry} cannot be right ({problem}).",
    "entry_with_another_cap": "Entry {entry} gives the same people another cap.",
    "entry_with_another_unit": "Entry {entry} protects the same people by another unit.",
    "entry_with_another_amount": "Entry {entry} takes another amount out of the cap than its cost.",
    "entry_above_the_cap": "Entry {entry} spends more than was left.",
    "entry_of_a_known_request": "Entry {entry} books a request for the second time.",
    "entry_ends_again": "Entry {entry} ends a charge that had ended.",
    "entry_without_cost": "Entry {entry} has no cost.",
    "entry_not_approved": "Entry {entry} books what nobody else approved.",
    "entry_answers_again": (
        "Entry {entry} approves or withdraws what could not be: an own proposal, or one that was "
        "answered or booked."
    ),
    "entry_proposes_in_vain": "Entry {entry} proposes what cannot be proposed.",
    "entry_with_another_approval": (
        "Entry {entry} says something else about approval than the account whose cap it shares."
    ),
    "not_proposed": (
        "Another person has to approve each charge of this data set, and {request!r} was not "
        "proposed. Nothing was booked, so nothing is drawn."
    ),
    "not_approved": (
        "Another person than {person} has to approve entry {proposal} first: on the page Ledger, "
        "or with `python -m dpci_core ledger approve {proposal}`. Nothing was booked, and nothing "
        "is drawn. Then ask the same again."
    ),
    "approves_the_own": (
        "Entry {proposal} was proposed by {person}: another person has to approve it."
    ),
    "unknown_proposal": "The ledger has no proposal {proposal!r}.",
    "proposal_withdrawn": "The proposal {proposal} was withdrawn. Propose it again.",
    "proposal_booked": "The proposal {proposal} is booked, and what is booked stays spent.",
    "no_approval_needed": (
        "No charge of the data set {dataset!r} needs approval: book without proposing."
    ),
    "too_many_proposals": (
        "{person} has {most} proposals in this ledger that were not booked, withdrawn ones among "
        "them, and may make no more: each takes room from what others book. Have approved what "
        "waits, and book it, or let another person propose."
    ),
    "account_of_too_many_proposals": (
        "{most} proposals for {dataset!r} were not booked, whoever made them, withdrawn ones among "
        "them, and it takes no more: each takes room from what others book. Have approved what "
        "waits, and book it: each booking makes room for one."
    ),
    "cap_without_approval": (
        "The people in {dataset!r} have their cap already, and it needs nobody's approval; that is "
        "declared with the cap, once."
    ),
    "entry_changed": "Entry {entry} was changed: its {name} is not what this program writes.",
    "unknown_dataset": "The ledger has no data set {dataset!r}; it has {known}. Create it first.",
    "schema_changed": (
        "The data set {dataset!r} was declared with another schema, so nothing was booked. If the "
        "new schema describes the same people, add it as the same people: it shares their budget. "
        "If they are other people, create a data set of another name."
    ),
    "same_people_or_others": (
        "Are the people in {dataset!r} the same as in {others}, all or some of them? Then name "
        "that data set: they share one budget. If they are other people, say so; the answer is "
        "kept."
    ),
    "ledger_is_folder": (
        "{path} is a folder. Name a file for the ledger, for example in DPCI_LEDGER."
    ),
    "ledger_not_a_file": (
        "{path} is not a file. Name a file for the ledger, for example in DPCI_LEDGER."
    ),
    "too_short": (
        "{path} is damaged or not a ledger (it has {size} bytes), and nothing was booked. "
        + _RESTORE
    ),
    "damaged": "{path} is damaged or not a ledger ({problem}), and nothing was booked. " + _RESTORE,
    "not_trusted": (
        "{problem} The ledger cannot be trusted, and nothing is booked on it. " + _RESTORE
    ),
    "writing_not_kept": (
        "The database did not keep what was written, and nothing was booked. Run `python -m "
        "dpci_core ledger verify` to see what was changed in it."
    ),
    "ledger_full": (
        "The ledger has {most:,} entries and takes no further charge; what is booked can be "
        "drawn and ended. Begin another ledger in another place, for example with DPCI_LEDGER, "
        "give each data set there no more than `python -m dpci_core ledger show` says is left "
        "here, and keep this one."
    ),
    "no_key_yet": "The ledger has no entry yet: its key comes into being with the first.",
    "not_a_ledger": (
        "{path} is a database, but not a ledger of this program; it was left as it is. Name the "
        "ledger's own file."
    ),
    "cannot_be_opened": (
        "The ledger {path} cannot be opened ({problem}), and nothing was booked. Choose a file in "
        "a folder you may write to, for example with DPCI_LEDGER."
    ),
    "not_openable": (
        "The ledger {path} cannot be opened, and nothing was booked. Choose a file in a folder you "
        "may write to, for example with DPCI_LEDGER."
    ),
    "on_a_network": (
        "The ledger {path} is on a file system ({kind}) that other machines may use, too. Where "
        "their locks do not hold, two of them spend the same budget, so nothing was booked. Name a "
        "file on a local disk of one machine, for example with DPCI_LEDGER."
    ),
    "file_with_two_names": (
        "{path} has a second name (a hard link), and what is booked under one name can be missing "
        "under the other, so it was not opened. End the programs that use it and list its names "
        "with: find / -xdev -samefile '{path}'. Keep one, the one with a file -wal beside it if "
        "there is such a file, and delete the others."
    ),
    "file_is_mounted": (
        "{path} is mounted by itself, without the files beside it that hold the newest charges, so "
        "it was not opened. Mount its folder instead, for example with --volume FOLDER:FOLDER."
    ),
    "owned_by_another": (
        "{path} belongs to another user of this machine (number {owner}), who could change what is "
        "booked or forge entries, so nothing was booked. If that user is trusted and has not "
        "changed it, take it over with: sudo chown $(id -u) '{path}'"
    ),
    "open_to_others": (
        "Every user of this machine may write to {path}, and could change what is booked or forge "
        "entries, so nothing was booked. If none of them has, close it with: chmod go-w '{path}'"
    ),
    "busy": (
        "Another process is writing to the ledger {path}, and nothing was booked. Close other "
        "programs that have it open, then try again."
    ),
    "disk_full": (
        "The disk of the ledger {path} is full, and nothing was booked. Free space and try again."
    ),
    "not_writable": (
        "The ledger {path} can only be read, and nothing was booked. Ask its owner for the right "
        "to write."
    ),
    "disk_failed": (
        "The disk failed for a moment while the ledger {path} was used, and nothing more was done. "
        "The ledger itself need not be damaged: check the disk, then run `python -m dpci_core "
        "ledger verify` and try again. Put no backup back for this."
    ),
    "key_not_a_file": "The ledger's key {path} is not a file. Put the right file back.",
    "anchor_not_writable": (
        "The end of the ledger could not be written to {path} ({problem}), and nothing was booked."
    ),
    "anchor_unreadable": (
        "{path}, which holds the end of the ledger once more, cannot be read ({problem})."
    ),
    "no_anchor": (
        "{path} is not there, which holds the end of the ledger once more: the ledger was moved or "
        "copied without it, and its newest charges may be missing. Nothing is booked on it, and "
        "what is left is not said. Put all files of the ledger's name together again. If this is "
        "all there is, hold it against every record (`python -m dpci_core ledger verify --against "
        "release.json ...`), then take it for the whole: `python -m dpci_core ledger adopt`."
    ),
    "not_an_anchor": (
        "{path} should hold the end of the ledger once more and holds something else. " + _RESTORE
    ),
    "key_without_ledger": (
        "There is a key {path} of this ledger, but the ledger is empty or gone. Put the ledger "
        "back. If nothing was ever booked with this key, move the key away, and a new ledger "
        "begins. A second ledger takes a key of its own."
    ),
    "key_missing": (
        "The ledger's key {path} is missing. Put it back from your backup, or name its place in "
        "DPCI_LEDGER_KEY; without it nothing can be booked."
    ),
    "key_unreadable": "The ledger's key {path} cannot be read ({problem}).",
    "key_open_to_others": (
        "The ledger's key {path} is open to other users, who could forge entries. If none of them "
        "has used it, close it with: chmod 600 '{path}'"
    ),
    "key_with_two_names": (
        "The ledger's key {path} has a second name (a hard link), under which it stays where it "
        "was moved away from. List its names with: find / -xdev -samefile '{path}'. Keep one and "
        "delete the others."
    ),
    "not_a_key": "{path} is not a key of a ledger. Put the right file back from your backup.",
    "key_not_writable": (
        "The ledger's key {path} cannot be written ({problem}). Choose a folder you may write to."
    ),
    "ledger_is_its_key": "The ledger and its key cannot be the same file {path}. Name another one.",
    "no_cap": (
        "The data set {dataset!r} needs a cap: the most that may ever be spent on its people."
    ),
    "another_content": (
        "The request {request!r} was booked or proposed before with another content, as entry "
        "{entry}; nothing was booked. Make a new request for a new release."
    ),
    "unknown_charge": (
        "The ledger has no charge {charge!r}. Use the charge_id that booking returned."
    ),
    "charge_has_ended": "The charge {charge} has ended as {state}, which cannot be changed.",
    "reading_only": "The ledger {path} was opened for reading only, so nothing was booked.",
    "empty_path": (
        "The path of the ledger is empty. Set {variable} to a file, or unset it for the default."
    ),
    "no_time_zone": "The clock of the ledger must know its time zone.",
    "cap_not_converted": "Expected the cap {cap.sentence} to be what Cap.approx makes of it.",
    "dataset_exists": (
        "The data set {dataset!r} exists already with this schema. Use it as it is; names that "
        "differ only in case, blanks or punctuation are one name."
    ),
    "same_people_and_others": (
        "Say either that the people are the same or that they are others, not both."
    ),
    "name_taken": (
        "The name {dataset!r} belongs to other people already. Choose another name for these."
    ),
    "name_of_other_people": (
        "The name {dataset!r} belongs to other people than {other!r}. Choose another name."
    ),
    "another_cap": (
        "The people of {dataset!r} have the cap {cap.sentence}, which is never changed. Leave the "
        "cap out to share it."
    ),
    "unit_differs": "The same people share one unit. Expected unit={unit!r} to be {wanted!r}.",
    "new_key_unnamed": (
        "The ledger's key is in the file {path}, which was named. Name a new file for the new key, "
        "too."
    ),
    "new_key_in_the_way": "There is a {path} already. Name a new file for the new key.",
    "not_a_public_key": (
        "Expected a public key of 64 hexadecimal digits, or a file with the line that `python -m "
        "dpci_core ledger public-key` prints."
    ),
    "no_head": "{source} has no head of a ledger. Name a release.json that this program wrote.",
    "record_unreadable": "{path} cannot be read ({problem}). Name an existing release.json.",
    "not_reviewed": (
        "This plan uses Gaussian objective perturbation. {status} It is off by default in a "
        "release: allow it by name, or turn the switch gaussian_objective off."
    ),
    "approved_another_plan": (
        "The plan was changed after its approval, or has the one of another plan: it says "
        "{approved!r}, and its own hash begins with {digest}. Nothing was booked. Take the plan as "
        "it was approved, or have this one approved and write that under `approved`; empty for "
        "none."
    ),
    "approved_for_one": (
        "This plan was approved for one release, which is entry {entry} of the ledger, and pays "
        "for no other. For another give the plan another title and have it approved again."
    ),
    "released_of_others": (
        "This plan was released from {dataset!r}, entry {entry} of the ledger, and the people of "
        "that data set share its budget. For other people give the plan another title and have it "
        "approved."
    ),
    "blanks_around": (
        "The schema has {text!r} with blanks around it, which no cell can match. Declare it "
        "without them."
    ),
    "codes_not_declared": (
        "The plan says which code of {target!r} counts as yes, and not which as no: every other "
        "value would, a mistyped code too. Declare both (in a plan file `negative: [...]` beside "
        "`positive`). Nothing was booked."
    ),
    "cells_do_not_fit": (
        "More than {share} of the cells do not fit the plan in {names}: most of the table would "
        "count for nothing. Nothing was booked. Look at how the file writes them: codes (0 and 1, "
        "or no and yes), the unit, a decimal comma. Put those right and nothing else: bounds or a "
        "model that follow what is in the table are not covered by the guarantee. {hints}"
    ),
    "another_encoding": (
        "There are letters in {names} that are not written in UTF-8: the file was probably saved "
        "in another encoding, and cells with such letters count as unknown or missing. Save it "
        "as UTF-8 (a spreadsheet calls it “CSV UTF-8”), or say that it is Latin-1."
    ),
    "not_accepted": "Nothing was booked: this has to be accepted first. {findings} {hints}",
    "yes_absent": (
        "No cell of the outcome is written {codes}, the plan's code for yes. If the file writes it "
        "otherwise, put the code of the plan right; if really nobody has it, the release will say "
        "little."
    ),
    "no_absent": (
        "No cell of the outcome is written {codes}, which the plan declares for no. If the file "
        "writes it otherwise, put the codes of the plan right; if really everybody has the "
        "outcome, the release will say little."
    ),
    "many_incomplete": (
        "More records have a cell that is missing or not declared than the plan expects, which "
        "declares {complete} of them complete. Such records count for nothing: {so}. A look at the "
        "cells, which is free, says in which columns they are."
    ),
    "another_unit": (
        "In the plan a row is {plan!r}, and in the ledger {dataset!r} has its budget for "
        "{ledger!r}. Nothing was booked. If they mean the same, write the ledger's words into the "
        "plan; if not, choose another budget."
    ),
    "look_broken_off": (
        "Looking whether the cells fit the plan broke off ({problem}). Nothing was spent."
    ),
    "not_a_file": "The private table has to be a file: it is read twice, first its header alone.",
    "folder_missing": "The folder {folder} does not exist.",
    "folder_not_writable": (
        "The result could not be written to {folder} ({problem}). Nothing was booked. Name another "
        "folder."
    ),
    "no_release": "There is a {folder} already, and no release in it. Name a new folder.",
    "another_release": "The folder {folder} holds another release. Name a new folder.",
    "release_unknown": "The folder {folder} holds a release that this ledger does not know.",
    "release_replaced": (
        "The release in {folder} is not the one that the ledger has for this request."
    ),
    "engine_broken": "The workers cannot start ({problem}). Nothing was booked.",
    "rows_not_as_planned": (
        "The number of rows is {n:,}, counted as they would be read; the plan declares {planned:,} "
        "and allows {low:,} to {high:,}. Nothing was booked. If {n:,} is right, plan with it; "
        "if not, look for rows that are missing or for a quotation mark that is never closed."
    ),
    "persons_not_as_planned": (
        "The number of persons is {n:,}, counted by the names in their column; the plan declares "
        "{planned:,} and allows {low:,} to {high:,}. Nothing was booked. If {n:,} is right, plan "
        "with it; if not, look for rows that are missing or for another column of names."
    ),
    "persons_not_offered": (
        "Only the model of a plan can be released where one person may have several rows. Nothing "
        "was booked. Bring the table to one row a person, or plan without a column of persons."
    ),
    "release_failed": "{reason} The charge {charge} stays spent; start anew with a new request.",
    "failure_not_noted": (
        "{reason} The ledger could not note it: the charge stays booked. The charge {charge} stays "
        "spent; start anew with a new request."
    ),
    "release_lost": (
        "The request {request!r} was booked before, and there is no result of it here: it is still "
        "running, or it broke off. Its charge is spent and noise may have been drawn for it, so it "
        "is never drawn again. If the result is in another folder, name that folder; if it is "
        "lost, a new request starts anew, and costs again."
    ),
    "release_elsewhere": (
        "The request {request!r} was released before, into another folder than this. Its charge is "
        "spent, and it is never drawn again. Name the folder that holds the result; if it is lost, "
        "a new request starts anew, and costs again."
    ),
    "release_paused": (
        "The release was stopped after it was booked and before anything was drawn. Make the same "
        "request {request!r} again: it goes on, and costs nothing more."
    ),
    "draw_begun": (
        "For the charge {charge} noise is being drawn elsewhere, or was drawn, or the booking "
        "itself gave the right to. It is never drawn for again."
    ),
    "entry_draws_again": "Entry {entry} draws for a charge a second time.",
    "release_unfinished": (
        "The release is in {folder}, and its charge {charge} is booked, but the ledger could not "
        "note the result. {problem} Then make the same request again: it draws nothing and "
        "completes the entry."
    ),
    "not_read_or_written": "The file could not be read, or the result could not be written.",
    "out_of_memory": "There was not enough memory.",
    "broken_off": "The release broke off ({problem}).",
    "stopped": "The release was stopped.",
    "intervals_of_other_matrices": (
        "The intervals of this record are not those of its matrices: it was edited, or made by "
        "other formulas. Only its own intervals can be read."
    ),
    "no_such_coefficient": "There is no coefficient {name!r}. There are: {names}.",
    "weight_beyond": (
        "Expected the weight of {name!r} to be 0, or from {low:g} to {high:g} but for its sign."
    ),
    "combination_is_no_mapping": "Expected a combination of coefficients as {{name: weight}}, like "
    "{{'age': 1}}, got {found}.",
    "no_weight": "Expected at least one weight other than 0.",
    "a_value_for_each": "Expected one finite value for each combination.",
    "depend_on_each_other": (
        "Some of these combinations follow from the others. Leave those out, or each name once."
    ),
    "not_estimable": "{name} is not estimable from this release, so it has no region.",
    "nothing_estimable": "No coefficient is estimable from this release.",
    "names_of_region": "Expected a value for each of {names}, and nothing else.",
    "column_to_predict_missing": "Expected one value of {column!r} in every row.",
    "column_not_used": "The model has no column {column!r}. It has: {names}.",
    "no_row_to_predict": "There is no row to predict.",
    "cell_to_predict_missing": "Row {row} has no number for {column!r}.",
    "cell_outside_bounds": (
        "Row {row}: {column!r} is outside its declared bounds, {low:g} to {high:g}. The model was "
        "made for values within them."
    ),
    "level_to_predict_unknown": ("Row {row}: {column!r} is none of its declared levels: {names}."),
    "not_downloaded": (
        "{title} could not be downloaded ({problem}): check the internet connection and try again, "
        "or see data/README.md for where to put the original file."
    ),
    "download_unusable": "The downloaded {title} cannot be used. {reason}",
    "download_without_columns": (
        "The downloaded {title} cannot be used. Its columns are not the expected ones."
    ),
    "cache_not_writable": "The folder {folder} cannot be written ({problem}).",
    "fetching": "Fetching {title} from {source} ...",
    "checking_rows": "Checking {n_rows:,} rows ...",
    "kept_rows": "Kept {n_rows:,} rows of {title} in {path}.",
    "entry_missing": "Entry {entry} is missing.",
    "entry_of_another_key": (
        "Entry {entry} was sealed with another key ({found}) than the one that is here ({wanted}): "
        "either the wrong key file is in place, or the entry is forged. Put the ledger's own key "
        "back."
    ),
    "seal_broken": (
        "Entry {entry} was changed after it was written, or one before it was changed, moved or "
        "removed."
    ),
    "entries_removed": (
        "{source} was written when the ledger had {entry} entries, and it has {n_entries}: entries "
        "were removed from its end, or this is an older copy or another ledger. If you put back a "
        "backup on purpose, hold it against every release first, then remove its .head file."
    ),
    "entry_replaced": (
        "Entry {entry} is not the one that {source} was written after: entries were replaced, or "
        "this is another ledger."
    ),
    "result_unknown": (
        "{source} is not what was released: no charge has its SHA-256 ({digest}…) as result. It "
        "was edited or saved anew, or never booked here, or its entry was cut off the ledger's "
        "end. If its charge is still booked, the release stopped before it noted its result: make "
        "the same request again, which draws nothing, and verify once more."
    ),
    "clock_set_back": (
        "Entry {entry} is dated {dated}, before an earlier entry ({latest} h): the clock was set "
        "back."
    ),
    "key_without_entries": (
        "There is a key {path}, but no entry: if anything was ever booked here, the ledger was "
        "lost or removed. Look for it before you book."
    ),
    "pinned_key_differs": (
        "The ledger is signed by the key {found}, and it was to be held against {wanted}: it is "
        "another ledger, or somebody wrote it anew with a key of their own."
    ),
    "pinned_key_replaced": (
        "The key {wanted} was replaced by {found} in this ledger, by whoever had it. If the keeper "
        "confirms the new key, hold the ledger against that one."
    ),
    "no_signature": (
        "There is no signature.json: somebody removed it, or this is no release. Its ledger can "
        "tell: `python -m dpci_core ledger verify --against release.json`."
    ),
    "signature_unreadable": "signature.json is not what this program writes.",
    "signature_invalid": "The signature is not of this list of files: signature.json was edited.",
    "signed_file_missing": "{name} was released and is missing.",
    "signed_file_changed": "{name} is not as it was released.",
    "file_not_signed": "{name} was not released with the others.",
    "release_of_another_key": (
        "The release names the key {found}, and it was to be held against {wanted}: another ledger "
        "paid for it, the ledger's key was replaced since, or somebody signed it anew."
    ),
    "release_as_signed": "All files ({n_files}) are as they were released.",
    "release_not_signed": "It cannot be said whether these files are what was released.",
    "release_not_as_signed": "This folder is NOT what was released.",
    "release_with_named": (
        "The signature was checked with the public key that the release itself names, {key}. "
        "Whoever signed it anew would have named one, too: compare it with the one that the "
        "ledger's keeper published, or give that to the check."
    ),
    "release_with_pinned": ("The signature was checked with the public key that was given, {key}."),
    "checked_with_named": (
        "Signatures were checked with the public key that the ledger itself names, {key}. Whoever "
        "wrote the whole ledger anew would have named one, too: compare it with the one that its "
        "keeper published, or give that to the check."
    ),
    "checked_with_pinned": "Signatures were checked with the public key that was given, {key}.",
    "database_damaged": "The database is damaged ({problem}).",
    "guard_changed": "The {name} of the database was removed or changed.",
    "guard_added": "The {name} was added to the database.",
    "ledger_or_record_changed": (
        "The ledger is NOT as it was written, or a given record is edited or of another ledger. "
        "Find out which from what follows: a backup put back for nothing forgets the charges since."
    ),
    "ledger_changed": (
        "The ledger is NOT as it was written. Put the newest backup back and verify that one."
    ),
    "record_changed": (
        "All entries ({n_entries}) are as they were written, in order, but {found} of the "
        "{n_records} given records are NOT what was released."
    ),
    "ledger_empty": "The ledger has no entries.",
    "ledger_whole": (
        "All entries ({n_entries}) are as they were written, in order. Entries cut off its end "
        "would not show: give the release.json files of its releases."
    ),
    "ledger_whole_with_records": (
        "All entries ({n_entries}) are as they were written, in order. It holds every entry that "
        "the given records ({n_records}) name, and they are as released."
    ),
}
"""By code; what stands in braces are the facts of the error."""
