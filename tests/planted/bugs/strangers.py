"""Bugs that let somebody else's code meet what is not released."""

from tests.planted.bug import Bug

_SHAPES = "tests/laws/test_foreign_code.py"
_SOLVER = "tests/laws/test_foreign_solver.py"

STRANGERS = (
    Bug(
        "any penalty inside a minimiser",
        "A query looks at the losses that it is made of, and not at its sets and penalties.",
        "curator.query",
        old='if one.name != "facts"]',
        new='if one.name not in ("facts", "feasible", "penalty")]',
        caught_by=(
            f"{_SOLVER}::test_no_query_is_made_of_strangers[output_perturbation]",
            "tests/curator/test_own_shapes.py::test_a_prox_that_raises_tells_nothing_of_a_noise_free_iterate[a penalty-output_perturbation]",
        ),
    ),
    Bug(
        "subclasses count as the library's own",
        "A class counts as the library's own if it descends from one that is.",
        "foreign",
        old="    return not _lies_in(_PACKAGE, value if _is_code(value) else kind)",
        new="    return not any(_lies_in(_PACKAGE, one) for one in ([value] if _is_code(value) else kind.__mro__))",
        caught_by=(
            "tests/test_foreign.py::test_what_is_foreign_is_told_by_itself_and_wherever_it_is_held[a subclass]",
        ),
    ),
    Bug(
        "arrays of a solver's own kind",
        "What a solver hands over stays the array that it was, which is shown what it is added to.",
        "curator.known",
        old='    found = np.array(value, dtype=np.float64, order="C")',
        new="    found = np.asanyarray(value, dtype=np.float64)\n    if found is not None:\n        return found",
        caught_by=(f"{_SOLVER}::test_a_solver_hears_nothing_but_answers",),
    ),
    Bug(
        "errors with their frames",
        "An error leaves the curator with the frames that it came through, in which the rows are.",
        "data.table",
        old="                part.__set__(fault, None)",
        new="                _ = part",
        caught_by=(
            "tests/curator/test_sealed.py::test_no_failure_carries_the_frames_in_which_numbers_lie[KeyboardInterrupt]",
        ),
    ),
    Bug(
        "numbers that compare as they like",
        "A price list takes what was made by its own class, whatever numbers it was made of.",
        "queries",
        old="        if type(found) is not RowFacts or stranger(found) is not None:\n            return None\n",
        new="        found: Any = found\n",
        caught_by=(f"{_SOLVER}::test_facts_that_say_they_are_equal_are_not_believed",),
    ),
    Bug(
        "a price that a solver wrote",
        "What a query has worked out of itself is taken from its record, where a solver can write a price of its choice.",
        "queries",
        old="        return made if records == self.records else None",
        new="        return query  # type: ignore[return-value]",
        caught_by=(f"{_SOLVER}::test_what_a_solver_writes_beside_a_query_is_not_believed[gradient]",),
    ),
    Bug(
        "the plan's own records",
        "The curator keeps the queries that the solver holds too, which can change how often each may be asked, and its noise.",
        "curator.curator",
        old="tuple(query.afresh() for query in queries)",
        new="tuple(queries)",
        caught_by=(f"{_SOLVER}::test_what_a_solver_writes_beside_a_query_is_not_believed[moments]",),
    ),
    Bug(
        "counted before it is converted",
        "How many answers are left is looked at before a question is converted, which may ask in between.",
        "curator.curator",
        old="            if (some := left if found is query else 0) < times:",
        new="            if (some := _) < times:",
        caught_by=(
            "tests/laws/test_foreign_numbers.py::test_a_question_that_asks_while_it_is_made_gets_no_more_answers[gradient-theta]",
        ),
    ),
    Bug(
        "prices in eight bits",
        "A query is bought of whatever numbers it was made of, which may round, wrap around or change.",
        "queries",
        old="held = {name: plain(given[name], told) for name, told in FIELDS[kind][3:]}",
        new="held = {name: given[name] for name, _ in FIELDS[kind][3:]}",
        caught_by=("tests/laws/test_foreign_numbers.py::test_numbers_of_numpy_are_priced_as_what_they_hold[uint8]",),
    ),
    Bug(
        "the handler of a question",
        "Answers are computed under the settings that a question has left behind: NumPy tells what it finds wrong with exact sums.",
        "curator.curator",
        old='        with self.__lock, np.errstate(all="ignore"):  # whatever the question has set',
        new="        if found is query:",
        caught_by=("tests/laws/test_foreign_numbers.py::test_nobody_hears_what_numpy_finds_wrong_with_records",),
    ),
    Bug(
        "a prox beside records",
        "Coordinates are updated inside the curator under whatever form a solver hands over.",
        "curator.coordinate_gradient",
        old="if type(form) is not SeparableForm or form.own is not None:",
        new="if type(form) is not SeparableForm and form.own is not None:",
        caught_by=(
            f"{_SOLVER}::test_a_prox_of_ones_own_does_not_run_beside_records",
            "tests/curator/test_coordinate_gradient.py::test_answers_are_spent_at_once_and_none_beyond_those_paid_for",
        ),
    ),
    Bug(
        "exact scores of a set of one's own",
        "Frank–Wolfe takes the vertices of any set that has some, and their choice is made by the exact gradient.",
        "solvers.frank_wolfe.frank_wolfe",
        old='        if self.form == "auto" and foreign(problem.constraint) is not None:',
        new='        if self.form == "auto" and foreign(problem.penalty) is not None:',
        caught_by=(f"{_SHAPES}::test_a_shape_of_ones_own_is_shown_noisy_answers_only[a set-frank_wolfe]",),
    ),
    Bug(
        "records shown to a set",
        "A sketch asks any set whether a record lies inside.",
        "curation.sketch",
        old="        stranger = foreign(self.inside)",
        new="        stranger = foreign(self.size)",
        caught_by=("tests/curator/test_own_shapes.py::test_a_sketch_shows_records_to_no_set_of_ones_own",),
    ),
)
