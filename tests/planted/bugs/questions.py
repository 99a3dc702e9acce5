"""Bugs in questions that are not fits: evaluations, private bounds, and searches."""

from tests.planted.bug import Bug

QUESTIONS = (
    Bug(
        "score: contributions not clipped",
        "Predictions beyond the declared bounds of the target count as they are, so one record moves a score without limit.",
        "losses.readings",
        old="np.clip(np.where(np.isnan(numbers), 0.0, numbers), 0.0, 1.0)",
        new="np.where(np.isnan(numbers), 0.0, numbers)",
        caught_by=(
            "tests/curator/test_score.py::test_no_neighbour_moves_the_sums_by_more_than_the_sensitivity[counts-replace-one-{'offset': 2.0}]",
        ),
    ),
    Bug(
        "score: half of its range",
        "What a record adds to a score is twice as large as its stated radius and diameter.",
        "losses.scores",
        old="return np.column_stack([0.5 * v, 0.5 * (np.square(v) - 1.0)])",
        new="return np.column_stack([v, np.square(v) - 1.0])",
        caught_by=(
            "tests/curator/test_score.py::test_no_neighbour_moves_the_sums_by_more_than_the_sensitivity[squared-replace-one-{'unit': 2}]",
        ),
    ),
    Bug(
        "score: wrong relation",
        "Under replace-one a score has the sensitivity of a record added or removed.",
        "curator.score",
        old="(apart if self.facts.alike else max(radius, apart)) * stretch + 2.0 * rounded",
        new="radius * stretch + 2.0 * rounded",
        caught_by=(
            "tests/curator/test_score.py::test_no_neighbour_moves_the_sums_by_more_than_the_sensitivity[outcome-replace-one-{}]",
        ),
    ),
    Bug(
        "quantiles: wrong norm",
        "The two ends of a pair are reckoned to move apart, not together, when a record comes or goes.",
        "selection.quantiles",
        old="return max(sum(asked), *(1.0 - share for share in asked))",
        new="return sum(asked)",
        caught_by=(
            "tests/curator/test_quantiles.py::test_the_sensitivity_is_reached[add-or-remove-0.75]",
            "tests/curator/test_quantiles.py::test_no_neighbour_moves_a_score_further_than_stated[1-(0.25, 0.25)-add-or-remove]",
        ),
    ),
    Bug(
        "quantiles: unit ignored",
        "A person with several records moves a rank no further than one record does.",
        "selection.quantiles",
        old="return self.facts.records_per_unit * self.record_sensitivity",
        new="return self.record_sensitivity",
        caught_by=(
            "tests/curator/test_quantiles.py::test_the_sensitivity_is_reached[add-or-remove-0.75]",
            "tests/curator/test_quantiles.py::test_no_neighbour_moves_a_score_further_than_stated[3-(0.1, 0.0)-add-or-remove]",
        ),
    ),
    Bug(
        "search: parts by values",
        "Which records are held out depends on their values, so one record that is replaced moves others from part to part.",
        "curation.parts",
        old="held[_order(count, secret)",
        new='held[np.argsort(np.nan_to_num(table.numbers([0])[:, 0]), kind="stable")',
        caught_by=("tests/model_selection/test_parts.py::test_replace_one_draws_a_set_of_public_size",),
    ),
    Bug(
        "search: public positions",
        "Which positions are held out is public: in a sorted table one record that is replaced moves many others from part to part.",
        "curation.parts",
        old='shake_256(b"positions" + secret)',
        new='shake_256(b"positions")',
        caught_by=(
            "tests/model_selection/test_parts.py::test_replace_one_draws_a_set_of_public_size",
            "tests/model_selection/test_parts.py::test_the_parts_of_sorted_tables_have_one_law",
        ),
    ),
    Bug(
        "search: units in both parts",
        "Records of one person fall into the part to train on and into the part that compares.",
        "curation.parts",
        old="    if terms.domain.unit is None:\n",
        new="    if terms.domain.unit is None or holdout < 1.0:\n",
        caught_by=(
            "tests/model_selection/test_parts.py::test_one_label_is_one_unit_however_it_is_written_and_nobodys_records_are_no_error",
            "tests/model_selection/test_parts.py::test_a_unit_is_in_one_part_whatever_the_others_are[add-or-remove]",
        ),
    ),
    Bug(
        "search: public coins for people",
        "A person's part is a public function of the name: who replaces another moves from part to part.",
        "curation.parts",
        old="key=secret, digest_size=8",
        new='key=b"parts of a search", digest_size=8',
        caught_by=(
            "tests/model_selection/test_parts.py::test_add_or_remove_throws_a_secret_coin_for_every_position",
            "tests/model_selection/test_parts.py::test_a_unit_is_in_one_part_whatever_the_others_are[add-or-remove]",
        ),
    ),
    Bug(
        "search: the number of runs is shown",
        "The released plan says in which run the best model was found.",
        "curation.running",
        old="            untold = replace(",
        new='            release.plan["run"] = run\n            untold = replace(',
        caught_by=(
            "tests/model_selection/test_search.py::test_what_is_released_does_not_tell_how_many_runs_there_were_nor_which_was_the_best",
        ),
    ),
    Bug(
        "search: charged as one run",
        "The best of many runs is priced as one run.",
        "curation.searching",
        old="    event = TunedEvent(mu, repeats.expected, repeats.shape, draws)\n",
        new="    event = TunedEvent(mu, 1.0, repeats.shape, draws)\n",
        caught_by=(
            "tests/model_selection/test_search.py::test_a_search_finds_a_good_candidate_and_states_what_it_costs",
        ),
    ),
    Bug(
        "search: a fixed number of runs",
        "The number of runs is the expected one, and the price is that of a random number.",
        "noise.stopping",
        old="    parameter, eta = Fraction(repeats.parameter), repeats.eta\n",
        new="    parameter, eta = Fraction(repeats.parameter), repeats.eta\n    if parameter:\n        return round(repeats.expected)\n",
        caught_by=(
            "tests/noise/test_stopping.py::test_the_same_key_gives_the_same_draw_and_none_gives_fresh_ones",
            "tests/noise/test_stopping.py::test_the_draws_have_the_law_that_is_accounted[8.0-geometric]",
        ),
    ),
    Bug(
        "search: tails of one run",
        "Of many runs' draws only one run's cut tails are part of δ.",
        "privacy.tuned_events",
        old="return padded(self.expected * self.samples * TAIL_MASS, 4.0)",
        new="return padded(self.samples * TAIL_MASS, 4.0)",
        caught_by=("tests/privacy/test_tuned_events.py::test_tails_of_all_runs_count",),
    ),
)
