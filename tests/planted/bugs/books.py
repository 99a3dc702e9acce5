"""Bugs in what releases cost, and in the ledger that adds them up."""

from tests.planted.bug import Bug

BOOKS = (
    Bug(
        "composition of Gaussians",
        "The μ of a composition is that of the dearest part.",
        "privacy.composition",
        old="            total += count * Fraction(mu) ** 2\n",
        new="            total = max(total, Fraction(mu) ** 2)\n",
        caught_by=("tests/privacy/test_accountant.py::test_gaussian_releases_of_every_count_against_rdp_and_pld",),
    ),
    Bug(
        "composition of selections",
        "The pure ε of a composition forgets how often each part is used.",
        "privacy.composition",
        old="return sum_at_least((event.pure_epsilon(), count) for event, count in self.parts)",
        new="return sum_at_least((event.pure_epsilon(), 1) for event, count in self.parts)",
        caught_by=("tests/privacy/test_events.py::test_a_composition_costs_what_its_parts_cost_together",),
    ),
    Bug(
        "groups cost as one",
        "What k records of a person cost is what one costs.",
        "privacy.composition",
        old="return ComposedEvent(tuple((event.group(k), count) for event, count in self.parts))",
        new="return ComposedEvent(tuple((event.group(1), count) for event, count in self.parts))",
        caught_by=(
            "tests/privacy/test_events.py::test_group_of_gaussians_is_k_mu",
            "tests/privacy/test_events.py::test_groups_of_records",
        ),
    ),
    Bug(
        "equal charges count once",
        "Of charges that cost the same the ledger adds one.",
        "privacy.filters",
        old="main, rest = main + count * Fraction(cost[0]) ** power, rest + count * Fraction(cost[1])",
        new="main, rest = main + Fraction(cost[0]) ** power, rest + Fraction(cost[1])",
        caught_by=("tests/privacy/test_filters.py::test_many_small_fits[basic]",),
    ),
    Bug(
        "a root forgotten",
        "The gdp filter compares Σμ² with 2μ in place of μ².",
        "privacy.gdp_filter",
        old="return Fraction(capacity[0]) ** 2 - square, Fraction(capacity[1]) - tail",
        new="return 2 * Fraction(capacity[0]) - square, Fraction(capacity[1]) - tail",
        caught_by=(
            "tests/privacy/test_filters.py::test_remaining_is_a_budget_that_still_fits",
            "tests/privacy/test_filters.py::test_one_full_fit_and_no_second[Budget.gdp(0.24)-gdp]",
        ),
    ),
    Bug(
        "a free allowance",
        "The basic filter lets a thousandth more through than there is, for rounding.",
        "privacy.basic_filter",
        old="BASIC_ROOM = Fraction(1) + Fraction(1, 2**51)",
        new="BASIC_ROOM = Fraction(1) + Fraction(1, 1000)",
        caught_by=(
            "tests/privacy/test_filters.py::test_no_number_of_charges_gathers_rounding",
            "tests/privacy/test_filters.py::test_any_equal_split_fills_the_basic_filter_exactly[1000]",
        ),
    ),
    Bug(
        "the event is not held against its budget",
        "A charge takes what it declares, whatever its event costs.",
        "privacy.filters",
        old="    if not declared.admits(event):\n",
        new="    if not declared.admits(event) and declared.pair is None:\n",
        caught_by=(
            "tests/privacy/test_filters.py::test_a_charge_may_not_declare_less_than_it_costs[basic]",
            "tests/ledger/test_ledger_budget.py::test_an_event_above_its_declared_budget_is_refused[gdp]",
        ),
    ),
    Bug(
        "test keys are charged",
        "The ledger takes the charge of a release whose noise comes from a test key.",
        "ledger.store",
        old="    if request.test_key:\n",
        new="    if request.test_key and request.who is not None:\n",
        caught_by=(
            "tests/ledger/test_ledger_budget.py::test_what_is_not_private_is_refused[renyi]",
            "tests/test_fit.py::test_what_is_refused_is_refused_before_anything_is_read_or_spent[test key]",
        ),
    ),
    Bug(
        "relations are mixed",
        "A charge under one relation is taken by a dataset of the other.",
        "ledger.store",
        old="    if request.neighbours is not dataset.neighbours:\n",
        new="    if request.neighbours is not dataset.neighbours and request.neighbours is Neighbours.ADD_OR_REMOVE:\n",
        caught_by=("tests/ledger/test_ledger_budget.py::test_the_other_relation_is_refused_by_either_kind_of_dataset",),
    ),
    Bug(
        "units are mixed",
        "A charge that protects records is taken by a dataset that protects people.",
        "ledger.store",
        old="    if (request.unit, request.records_per_unit) != (dataset.unit, dataset.records_per_unit):\n",
        new="    if request.records_per_unit > dataset.records_per_unit:\n",
        caught_by=("tests/ledger/test_ledger_budget.py::test_another_relation_or_unit_is_refused[sqlite-other1-unit]",),
    ),
    Bug(
        "rows may vanish",
        "The ledger does not notice that rows were removed from it.",
        "ledger.store",
        old="    if sum(count for _, count in found) != dataset.charges:\n",
        new="    if sum(count for _, count in found) > dataset.charges:\n",
        caught_by=(
            "tests/ledger/test_ledger_verify.py::test_a_damaged_dataset_takes_no_more_charges[sqlite-DELETE FROM hullabaloo_charge WHERE dataset = 'clinic' AND number = 1]",
        ),
    ),
    Bug(
        "a full budget is no obstacle",
        "A charge is compared with what the dataset had at the beginning.",
        "ledger.pricing",
        old="    if not rule.admits(dataset.capacity, spent, cost):\n",
        new="    if not rule.admits(dataset.capacity, (), cost):\n",
        caught_by=(
            "tests/ledger/test_ledger_budget.py::test_exactly_one_default_fit_at_the_full_budget[Budget(epsilon=0.1, delta=1e-06)-renyi]",
        ),
    ),
    Bug(
        "a copy of a stream is accepted",
        "A save is taken that does not continue the last one: a stream's state can be restored twice.",
        "ledger.streams",
        old="        .where(mine & (_at.token == step.previous) & (_at.position <= step.position))\n",
        new="        .where(mine & (_at.position <= step.position))\n",
        caught_by=("tests/ledger/test_ledger_streams.py::test_a_save_has_one_successor[sqlite]",),
    ),
    Bug(
        "two charges for one name",
        "A stream that begins again under a name that was charged for something else is taken for paid.",
        "ledger.streams",
        old="    if made is None or made.event != json.loads(rows.dump(request.event.to_dict())) or made.budget != request.budget:\n",
        new="    if made is None:\n",
        caught_by=(
            "tests/ledger/test_ledger_streams.py::test_a_name_that_was_charged_for_something_else_is_refused[sqlite-{'event': GaussianEvent(noise_multiplier=201.0, samples=1000)}]",
        ),
    ),
)
