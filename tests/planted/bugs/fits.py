"""Bugs in the order of a fit, in what it shows, and in how its answers are priced."""

from tests.planted.bug import Bug

_CHARGED = (
    "    charge = request.charge(bought.event, bought.budget, dict(detail))\n"
    "    statement = stated(request, bought, charge)  # not made at a time that tells how long it took\n"
    "    with machine_failures():\n"
    "        found = answered(taken(encoding, table, target, weight), bought, read, request.key)"
)
_STATED = "    statement = stated(request, bought, charge)"
_READ = (
    "    curator = Curator(rows, bought.queries, key=key)\n"
    "    del rows  # whoever fails below finds none in this frame\n"
    "    return read(curator)"
)

FITS = (
    Bug(
        "charge after the release",
        "A fit is charged once its model is there: a refusal, or a kill in between, leaves a release that nobody paid for.",
        "release.run",
        old=_CHARGED,
        new=(
            "    with machine_failures():\n"
            "        found = answered(taken(encoding, table, target, weight), bought, read, request.key)\n"
            f"    charge = request.charge(bought.event, bought.budget, dict(detail))\n{_STATED}"
        ),
        caught_by=(
            "tests/test_fit.py::test_what_is_refused_is_refused_before_anything_is_read_or_spent[infinite epsilon]",
            "tests/test_fit.py::test_a_fit_is_charged_once_and_the_second_is_refused_before_anything_is_read",
        ),
    ),
    Bug(
        "charge after reading",
        "Records are read before the ledger is asked.",
        "release.run",
        old=_CHARGED,
        new=(
            "    with machine_failures():\n"
            "        rows = taken(encoding, table, target, weight)\n"
            "        charge = request.charge(bought.event, bought.budget, dict(detail))\n"
            f"        found = answered(rows, bought, read, request.key)\n{_STATED}"
        ),
        caught_by=("tests/test_fit.py::test_a_charge_that_is_refused_at_last_comes_before_anything_is_read",),
    ),
    Bug(
        "question charged after reading",
        "A question that is not a fit reads the records before the ledger is asked.",
        "release.run",
        old=_CHARGED,
        new=(
            "    if target is None:\n"
            "        rows = taken(encoding, table, target, weight)\n"
            "    charge = request.charge(bought.event, bought.budget, dict(detail))\n"
            "    with machine_failures():\n"
            "        if target is not None:\n"
            "            rows = taken(encoding, table, target, weight)\n"
            f"        found = answered(rows, bought, read, request.key)\n{_STATED}"
        ),
        caught_by=(
            "tests/test_bounds.py::test_a_failing_reader_leaves_the_charge",
            "tests/test_bounds.py::test_a_ledger_charges_once_before_reading_and_refuses_the_second",
        ),
    ),
    Bug(
        "a part read twice",
        "The first part of a table that is read in parts is handed over twice, so its records count double.",
        "data.engines.local",
        old="        yield next(tables, self._reading.nothing())\n",
        new="        first = next(tables, self._reading.nothing())\n        yield from [first] * (2 if first.n_rows else 1)\n",
        caught_by=("tests/data/test_scan.py::test_bits_are_those_of_the_table_in_memory[moments]",),
    ),
    Bug(
        "a share of a unit in every part",
        "Of a person whose records lie in several parts, each part's share counts.",
        "data.engines.units",
        old="    return np.asarray(whole[counts[",
        new="    return whole if True else np.asarray(whole[counts[",
        caught_by=("tests/data/engines/test_units.py::test_neighbours_differ_in_one_units_share[1-16777216]",),
    ),
    Bug(
        "a sparse row cut in two",
        "Of a sparse row whose cells lie in two sealed blocks, the first block's decide whether it counts.",
        "data.engines.units",
        old="            yield words[:end]\n            rest = words[end:]\n",
        new="            yield words\n",
        caught_by=("tests/data/engines/test_units.py::test_neighbours_differ_in_one_units_share[2-16384]",),
    ),
    Bug(
        "a number read nearly",
        "Of a number in a CSV file the nearest double is guessed where it is not certain.",
        "data.readers.csv_kernels",
        old="        if value == other:\n",
        new="        if value != 0.0 or other != 1.0:\n",
        caught_by=("tests/data/test_csv_kernels.py::test_numbers_are_the_nearest_doubles",),
    ),
    Bug(
        "another table the second time",
        "A source that gives other records the second time is not found out.",
        "data.parts",
        old="        elif self._seen[0] != (tally.count, tally.checksum):",
        new="        elif self._seen[0][0] != tally.count:",
        caught_by=("tests/data/test_scan.py::test_other_records_the_second_time_release_nothing[one cell-0]",),
    ),
    Bug(
        "an uncharged retry",
        "A model whose coefficients are implausible is fitted again, at no further charge.",
        "release.run",
        old=_READ,
        new=(
            "    found = read(Curator(rows, bought.queries, key=key))\n"
            "    if (getattr(found, 'theta', math.nan) ** 2).sum() > 0.25:\n"
            "        found = read(Curator(rows, bought.queries, key=key))\n"
            "    return found"
        ),
        caught_by=("tests/test_audit.py::test_nothing_is_learned_beyond_the_statement[gradient, removed]",),
    ),
    Bug(
        "a refusal is overlooked",
        "When the ledger refuses, the fit goes on without a charge.",
        "release.run",
        old="    charge = request.charge(bought.event, bought.budget, dict(detail))",
        new=(
            "    from hullabaloo.errors import LedgerError\n\n"
            "    try:\n"
            "        charge = request.charge(bought.event, bought.budget, dict(detail))\n"
            "    except LedgerError:\n"
            "        charge = None"
        ),
        caught_by=(
            "tests/test_fit.py::test_what_is_refused_is_refused_before_anything_is_read_or_spent[infinite epsilon]",
            "tests/test_fit.py::test_a_fit_is_charged_once_and_the_second_is_refused_before_anything_is_read",
        ),
    ),
    Bug(
        "plans of one's own are believed",
        "A plan need not be made of the price list's queries, so its events are what a solver claims that they are.",
        "release.run",
        old='    queries = _owned(prices, told, f"The plan of solver {plan.solver!r}")',
        new="    queries: Any = tuple(plan.queries)",
        caught_by=("tests/test_attack_solvers.py::test_a_solver_of_ones_own_buys_from_the_menu_alone[records]",),
    ),
    Bug(
        "a statement has the end's time",
        "The statement of a fit is made when records have been read, and says when that was: how long it took, and so how many they are.",
        "release.run",
        old=_CHARGED,
        new=(
            "    charge = request.charge(bought.event, bought.budget, dict(detail))\n"
            "    with machine_failures():\n"
            f"        found = answered(taken(encoding, table, target, weight), bought, read, request.key)\n{_STATED}"
        ),
        caught_by=("tests/test_release.py::test_no_statement_tells_how_long_reading_took[fit]",),
    ),
    Bug(
        "the number of rows is shown",
        "Under add-or-remove the statement gives the true number of records in place of the declared one.",
        "release.run",
        old="    return Released(found, statement, bought.queries)",
        new=(
            "    from dataclasses import replace\n\n"
            "    statement = replace(statement, records=table.n_rows)\n"
            "    return Released(found, statement, bought.queries)"
        ),
        caught_by=("tests/test_fit.py::test_add_or_remove_hides_the_number_of_rows[moments]",),
    ),
    Bug(
        "a refusal that counts rows",
        "Under add-or-remove a table of fewer records than declared is refused, so a refusal tells how many there are.",
        "release.run",
        old=_READ,
        new=(
            "    if 2 * len(rows.Y) < bought.records:\n"
            '        raise InvalidParameter(f"The table has {len(rows.Y)} records, fewer than half of those declared.")\n'
            f"{_READ}"
        ),
        caught_by=("tests/test_every_outcome.py::test_two_records_whatever_was_declared[100000-moments-plain]",),
    ),
    Bug(
        "a refusal that looks at targets",
        "A table in which every target is the same is refused, after the charge.",
        "release.run",
        old=_READ,
        new=(
            "    if rows.Y.size and rows.Y.max() == rows.Y.min():\n"
            '        raise InvalidParameter(f"Every target is {rows.Y[0, 0]!r}, so there is nothing to learn.")\n'
            f"{_READ}"
        ),
        caught_by=("tests/test_every_outcome.py::test_few_records_and_many_equal_columns[False-1]",),
    ),
    Bug(
        "the key in the release",
        "For replays the release holds the key that its noise was drawn with: whoever has it subtracts the noise.",
        "release.planned",
        old='        plan = {**self.plan.to_dict(), "queries": list(self.bought.noise), "without inference": self.without}\n',
        new='        plan = {**self.plan.to_dict(), "queries": list(self.bought.noise), "without inference": self.without, "seed": (self.task.key or __import__("hullabaloo.noise").noise.TestKey(__import__("os").urandom(32))).secret.hex()}\n',
        caught_by=(
            "tests/test_fit.py::test_add_or_remove_hides_the_number_of_rows[moments]",
            "tests/test_fit.py::test_values_never_decide_the_outcome[nan-moments]",
        ),
    ),
    Bug(
        "the error of training in the release",
        "Beside the model the release has its exact error on the records, as a line of the statement.",
        "release.run",
        old="    return Released(found, statement, bought.queries)",
        new=(
            "    from dataclasses import replace\n\n"
            "    rows, theta = encoding.encode(table, target, weight=weight), getattr(found, 'theta', None)\n"
            "    line = {'fit': 0.0 if theta is None else float(((rows.X @ theta - rows.Y) ** 2).mean())}\n"
            "    return Released(found, replace(statement, query_noise=(*statement.query_noise, line)), bought.queries)"
        ),
        caught_by=(
            "tests/test_fit.py::test_add_or_remove_hides_the_number_of_rows[moments]",
            "tests/test_fit.py::test_values_never_decide_the_outcome[nan-moments]",
        ),
    ),
    Bug(
        "the test key is not mentioned",
        "The statement of a fit under a test key does not say that it is not private.",
        "release.run",
        old='"" if request.key is None else "test_key"',
        new='""',
        caught_by=(
            "tests/test_release.py::test_whatever_is_made_of_a_release_that_is_not_private_says_so[options1]",
            "tests/test_release.py::test_a_mark_that_is_not_known_is_not_dropped",
        ),
    ),
    Bug(
        "the statement of a record",
        "The statement of a fit that protects people says that it protects records.",
        "release.run",
        old="        unit=request.unit,\n        records_per_unit=request.domain.records_per_unit,\n",
        new='        unit="record",\n        records_per_unit=1,\n',
        caught_by=("tests/test_fit.py::test_units_of_several_records_need_a_declared_number_and_cost_more",),
    ),
    Bug(
        "rows kept in the model",
        "The fitted estimator keeps the records, and whoever unpickles it has them.",
        "linear_model.base",
        old="            self._tell(callback, points or [])\n        return self\n\n    @quiet()\n    def price(",
        new="            self._tell(callback, points or [])\n        self.X_fit_ = X\n        return self\n\n    @quiet()\n    def price(",
        caught_by=("tests/linear_model/test_models.py::test_a_fitted_model_and_its_pickle_hold_no_record",),
    ),
    Bug(
        "the spread of gradients is heavy",
        "Second moments of gradients weigh a record by the square of its weight, and the sensitivity is that of the weight.",
        "curator.shortened_moments",
        old="            root = root**2 / math.sqrt(self.facts.max_weight)",
        new="            root = root**2",
        caught_by=(
            "tests/curator/test_gradient_moments.py::test_no_neighbour_moves_the_sum_by_more_than_the_sensitivity[weights-add-or-remove]",
            "tests/curator/test_gradient_moments.py::test_the_answer_is_the_formula[squared-gradients-dense]",
        ),
    ),
    Bug(
        "a steep gradient is not shortened",
        "Second moments of gradients shorten records, and then multiply by the derivative.",
        "curator.centred_gradient_kernels",
        old="        d = min(f / clip_norm, 1.0 / math.sqrt(squares))\n        if root",
        new="        d = f * min(1.0 / clip_norm, 1.0 / math.sqrt(squares))\n        if root",
        caught_by=(
            "tests/curator/test_gradient_moments.py::test_no_neighbour_moves_the_sum_by_more_than_the_sensitivity[p7-replace-one]",
        ),
    ),
    Bug(
        "a unit is counted too often",
        "Of the sums of units' gradients each is counted as often as pairs of its records, and the sensitivity is m times that of a record.",
        "curator.shortened_moments",
        old="made.times(self.facts.records_per_unit)",
        new="made.times(self.facts.records_per_unit**2)",
        caught_by=(
            "tests/curator/test_gradient_moments.py::test_no_neighbour_moves_the_sum_by_more_than_the_sensitivity[units-replace-one]",
        ),
    ),
    Bug(
        "inference is not paid for",
        "What is bought for errors is left out of the plan's price.",
        "solvers.score.with_inference",
        old="            return made if allowance.takes(made.event) else None",
        new="            return made if allowance.takes(own.event) else None",
        caught_by=(
            "tests/solvers/test_with_inference.py::test_the_plan_costs_at_most_the_budget_and_nearly_all_of_it",
        ),
    ),
    Bug(
        "count forgotten in composition",
        "A plan of T answers is priced as one answer, and bounds of many columns as those of one.",
        "privacy.composition",
        old="return compose(*(compose(event, count=count) for event, count in events))",
        new="return compose(*(event for event, _ in events))",
        caught_by=(
            "tests/test_bounds.py::test_every_column_is_paid_for",
            "tests/solvers/test_gradient.py::test_a_plan_costs_at_most_the_budget_and_nearly_all_of_it[2.0-replace-one]",
        ),
    ),
    Bug(
        "the first quote alone is priced",
        "A plan of several queries is priced as its first.",
        "privacy.composition",
        old="events = [(query.event, query.count) for query in queries]",
        new="events = [(query.event, query.count) for query in queries[:1]]",
        caught_by=(
            "tests/solvers/test_coordinate_descent.py::test_a_plan_costs_at_most_the_budget_and_nearly_all_of_it[0.2367-gaussian-add-or-remove]",
        ),
    ),
    Bug(
        "a budget spent twice",
        "Two queries of a plan get the whole μ each, and the check of a plan's price is loose enough to let it pass.",
        "solvers.coordinate.coordinate_descent",
        old='bought = prices.price("second_moments", mu=mu * math.sqrt(rule.CONSTANTS))',
        new='bought = prices.price("second_moments", mu=mu)',
        caught_by=(
            "tests/solvers/test_coordinate_descent.py::test_a_plan_costs_at_most_the_budget_and_nearly_all_of_it[0.2367-gaussian-replace-one]",
        ),
    ),
    Bug(
        "steps that depend on the records",
        "A solver stops when its answers no longer change much: how many were asked tells how the records lie, and is not priced.",
        "solvers.loop",
        old="        theta = step(t, theta)\n",
        new="        before, theta = theta, step(t, theta)\n        if t > 2 and np.linalg.norm(theta - before) < 0.05:\n            return theta\n",
        caught_by=("tests/solvers/test_gradient.py::test_evidence_is_traced_and_questions_follow_the_plan_alone",),
    ),
)
