"""Bugs in queries and in the curator: sensitivities, clips, and how answers get their noise."""

from tests.planted.bug import Bug

_REPLACED = "Under replace-one the sensitivity is that of a record added or removed: half of what it must be, for "
_FACTOR = " * self.copies"

QUERIES = (
    Bug(
        "noise times 0.9",
        "Answers get nine tenths of the noise that their event states.",
        "curator.query",
        old="return gaussian(exact, self.sigma, bound=self.bound, key=key)",
        new="return gaussian(exact, 0.9 * self.sigma, bound=self.bound, key=key)",
        caught_by=("tests/curator/test_curator.py::test_answers_carry_the_noise_of_their_query",),
    ),
    Bug(
        "tails not counted",
        "The mass of the tails at which draws are cut is not part of δ.",
        "curator.query",
        old="GaussianEvent(noise_multiplier=math.nextafter(sigma / moved, 0.0), samples=length)",
        new="GaussianEvent(noise_multiplier=math.nextafter(sigma / moved, 0.0))",
        caught_by=("tests/curator/test_curator.py::test_the_cut_tail_of_every_coordinate_is_counted",),
    ),
    Bug(
        "gradient: factor 2",
        f"{_REPLACED}gradients.",
        "curator.gradient",
        old=f"return norm{_FACTOR}",
        new="return norm",
        caught_by=(
            "tests/curator/test_gradient_of_losses.py::test_no_neighbour_moves_the_sum_by_more_than_the_sensitivity[replace-one-SquaredTargets()]",
            "tests/curator/test_gradient.py::test_no_neighbour_moves_the_sum_by_more_than_the_sensitivity[p7-replace-one]",
        ),
    ),
    Bug(
        "partial: factor 2",
        f"{_REPLACED}partial derivatives.",
        "curator.coordinate_gradient",
        old=f"return largest{_FACTOR}",
        new="return largest",
        caught_by=(
            "tests/curator/test_coordinate_gradient.py::test_no_neighbour_moves_an_answer_by_more_than_the_sensitivity[units-replace-one]",
        ),
    ),
    Bug(
        "vertex: factor 2",
        f"{_REPLACED}the scores of vertices and coordinates.",
        "selection.choice",
        old=f"return moved{_FACTOR}",
        new="return moved",
        caught_by=(
            "tests/curator/test_choice.py::test_beside_an_intercept_the_sensitivity_holds_is_attained_and_its_end_takes_no_more_than_its_share[p1-ends1-replace-one]",
            "tests/curator/test_choice.py::test_no_neighbour_moves_a_score_by_more_than_the_sensitivity[simplex-p7-replace-one]",
        ),
    ),
    Bug(
        "step: factor 2",
        f"{_REPLACED}gradients shortened one by one.",
        "curator.centred_gradient",
        old=f"return norm{_FACTOR}",
        new="return norm",
        caught_by=(
            "tests/curator/test_centred_gradient.py::test_no_neighbour_moves_the_sum_of_steps_by_more_than_the_sensitivity[units-replace-one]",
            "tests/curator/test_centred_gradient.py::test_no_neighbour_moves_means_or_histograms_by_more_than_the_sensitivity[ball-replace-one]",
        ),
    ),
    Bug(
        "minimiser: factor 2",
        f"{_REPLACED}minimisers.",
        "erm.output_perturbation",
        old="moved = self.copies * self.facts.records_per_unit",
        new="moved = self.facts.records_per_unit",
        caught_by=(
            "tests/curator/test_repeated.py::test_the_sensitivity_is_nearly_attained_by_records_at_the_residual_bound[replace-one]",
            "tests/curator/test_structured_minimisers.py::test_the_sensitivity_is_nearly_attained[sorted l1, penalty-replace-one]",
        ),
    ),
    Bug(
        "moments: factor root 2",
        "Two records' outer products are √2 apart in Frobenius norm, and 1 is charged.",
        "curator.moments",
        old="return stretch * weight * math.sqrt(2.0) * (1.0 + kappa**2)",
        new="return stretch * weight * (1.0 + kappa**2)",
        caught_by=(
            "tests/curator/test_moments.py::test_no_neighbour_moves_the_moments_by_more_than_the_sensitivity[wide-ball-replace-one-1.0]",
            "tests/curator/test_rounded_records.py::test_records_whose_every_entry_is_rounded_away_from_zero[replace-one-1.0]",
        ),
    ),
    Bug(
        "spread: factor root 2",
        "The same for the second moments of centred records.",
        "curator.shortened_moments",
        old="copies = math.nextafter(math.sqrt(2.0), 2.0) if self.neighbours is Neighbours.REPLACE_ONE else 1.0",
        new="copies = 1.0",
        caught_by=(
            "tests/curator/test_projected.py::test_no_neighbour_moves_the_spread_by_more_than_the_sensitivity[p6-replace-one]",
        ),
    ),
    Bug(
        "second moments: factor root 2",
        "The same for squares of columns.",
        "curator.second_moments",
        old="pair = math.sqrt(2.0) if self.neighbours is Neighbours.REPLACE_ONE else 1.0",
        new="pair = 1.0",
        caught_by=(
            "tests/curator/test_second_moments.py::test_no_neighbour_moves_the_sums_by_more_than_the_sensitivity[gaussian-wide-ball-replace-one]",
        ),
    ),
    Bug(
        "moments: large targets",
        "The formula of the small weights of the target is used where the weight is large, where it is too small.",
        "curator.moments",
        old="value = max(value, (kappa + u) * math.sqrt(2.0 + u**-2))",
        new="value = max(value, 0.0 * u)",
        caught_by=(
            "tests/curator/test_moments.py::test_no_neighbour_moves_the_moments_by_more_than_the_sensitivity[ball-replace-one-3.0]",
            "tests/curator/test_rounded_records.py::test_records_whose_every_entry_is_rounded_away_from_zero[replace-one-10.0]",
        ),
    ),
    Bug(
        "unit ignored in sums",
        "A person with several records moves a sum no further than a record is reckoned to.",
        "curator.query",
        old="exact = self.facts.records_per_unit * self.record_sensitivity",
        new="exact = self.record_sensitivity",
        caught_by=(
            "tests/curator/test_moments.py::test_no_neighbour_moves_the_moments_by_more_than_the_sensitivity[units-add-or-remove-3.0]",
        ),
    ),
    Bug(
        "unit ignored in choices",
        "A person with several records moves a score no further than a record is reckoned to.",
        "selection.choice",
        old="exact = self.facts.records_per_unit * self.record_sensitivity",
        new="exact = self.record_sensitivity",
        caught_by=(
            "tests/curator/test_choice.py::test_a_polytope_is_bounded_vertex_by_vertex[20-weighted-units-add-or-remove]",
            "tests/curator/test_choice.py::test_beside_an_intercept_the_sensitivity_holds_is_attained_and_its_end_takes_no_more_than_its_share[units-ends0-replace-one]",
        ),
    ),
    Bug(
        "no clip",
        "Derivatives are not clipped, so one record moves the gradient as far as its residual goes.",
        "curator.gradient",
        old="settings = (theta, self.clip, *self.kernel",
        new="settings = (theta, math.inf, *self.kernel",
        caught_by=(
            "tests/curator/test_gradient.py::test_no_neighbour_moves_the_sum_by_more_than_the_sensitivity[ball-replace-one]",
            "tests/curator/test_gradient.py::test_overflowing_predictions_stay_bounded[-1e+308]",
        ),
    ),
    Bug(
        "clip after aggregation",
        "The sum is held within what all records together may contribute, the records are not.",
        "curator.gradient",
        old="settings = (theta, self.clip, *self.kernel",
        new="settings = (theta, self.records * self.clip, *self.kernel",
        caught_by=(
            "tests/curator/test_gradient.py::test_no_neighbour_moves_the_sum_by_more_than_the_sensitivity[units-add-or-remove]",
            "tests/curator/test_gradient.py::test_overflowing_predictions_stay_bounded[-inf]",
        ),
    ),
    Bug(
        "clip from the table",
        "Derivatives are clipped at the largest target of the table, which is one record's.",
        "curator.gradient",
        old="settings = (theta, self.clip, *self.kernel",
        new="settings = (theta, min(self.clip, float(np.max(np.abs(rows.Y), initial=1e-9))), *self.kernel",
        caught_by=(
            "tests/curator/test_gradient_of_losses.py::test_a_record_contributes_the_same_bits_wherever_it_stands[5-Squared()]",
        ),
    ),
    Bug(
        "partial: no clip",
        "Columns' derivatives get the clips of a neighbouring setting, eight times as large, and the noise of the stated ones.",
        "curator.coordinate_gradient",
        old="settings = (updates.clips, updates.steps, whole, noise, grid, float(query.records))",
        new="settings = (8.0 * updates.clips, updates.steps, whole, noise // 8, grid, float(query.records))",
        caught_by=(
            "tests/curator/test_coordinate_gradient.py::test_no_neighbour_moves_an_answer_by_more_than_the_sensitivity[units-add-or-remove]",
            "tests/curator/test_coordinate_gradient.py::test_answers_have_the_bits_of_gaussian_releases_of_exact_sums[p7-smoothed_hinge]",
        ),
    ),
    Bug(
        "rounding of contributions",
        "What rounding to the lattice adds to a record's contribution is not charged.",
        "curator.gradient",
        old="        norm += math.sqrt(self.length) * 2.0 ** (self.exponent - 1)\n",
        new="",
        caught_by=(
            "tests/curator/test_gradient_of_losses.py::test_no_neighbour_moves_the_sum_by_more_than_the_sensitivity[add-or-remove-Huber(h=1.0)]",
            "tests/curator/test_gradient.py::test_no_neighbour_moves_the_sum_by_more_than_the_sensitivity[ball-add-or-remove]",
        ),
    ),
    Bug(
        "stale sensitivity of another clip",
        "A selection asked at another clip scores by it, at the sensitivity of the clip that was bought.",
        "selection.select",
        old="return self if clip is None else replace(self, clip=number(clip)), point, mask, between",
        new="return replace(self, clip=number(clip), epsilon=self.epsilon * (number(clip) / self.clip)), point, mask, between",
        caught_by=(
            "tests/curator/test_columns.py::test_the_law_of_a_selection_at_another_clip_is_that_of_its_own_sensitivity[add-or-remove]",
        ),
    ),
    Bug(
        "answers beyond those paid for",
        "The curator counts its answers and gives more than were bought.",
        "curator.curator",
        old="            if (some := left if found is query else 0) < times:\n",
        new="            if (some := left) < -query.count:\n",
        caught_by=(
            "tests/curator/test_curator.py::test_two_quotes_of_one_query_are_used_up_one_after_the_other",
            "tests/curator/test_columns.py::test_views_are_answered_about_their_columns_out_of_one_payment[False-dense]",
        ),
    ),
    Bug(
        "a payment for each target",
        "Each target's view of the table begins with no answers given, so one payment is spent once for each.",
        "curator.curator",
        old="        part = self.__part(view, self.__width, self.__queries, self.__key, self.__kept)",
        new="        part = Curator(views.seen(self.__rows, view, self.__width), self.__queries, key=self.__key)",
        caught_by=(
            "tests/curator/test_coordinate_gradient.py::test_targets_share_the_payment_and_have_predictions_of_their_own",
        ),
    ),
    Bug(
        "another target's turned rows",
        "What is made of rows is kept for all targets together, so that one target is fitted to another.",
        "data.source",
        old="tuple[Any, ...]] = field(default_factory=dict, init=False)",
        new="tuple[Any, ...]] = field(default_factory=dict)",
        caught_by=("tests/curator/test_projected.py::test_rows_seen_through_a_matrix_again_are_those_that_are_kept",),
    ),
    Bug(
        "a row that waited is left out",
        "A step adds two records at once, and of an odd number the last does not count.",
        "curator.centred_gradient_kernels",
        old="range(p if other >= 0 else 0)",
        new="range(p if other >= n else 0)",
        caught_by=("tests/curator/test_centred_gradient.py::test_answers_are_their_formulas[raw-squared-dense]",),
    ),
    Bug(
        "weights of columns without a centre are left out",
        "Columns without a centre are added up as they are, whatever their weights, by which records are shortened.",
        "curator.centred_gradient_kernels",
        old="same = p - 1 if not centre[:-1].any() and np.all(scale[:-1] == 1.0) else 0",
        new="same = p - 1 if not centre[:-1].any() else 0",
        caught_by=("tests/curator/test_centred_gradient.py::test_a_sum_of_steps_is_that_of_its_records",),
    ),
    Bug(
        "early stop on the exact gradient",
        "Where the exact gradient is small the answer is exactly 0, without noise, so that a solver may stop.",
        "curator.query",
        old="return self.read(self.noisy(self.exact(rows, *question), key), *question)",
        new=(
            "exact = self.exact(rows, *question)\n"
            "        if np.linalg.norm(exact) <= 1e-3 * self.records * getattr(self, 'clip', 0.0):\n"
            "            return np.zeros_like(exact)\n"
            "        return self.read(self.noisy(exact, key), *question)"
        ),
        caught_by=(
            "tests/curator/test_curator.py::test_an_exact_answer_of_nothing_gets_its_noise_too",
            "tests/curator/test_columns.py::test_two_views_draw_noise_of_their_own",
        ),
    ),
    Bug(
        "exact moments in the release",
        "Beside the noisy second moments the release holds the exact mean square of the target.",
        "curator.moments",
        old="    def read(self, noisy: Array) -> NoisyMoments:",
        new=(
            "    def answered(self, rows, question, key, kept):\n"
            "        found = super().answered(rows, question, key, kept)\n"
            "        told = {name: getattr(found, name) for name in found.__slots__}\n"
            "        return NoisyMoments(**{**told, 'square': self.in_means(self.exact(rows), 0.0, self.records).square})\n\n"
            "    def read(self, noisy: Array) -> NoisyMoments:"
        ),
        caught_by=("tests/curator/test_curator.py::test_noise_of_the_moments_has_the_stated_covariance",),
    ),
    Bug(
        "curators can be pickled",
        "The object that holds the rows can be sent elsewhere, rows and all.",
        "curator.curator",
        old='raise TypeError("A curator holds private rows and cannot be pickled or copied: that would take them outside.")',
        new="return object.__reduce_ex__(self, 2)",
        caught_by=("tests/curator/test_curator.py::test_rows_cannot_be_taken_out_by_copying_printing_or_attributes",),
    ),
    Bug(
        "minimiser's error not added",
        "What the computed minimiser may be away from the exact one is not part of the sensitivity.",
        "erm.output_perturbation",
        old="return moved + 2.0 * (self.distance + 2.0**-52 * self.bound)",
        new="return moved",
        caught_by=(
            "tests/curator/test_repeated.py::test_the_sensitivity_is_nearly_attained_by_records_at_the_residual_bound[add-or-remove]",
            "tests/curator/test_repeated.py::test_noisy_answers_differ_by_the_route_no_more_than_the_distance[squared, wide]",
        ),
    ),
    Bug(
        "a certificate that raises",
        "A minimiser that misses its certificate raises, and whether one does depends on the records.",
        "erm.optimise",
        old="        return _surely(objective, evidence, reach, distance, theta if euclidean_norm(theta) <= reach.radius else start)",
        new='        raise ArithmeticError("The minimiser of this table could not be found to the stated distance.")',
        caught_by=(
            "tests/curator/test_minimisers.py::test_plain_steps_alone_reach_the_distance[InvalidParameter-free]",
            "tests/curator/test_structured_minimisers.py::test_plain_steps_alone_reach_the_distance[overlapping groups, penalty]",
        ),
    ),
    Bug(
        "ridge forgotten",
        "The perturbed objective is minimised without the ridge that its price rests on.",
        "erm.minimisation",
        old="shape, squares = shape_of(self.feasible, self.penalty, self.records, self.ridge, self.coordinates)",
        new="shape, squares = shape_of(self.feasible, self.penalty, self.records, 1e-3 * self.ridge, self.coordinates)",
        caught_by=(
            "tests/curator/test_minimisers.py::test_the_sensitivity_is_nearly_attained[add-or-remove]",
            "tests/curator/test_minimisers.py::test_a_linear_term_shifts_the_minimiser_and_is_bounded_by_the_plan",
        ),
    ),
    Bug(
        "records counted exactly",
        "The numbers of records in bins are rounded to multiples of ten in place of getting noise.",
        "curator.norm_histogram",
        old="    @property\n    def length(self) -> int:",
        new="    def noisy(self, exact, key):\n        return np.round(exact / 10.0) * 10.0\n\n    @property\n    def length(self) -> int:",
        caught_by=("tests/curator/test_centred_gradient.py::test_counts_carry_the_noise_of_their_query",),
    ),
    Bug(
        "sparse records that count less are counted whole",
        "A gradient of a sparse row is added whole where a later fit of a stream pays a part of it.",
        "curator.gradient_kernels",
        old="    return d * weight[i] if weight.size > 0 else d\n",
        new="    return d * (weight[i] > 0.0) if weight.size > 0 else d\n",
        caught_by=(
            "tests/streaming/test_heights.py::test_a_record_that_counts_less_pays_so_much_less[gradient-replace-one]",
        ),
    ),
    Bug(
        "records that count less are counted whole",
        "A record that pays a part of the price in a stream's later fit is counted once in the bins of lengths.",
        "curator.norm_histogram",
        old="point, *loss, edges, self.facts.alike)",
        new="point, *loss, edges, False)",
        caught_by=(
            "tests/streaming/test_heights.py::test_a_record_that_counts_less_pays_so_much_less[norm_histogram-replace-one]",
        ),
    ),
    Bug(
        "ranks: heights that rise",
        "Finer levels weigh half as much again as those above them, and neighbouring bins are further apart than two classes.",
        "losses.ranks",
        old="FADES = 0.9",
        new="FADES = 1.5",
        caught_by=(
            "tests/curator/test_score.py::test_ranks_are_as_near_to_one_another_as_two_classes",
            "tests/curator/test_score.py::test_no_two_records_ranks_are_further_apart_than_is_stated[replace-one-1.0]",
        ),
    ),
    Bug(
        "ranks: the finest level twice",
        "The places of the finest bins are twice as high as the others' squares leave.",
        "losses.ranks",
        old="] = heights[level + 1] * (2.0",
        new="] = (1.0 + (level + 1 == LEVELS)) * heights[level + 1] * (2.0",
        caught_by=(
            "tests/curator/test_score.py::test_ranks_are_as_near_to_one_another_as_two_classes",
            "tests/curator/test_score.py::test_no_two_records_ranks_are_further_apart_than_is_stated[replace-one-1.0]",
            "tests/curator/test_score.py::test_no_two_records_ranks_are_further_apart_than_is_stated[add-or-remove-1.0]",
        ),
    ),
    Bug(
        "ranks: factor root 2",
        "A replaced record moves ranks no further than one that is removed.",
        "losses.ranks",
        old="    diameter = 1.0",
        new="    diameter = radius",
        caught_by=(
            "tests/curator/test_score.py::test_ranks_are_as_near_to_one_another_as_two_classes",
            "tests/curator/test_score.py::test_no_two_records_ranks_are_further_apart_than_is_stated[replace-one-1.0]",
        ),
    ),
    Bug(
        "ranks: bins of the records",
        "The edges of bins are quantiles of the table's own predictions.",
        "losses.ranks",
        old="ends = expit(self.middle + min(self.reach, FARTHEST) * np.linspace(-1.0, 1.0, (1 << LEVELS) + 1)[1:-1])",
        new="ends = np.quantile(seen.forecast[:, 1], np.linspace(0.0, 1.0, (1 << LEVELS) + 1)[1:-1])",
        caught_by=("tests/curator/test_score.py::test_bits_do_not_depend_on_the_order_of_records_or_on_blocks[ranks]",),
    ),
)
