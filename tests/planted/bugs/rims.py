"""Bugs at the rims: what is remembered, what is left in files, whose code is called, and what words and lists let through."""

from tests.planted.bug import Bug
from tests.planted.bugs.rims_readers import READERS

_STRANGE = "        kind: Any = next((one for one in QUERIES.values() if one is type(query)), None)"

_REMEMBERED = (
    Bug(
        "cells remembered as equal",
        "Cells of a mixed column are remembered by value alone: whichever of 1, 1.0 and True comes first decides for all.",
        "data.labels",
        old="        if len(kinds - {type(None)}) <= 1:",
        new="        if kinds:",
        caught_by=(
            "tests/data/test_labels.py::test_a_cell_is_matched_alone",
            "tests/laws/test_locality.py::test_a_row_is_a_function_of_its_record_alone[NumPy, equal numbers]",
        ),
    ),
    Bug(
        "instants remembered as equal",
        "Dates and times are remembered too, and one instant in two zones has the label of whichever comes first.",
        "data.labels",
        old="_PLAIN = frozenset({str, int, float, bool, bytes, type(None)})",
        new=(
            "from datetime import date, datetime\n\n"
            "_PLAIN = frozenset({str, int, float, bool, bytes, date, datetime, type(None)})"
        ),
        caught_by=("tests/laws/test_locality.py::test_a_row_is_a_function_of_its_record_alone[NumPy, equal instants]",),
    ),
    Bug(
        "kernels compiled when drawn",
        "Candidates of one solver are taken to be of one kind, and the folder of compiled kernels shows which others were drawn.",
        "curation.loaded",
        old="    return one.reads, one.fit.plan.solver, type(problem.loss), asked, shapes",
        new="    return (one.fit.plan.solver, len(asked), len(shapes))",
        caught_by=(
            "tests/model_selection/test_search_silence.py::test_candidates_of_one_solver_are_of_as_many_kinds_as_they_run_code",
        ),
    ),
    Bug(
        "subclasses of queries are sold",
        "A subclass of a query that calls itself not private is priced like any other, and states any price.",
        "queries",
        old=_STRANGE,
        new="        kind: Any = type(query) if isinstance(query, tuple(QUERIES.values())) else None\n"
        "        FIELDS.setdefault(kind, next((FIELDS[one] for one in QUERIES.values() if isinstance(query, one)), []))",
        caught_by=("tests/laws/test_foreign_solver.py::test_no_query_of_a_class_of_ones_own_is_sold[gradient]",),
    ),
    Bug(
        "frames of an interrupt",
        "An interrupt or an exit leaves the curator with the frames in which exact numbers lie.",
        "data.table",
        old="        except BaseException as error:",
        new="        except Exception as error:",
        caught_by=(
            "tests/curator/test_sealed.py::test_no_failure_carries_the_frames_in_which_numbers_lie[KeyboardInterrupt]",
        ),
    ),
    Bug(
        "a note on the machine's words",
        "What a failing machine says of a table is raised as it is, with a note of ours, and quotes names of files and bytes.",
        "release.request",
        old="        bare(type(error)() if isinstance(error, TornTable) else TornTable())\n",
        new="        error.add_note(TornTable.why)\n        raise\n",
        caught_by=("tests/data/test_parquet_folders.py::test_what_a_failing_disk_says_is_not_repeated",),
    ),
    Bug(
        "the fault in JSON",
        "With --json an internal fault is printed in its own words, which may quote records.",
        "cli.boundary",
        old='            told = {"ok": False, "error": {"kind": kind, "message": sentence}, "exit_code": int(code)}',
        new=(
            '            error = {"kind": kind, "message": sentence, "detail": repr(sys.exc_info()[1])}\n'
            '            told = {"ok": False, "error": error, "exit_code": int(code)}'
        ),
        caught_by=("tests/cli/test_refusals.py::test_an_internal_fault_shows_no_record",),
    ),
    Bug(
        "half a password of Redis",
        "Of a Redis password that holds an @ only what stands before it is hidden.",
        "data.sources.redis_stream",
        old="{parts.netloc.rpartition('@')[2]}",
        new="{parts.netloc.split('@', 1)[-1]}",
        caught_by=("tests/streaming/test_redis_address.py::test_a_password_with_any_mark_is_hidden_to_its_end",),
    ),
    Bug(
        "kernels kept by their file",
        "What is compiled of a kernel is kept under its own file's text, so it goes on running old helpers of other files.",
        "compiled",
        old="        return _hash(_described(kernel, {}))",
        new="        return _hash(Path(inspect.getfile(kernel.py_func)).read_bytes())",
        caught_by=("tests/test_compiled.py::test_every_kernel_has_a_digest_of_its_own",),
    ),
    Bug(
        "kernels kept by helpers' names",
        "The digest of a kernel names the kernels that it calls, and does not hold what they are made of.",
        "compiled",
        old='        return "kernel", _described([value.py_func, dict(value.targetoptions), dict(value.locals)], seen)',
        new=(
            "        if len(seen) > 1:\n"
            '            return "kernel", value.py_func.__module__, value.py_func.__qualname__\n'
            '        return "kernel", _described([value.py_func, dict(value.targetoptions), dict(value.locals)], seen)'
        ),
        caught_by=("tests/test_compiled.py::test_whatever_a_kernel_reads_changes_its_digest",),
    ),
    Bug(
        "kernels kept without closures",
        "Kernels that differ in what their closure holds are kept as one.",
        "compiled",
        old="        cells = [cell.cell_contents for cell in value.__closure__ or ()]\n",
        new="        cells = [name for name in value.__code__.co_freevars]\n",
        caught_by=("tests/test_compiled.py::test_whatever_a_closure_holds_changes_the_digest",),
    ),
    Bug(
        "kernels kept without constants",
        "The constants of its module that a kernel reads are not in its digest.",
        "compiled",
        old="for name in code.co_names if name in space]",
        new="for name in code.co_names if callable(space.get(name))]",
        caught_by=("tests/test_compiled.py::test_whatever_a_kernel_reads_changes_its_digest",),
    ),
    Bug(
        "levels remembered as equal",
        "The index of declared levels is remembered by the levels, and those of a column of 1 and 0 are then taken for those of True and False.",
        "data.labels",
        old="class LevelIndex:",
        new="from functools import lru_cache\n\n\n@lru_cache(maxsize=256)\nclass LevelIndex:",
        caught_by=("tests/data/test_labels.py::test_text_levels[a0]",),
    ),
    Bug(
        "people by the first letters",
        "People whose labels begin with the same 64 letters share one unit.",
        "data.encode",
        old="numbers.setdefault(label, len(numbers)) for label in labels]",
        new="numbers.setdefault(label and label[:64], len(numbers)) for label in labels]",
        caught_by=(
            "tests/laws/test_locality.py::test_what_a_unit_adds_is_a_function_of_its_records_alone[NumPy, objects]",
        ),
    ),
    Bug(
        "people by the process's digits",
        "A whole number that is longer than the process may write has no label, and its record is nobody's.",
        "data.labels",
        old="        return str(number) if abs(number) < 1 << 128 else hex(number)  # Python refuses to write long ones in decimal",
        new="        return str(number)",
        caught_by=("tests/laws/test_locality.py::test_a_cell_is_the_same_number_and_label_however_the_process_is_set",),
    ),
    Bug(
        "people by the decimal context",
        "Decimals are normalised under the thread's context, whose precision makes one person of two.",
        "data.labels",
        old="        return _decimal_label(cell)",
        new="        return _decimal_label(+cell)",
        caught_by=("tests/laws/test_locality.py::test_a_cell_is_the_same_number_and_label_however_the_process_is_set",),
    ),
    Bug(
        "a digest without weights",
        "The key of a search's draws is not bound to weights and offsets, so tables that differ in them have the same noise.",
        "curator.search_randomness",
        old="    yield from (rows.Y, rows.weight, rows.offset, rows.unit)",
        new="    yield rows.Y",
        caught_by=("tests/model_selection/test_search_keys.py::test_the_lottery_of_other_records_is_another",),
    ),
    Bug(
        "a digest without shapes",
        "Keys that are derived by arrays do not hold the arrays' types and shapes, so different tables may have one key.",
        "noise.keys",
        old='                digest.update(f"array {flat.dtype.str} {flat.shape}:".encode())\n',
        new='                digest.update(b"array:")\n',
        caught_by=("tests/noise/test_keys.py::test_other_words_derive_other_keys",),
    ),
    Bug(
        "parts whatever the records",
        "The number of runs, the candidates and the parts of a search are drawn before the key is bound to the records.",
        "curation.running",
        old="    lots = lots.about(rows.values())\n",
        new="",
        caught_by=(
            "tests/model_selection/test_search_keys.py::test_no_two_draws_share_a_key_and_one_record_changes_all_of_them",
        ),
    ),
)

_LEFT = (
    Bug(
        "the ledger is asked in each run",
        "Every run of a search asks the ledger whether its dataset is still there, and the database's log counts the runs.",
        "curation.running",
        old="        number = run if alone else lots.candidate(count, run)\n",
        new=(
            "        if plan.terms.ledger is not None and plan.terms.dataset is not None:  # it may have gone away meanwhile\n"
            "            plan.terms.ledger.dataset(plan.terms.dataset)\n"
            "        number = run if alone else lots.candidate(count, run)\n"
        ),
        caught_by=(
            "tests/model_selection/test_search_silence.py::test_no_file_no_row_no_call_and_no_statement_tells_the_number_of_runs[open]",
        ),
    ),
    Bug(
        "the end has its own length",
        "The end of a search is written as long as its text is, which tells a failure from a release, and one candidate from another, under a seal too.",
        "curation.kept",
        old=", room=self._plan.room)",
        new=")",
        caught_by=(
            "tests/model_selection/test_search_silence.py::test_the_end_fits_into_its_room_whichever_candidate_is_the_best[1-Ridge]",
        ),
    ),
    Bug(
        "the end keeps the time of the best run",
        "The state of a search that has ended says when its best run began, and so how many there were before it.",
        "curation.running",
        old=', made="")',
        new=")",
        caught_by=(
            "tests/model_selection/test_search_silence.py::test_no_file_no_row_no_call_and_no_statement_tells_the_number_of_runs[open]",
        ),
    ),
    Bug(
        "the ledger keeps the end's time",
        "The row of a search in the ledger says when it ended, and so how many runs there were.",
        "ledger.streams",
        old="    moved = case((_at.position < position, schema.now()), else_=_at.advanced_at)",
        new="    moved = schema.now()",
        caught_by=("tests/ledger/test_ledger_searches.py::test_no_statement_tells_the_number_of_runs[sqlite]",),
    ),
    Bug(
        "the statement has the end's time",
        "The statement of a search is made when the search has ended, and says when that was.",
        "model_selection.search",
        old=(
            "        begun = stated(terms, bought, kept.charge)  # not made at a time that tells how long it took\n"
            "        try:\n"
            "            with machine_failures():\n"
            "                best = search(plan, source, y, sample_weight, kept)\n"
        ),
        new=(
            "        try:\n"
            "            with machine_failures():\n"
            "                best = search(plan, source, y, sample_weight, kept)\n"
            "            begun = stated(terms, bought, kept.charge)\n"
        ),
        caught_by=(
            "tests/model_selection/test_search_silence.py::test_no_file_no_row_no_call_and_no_statement_tells_the_number_of_runs[open]",
        ),
    ),
    Bug(
        "killed saves stay",
        "A save that was killed before it took its name stays beside the state file, with private data in it.",
        "durable.state",
        old="            self._clear()\n            return sealed.from_bytes(",
        new="            return sealed.from_bytes(",
        caught_by=("tests/streaming/test_state.py::test_what_a_killed_save_left_is_removed_and_nothing_else",),
    ),
    Bug(
        "a place that shows its length",
        "The size of a state tells how many digits a byte offset has, and so how long records are.",
        "durable.sealed",
        old='header["source"] = text + " " * (-len(text) % _PLACE)',
        new='header["source"] = text',
        caught_by=("tests/replay/test_planted_streams.py::test_the_place_of_a_source_shows_its_presence_alone[plain]",),
    ),
)

_CODE = (
    Bug(
        "subclasses are the library's",
        "An object of somebody's own class is taken for the library's where its base is, and a search calls its methods in every run.",
        "foreign",
        old="    return not _lies_in(_PACKAGE, value if _is_code(value) else kind)",
        new=(
            "    kinds = [value] if _is_code(value) else kind.__mro__\n"
            "    return not any(_lies_in(_PACKAGE, one) for one in kinds)"
        ),
        caught_by=(
            "tests/test_foreign.py::test_what_is_foreign_is_told_by_itself_and_wherever_it_is_held[a subclass]",
        ),
    ),
    Bug(
        "a vertex asks nobody",
        "The query for a vertex does not look whose code its set is, which is then called with exact gradients.",
        "selection.vertex",
        old="        super().__post_init__()\n",
        new="",
        caught_by=("tests/curator/test_own_shapes.py::test_a_vertex_is_chosen_in_a_set_of_the_library_alone",),
    ),
    Bug(
        "arrays as they come",
        "A solver's arrays are taken as they are where they hold doubles: one of a class of its own sees the exact numbers that it is added to.",
        "curator.known",
        old='    found = np.array(value, dtype=np.float64, order="C")',
        new='    found = np.asanyarray(value, dtype=np.float64, order="C")\n    if found is not None:\n        return found',
        caught_by=("tests/laws/test_foreign_solver.py::test_a_solver_hears_nothing_but_answers",),
    ),
    Bug(
        "numbers as they come",
        "A solver's number is taken as it is where it is a float: one of a class of its own sees the exact numbers that it is multiplied by.",
        "curator.known",
        old="    return float(value)",
        new="    return value if isinstance(value, float) else float(value)",
        caught_by=("tests/laws/test_foreign_solver.py::test_a_question_holds_no_number_of_a_solvers_own",),
    ),
    Bug(
        "handlers hear of runs",
        "NumPy's and SciPy's own handlers of floating-point errors are called in the runs of a search, with what happened in them.",
        "curation.running",
        old="    with warnings.catch_warnings(), quiet():",
        new="    with warnings.catch_warnings():",
        caught_by=(
            "tests/model_selection/test_search_silence.py::test_runs_warn_nobody_and_call_no_handler_of_the_users",
        ),
    ),
)

_WORDS = (
    Bug(
        "did you mean",
        "Where a declared column is not there, the error proposes the table's most similar name, which may be a record.",
        "data.schema",
        old='        what_found = "no such column" if not found else f"{len(found)} columns of that name"\n',
        new=(
            "        import difflib\n\n"
            "        near = difflib.get_close_matches(name, [one.revealed() for one in schema.names], 1, 0.2)\n"
            '        missing = f"no such column (perhaps {near[0]!r} is meant)" if near else "no such column"\n'
            '        what_found = missing if not found else f"{len(found)} columns of that name"\n'
        ),
        caught_by=("tests/laws/test_texts.py::test_no_text_of_a_table_is_heard_by_who_passes_it",),
    ),
    Bug(
        "a warning of other columns",
        "Columns that the domain does not declare cause a warning, which quotes their names.",
        "data.schema",
        old="        return schema.matched[names]\n",
        new=(
            "        left = [one.revealed() for one in schema.names if one not in names and one not in others]\n"
            "        if left:\n"
            "            import warnings\n\n"
            '            warnings.warn(f"The columns {left} of the table are not declared and not used.", stacklevel=2)\n'
            "        return schema.matched[names]\n"
        ),
        caught_by=("tests/laws/test_texts.py::test_no_text_of_a_table_is_heard_by_who_passes_it",),
    ),
    Bug(
        "a log of the first line",
        "The names in the first line of a CSV file are logged, and without a line of names that is a record.",
        "data.readers.csvfile",
        old="        return tuple(name.strip() for name in self.cells(text)[0])",
        new=(
            "        import logging\n\n"
            "        names = tuple(name.strip() for name in self.cells(text)[0])\n"
            '        logging.getLogger(__name__).debug("The columns of the CSV file are %s.", names)\n'
            "        return names"
        ),
        caught_by=("tests/laws/test_texts.py::test_no_text_of_a_table_is_heard_by_who_passes_it",),
    ),
    Bug(
        "the reader's own words",
        "The error of a damaged Parquet file is PyArrow's own, which quotes the file.",
        "data.readers.parquet",
        old="    with suppress(Exception):  # reason: the reader's own error may quote bytes of the file",
        new="    with suppress(SchemaError):",
        caught_by=("tests/laws/test_texts.py::test_no_text_of_a_table_is_heard_by_who_passes_it",),
    ),
    Bug(
        "no debugging is debugging",
        "HULLABALOO_DEBUG=0 turns tracebacks on.",
        "cli.boundary",
        old='        debug = os.environ.get(DEBUG, "").strip().lower() not in OFF',
        new="        debug = bool(os.environ.get(DEBUG))",
        caught_by=("tests/laws/test_passwords.py::test_tracebacks_are_off_where_that_is_said[0]",),
    ),
    Bug(
        "a password among options",
        "A password that is an option of a ledger's address is shown, saved and written into models.",
        "ledger.address",
        old='        secret = {name: "***" for name in self.url.query if "password" in name.lower()}',
        new='        secret = {name: "***" for name in self.url.query if name == "password"}',
        caught_by=(
            "tests/ledger/test_ledger_address.py::test_postgres_goes_through_psycopg_and_hides_the_password[postgres]",
        ),
    ),
    Bug(
        "rows of people's tables",
        "Under replace-one with people the statement leaves out for how many rows its guarantee is proved.",
        "release.release",
        old='        if self.horizon is not None or (self.neighbours is Neighbours.REPLACE_ONE and self.unit == "record"):',
        new="        if self.horizon is not None or self.neighbours is Neighbours.REPLACE_ONE:",
        caught_by=("tests/test_release.py::test_the_sentence",),
    ),
    Bug(
        "a bound of another ball",
        "The lower bound for the unit l1 ball is printed for every l1 ball, though smaller ones are easier.",
        "planning.theory.lower_bounds",
        old='    if isinstance(body, L1Ball) and free and body.radius == 1.0 and problem.loss.name == "squared":',
        new='    if isinstance(body, L1Ball) and free and problem.loss.name == "squared":',
        caught_by=(
            "tests/planning/test_lower_bounds.py::test_the_lasso_bound_is_shown_where_its_own_hard_table_may_be_and_nowhere_else",
        ),
    ),
    Bug(
        "a bound of steps that see less",
        "Frank–Wolfe's bound is printed beside intercepts whose interval its steps do not see all of.",
        "planning.theory.upper_bounds",
        old="    if problem.intercept and walk.window is not None and high - low > walk.window:\n        return None\n",
        new="",
        caught_by=("tests/planning/test_upper_bounds.py::test_no_bound_stands_where_its_theorem_does_not_hold",),
    ),
    Bug(
        "a bound of another delta",
        "Lower bounds that hold for small ε and δ are printed for large ones as well.",
        "planning.theory.lower_bounds",
        old="    if epsilon <= 1.0 and delta * problem.records <= 1.0:\n        rates += _straight(problem, epsilon, body)\n",
        new="    rates += _straight(problem, epsilon, body)\n",
        caught_by=(
            "tests/planning/test_lower_bounds.py::test_rates_of_straight_losses_are_shown_where_a_loss_is_straight",
        ),
    ),
)

RIMS: tuple[Bug, ...] = (*READERS, *_REMEMBERED, *_LEFT, *_CODE, *_WORDS)
