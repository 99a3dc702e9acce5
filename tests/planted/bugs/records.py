"""Bugs in how records are read: what a record becomes must depend on that record and on declarations alone."""

from tests.planted.bug import Bug

_ROWS = "return Rows(X, Y, weights, self._offsets(source, columns)), owners"

RECORDS = (
    Bug(
        "bounds from the data",
        "Features are scaled by the least and largest values found, not by the declared bounds.",
        "data.encode",
        old="        by_rows(lambda part: scale_numeric(values[part], *given, X[part], filled[part]), *values.shape)",
        new=(
            "        found = np.array([(lo, hi, (lo + hi) / 2, (hi - lo) / 2 or 1.0, c.fill) for c, lo, hi in zip(\n"
            "            layout.numeric, np.nanmin(values, axis=0), np.nanmax(values, axis=0), strict=True)])\n"
            "        scale_numeric(values, found, *given[1:], X, filled)"
        ),
        caught_by=(
            "tests/data/test_value_faults.py::test_one_record_with_a_fault_changes_nothing_that_can_be_seen[5-age]",
            "tests/data/test_encoding.py::test_columns_names_and_norms_by_hand",
        ),
    ),
    Bug(
        "features not clipped",
        "Values beyond a feature's declared bounds are scaled and not clipped.",
        "data.kernels",
        old=(
            "            v = lo[j] if v < lo[j] else v\n"
            "            line[j] = hi[j] if v > hi[j] else v\n"
            "        for j in range(0 if plain else m):\n"
            "            line[j] = _transform(codes[j], line[j])\n"
            "        for j in range(m):\n"
            "            x = (line[j] - mid[j]) / half[j]\n"
            "            x = -1.0 if x < -1.0 else x\n"
            "            x = (1.0 if x > 1.0 else x) + 0.0  # adding 0 makes one zero of the two"
        ),
        new=(
            "            line[j] = v\n"
            "        for j in range(0 if plain else m):\n"
            "            line[j] = _transform(codes[j], line[j])\n"
            "        for j in range(m):\n"
            "            x = (line[j] - mid[j]) / half[j] + 0.0"
        ),
        caught_by=(
            "tests/data/test_encoding.py::test_columns_names_and_norms_by_hand",
            "tests/data/test_value_faults.py::test_one_record_with_a_fault_changes_nothing_that_can_be_seen[1-age]",
        ),
    ),
    Bug(
        "infinite cells",
        "An infinite cell of a prepared row becomes the largest entry there is, beside the row's others.",
        "data.kernels",
        old="    if not abs(v) < math.inf:\n        return 0.0\n",
        new="    if not abs(v) < math.inf:\n        return 0.0 if math.isnan(v) else math.copysign(target, v)\n",
        caught_by=(
            "tests/data/test_encoding.py::test_clipped_norms_hold_in_exact_arithmetic",
            "tests/data/test_encoding.py::test_rows_outside_keep_their_direction",
        ),
    ),
    Bug(
        "rows not clipped",
        "Prepared rows are divided by the declared norm and those beyond it are not shortened.",
        "data.encode",
        old="    clip_dense(values, kind, radius, radius, X)",
        new="    X[:, : values.shape[1]] = np.nan_to_num(values) / radius",
        caught_by=(
            "tests/data/test_encoding.py::test_rows_outside_keep_their_direction",
            "tests/data/test_encoding.py::test_clipped_norms_hold_in_exact_arithmetic",
        ),
    ),
    Bug(
        "rows clipped by the longest",
        "Prepared rows are divided by the longest one's norm.",
        "data.encode",
        old="    clip_dense(values, kind, radius, radius, X)",
        new=(
            "    values = np.nan_to_num(values)\n"
            "    X[:, : values.shape[1]] = values / max(np.linalg.norm(values, axis=1).max(initial=0.0), 1e-9)"
        ),
        caught_by=("tests/data/test_encoding.py::test_rows_outside_keep_their_direction",),
    ),
    Bug(
        "doubled cells",
        "A sparse record that stores a cell twice is clipped by the norm of the two, and counts as their sum.",
        "data.readers.sparse_kernels",
        old="                if k > first and indices[k - 1] == sorted_indices[at]:\n",
        new="                if k < first and indices[k - 1] == sorted_indices[at]:\n",
        caught_by=("tests/data/test_readers.py::test_a_cell_that_is_stored_twice_is_summed_before_its_row_is_clipped",),
    ),
    Bug(
        "target not clipped",
        "Targets beyond their declared bounds are taken as they are.",
        "data.targets",
        old=(
            "        y = np.clip(np.where(np.isnan(numbers), fill, numbers), self.lo, self.hi)\n"
            "        return np.asarray((np.clip((y - mid) / half, -1.0, 1.0) + 0.0)[:, None], dtype=np.float64)"
        ),
        new=(
            "        y = np.nan_to_num(np.where(np.isnan(numbers), fill, numbers))\n"
            "        return np.asarray(((y - mid) / half + 0.0)[:, None], dtype=np.float64)"
        ),
        caught_by=(
            "tests/data/test_encoding.py::test_columns_names_and_norms_by_hand",
            "tests/data/test_value_faults.py::test_one_record_with_a_fault_changes_nothing_that_can_be_seen[5-los]",
        ),
    ),
    Bug(
        "missing targets stay missing",
        "A missing target is not replaced by the declared fill, and makes sums undefined.",
        "data.targets",
        old="y = np.clip(np.where(np.isnan(numbers), fill, numbers), self.lo, self.hi)",
        new="y = np.clip(numbers, self.lo, self.hi + 0.0 * fill)",
        caught_by=(
            "tests/data/test_value_faults.py::test_one_record_with_a_fault_changes_nothing_that_can_be_seen[3-los]",
            "tests/data/test_value_faults.py::test_objects_of_any_kind[los]",
        ),
    ),
    Bug(
        "missing targets take the mean",
        "A missing target becomes the mean of the others.",
        "data.targets",
        old="fill = self.lo / 2 + self.hi / 2 if self.fill is None else self.fill",
        new="fill = float(np.mean(numbers[np.isfinite(numbers)])) if np.isfinite(numbers).any() else self.lo",
        caught_by=(
            "tests/data/test_no_cross_talk.py::test_cells_of_a_list_are_never_asked_what_they_are",
            "tests/data/test_encoding.py::test_columns_names_and_norms_by_hand",
        ),
    ),
    Bug(
        "doubled rows dropped",
        "A record equal to an earlier one is dropped, so whether a record counts depends on the others.",
        "data.encoding",
        old=_ROWS,
        new=(
            "if isinstance(X, np.ndarray) and weights is None and self.offset is None:\n"
            "            first = np.sort(np.unique(np.hstack([X, Y]), axis=0, return_index=True)[1])\n"
            "            X, Y = X[first], Y[first]\n"
            f"        {_ROWS}"
        ),
        caught_by=(
            "tests/data/test_no_cross_talk.py::test_an_equal_cell_of_another_record_does_not_decide_what_a_cell_is[first1-others1]",
            "tests/data/test_no_cross_talk.py::test_cells_of_a_list_are_never_asked_what_they_are",
        ),
    ),
    Bug(
        "rows standardised",
        "Columns are divided by their standard deviation before the norm is declared to be what it is.",
        "data.encoding",
        old=_ROWS,
        new=(
            "if isinstance(X, np.ndarray) and len(X) > 1:\n"
            "            X = X / np.where(X.std(axis=0) > 0.0, 2.0 * X.std(axis=0), 1.0)\n"
            f"        {_ROWS}"
        ),
        caught_by=(
            "tests/data/test_value_faults.py::test_one_record_with_a_fault_changes_nothing_that_can_be_seen[3-age]",
        ),
    ),
    Bug(
        "weights not clipped",
        "Weights beyond the declared maximum are taken as they are.",
        "data.encode",
        old="return np.clip(np.where(np.isnan(values), 0.0, values), 0.0, HEAVIEST) + 0.0",
        new="return np.nan_to_num(np.maximum(values, 0.0)) + 0.0 * largest",
        caught_by=(
            "tests/data/test_value_faults.py::test_one_record_with_a_fault_changes_nothing_that_can_be_seen[1-w]",
            "tests/data/test_encoding.py::test_units_keep_their_share_and_weights_are_clipped",
        ),
    ),
    Bug(
        "weights normalised",
        "Weights are divided by their mean, so one record's weight moves all others'.",
        "data.encode",
        old="return np.clip(np.where(np.isnan(values), 0.0, values), 0.0, HEAVIEST) + 0.0",
        new=(
            "kept = np.clip(np.where(np.isnan(values), 0.0, values), 0.0, HEAVIEST)\n"
            "    return np.clip(kept / max(kept.mean(), 1e-9), 0.0, HEAVIEST)"
        ),
        caught_by=("tests/data/test_encoding.py::test_units_keep_their_share_and_weights_are_clipped",),
    ),
    Bug(
        "all records of a unit kept",
        "The share of a person is not held to the declared number of records.",
        "data.encode",
        old="        if stop - start > share:\n",
        new="        if stop < start:\n",
        caught_by=(
            "tests/data/test_encoding.py::test_units_keep_their_share_and_weights_are_clipped",
            "tests/test_audit.py::test_nothing_is_learned_beyond_the_statement[moments, person removed]",
        ),
    ),
    Bug(
        "one record too many of a unit",
        "Of each person one record more than declared is kept.",
        "data.encode",
        old="key=digest)[share:]] = False\n",
        new="key=digest)[share + 1 :]] = False\n",
        caught_by=("tests/data/test_encoding.py::test_units_keep_their_share_and_weights_are_clipped",),
    ),
    Bug(
        "a unit for the missing",
        "Records without a person count, each of them: together they are one unit of any size.",
        "data.encoding",
        old="        counts = known & encode",
        new="        counts = ~known | encode",
        caught_by=("tests/data/test_encoding.py::test_units_keep_their_share_and_weights_are_clipped",),
    ),
    Bug(
        "classes from the data",
        "The two classes are those that the column holds, in the order in which they sort.",
        "data.targets",
        old="        classes = self.ordered\n        places = LevelIndex(classes).places(cells)",
        new=(
            "        classes = self.ordered\n"
            "        if len(classes) == 2 and len({str(cell) for cell in cells}) == 2:\n"
            "            classes = tuple(sorted({str(cell) for cell in cells}))\n"
            "        places = LevelIndex(classes).places(cells)"
        ),
        caught_by=(
            "tests/linear_model/test_classification.py::test_labels_are_of_the_declared_type_and_in_their_natural_order[declared2-classes2]",
        ),
    ),
    Bug(
        "unknown levels raise",
        "A level that was not declared is an error, which names it.",
        "data.labels",
        old="        return place\n\n    def places(",
        new=(
            "        if place == UNKNOWN:\n"
            '            raise DomainError(f"The level {label!r} is not declared.")\n'
            "        return place\n\n    def places("
        ),
        caught_by=(
            "tests/data/test_value_faults.py::test_one_record_with_a_fault_changes_nothing_that_can_be_seen[7-job]",
            "tests/data/test_value_faults.py::test_text_that_is_not_utf8",
        ),
    ),
    Bug(
        "values beyond bounds raise",
        "A target beyond its declared bounds is an error, which quotes it.",
        "data.targets",
        old="        mid, half = self.scale(centred, kind)\n        fill =",
        new=(
            "        mid, half = self.scale(centred, kind)\n"
            "        if np.nanmax(np.abs(numbers), initial=0.0) > 100.0 * max(abs(self.lo), abs(self.hi)):\n"
            '            raise DomainError(f"The target reaches {np.nanmax(np.abs(numbers))!r}, far beyond its bounds.")\n'
            "        fill ="
        ),
        caught_by=(
            "tests/data/test_value_faults.py::test_one_record_with_a_fault_changes_nothing_that_can_be_seen[5-los]",
            "tests/data/test_value_faults.py::test_every_kind_of_float_array_is_quiet",
        ),
    ),
    Bug(
        "a warning of clipped values",
        "Values that were clipped cause a warning, which says how many there were.",
        "data.encode",
        old="    given, kept = scaling_of(layout)\n",
        new=(
            "    beyond = sum(int(np.sum(np.abs(values[:, i]) > 1e3 * max(map(abs, c.bounds)))) for i, c in enumerate(layout.numeric))\n"
            "    if beyond:\n"
            "        import warnings\n\n"
            '        warnings.warn(f"{beyond} values were clipped to their bounds.", stacklevel=2)\n'
            "    given, kept = scaling_of(layout)\n"
        ),
        caught_by=(
            "tests/data/test_value_faults.py::test_one_record_with_a_fault_changes_nothing_that_can_be_seen[5-age]",
            "tests/data/test_value_faults.py::test_every_kind_of_float_array_is_quiet",
        ),
    ),
    Bug(
        "a warning of overflow",
        "NumPy's own warnings of undefined cells reach the user.",
        "data.encoding",
        old="""    @np.errstate(all="ignore")\n    def owned(""",
        new="""    def owned(""",
        caught_by=("tests/laws/test_locality.py::test_a_row_is_a_function_of_its_record_alone[NumPy, objects]",),
    ),
    Bug(
        "intercept not in the norm",
        "The column of ones is not part of the declared norm of a row.",
        "data.encoding",
        old="l1, l2, linf = l1 + 1.0, math.hypot(l2, 1.0), max(linf, 1.0)",
        new="l1, l2, linf = l1, l2, max(linf, 1.0)",
        caught_by=(
            "tests/data/test_encoding.py::test_columns_names_and_norms_by_hand",
            "tests/data/test_encoding.py::test_clipping_bounds_follow_by_hoelder",
        ),
    ),
    Bug(
        "interactions not in the norm",
        "The norm of a row leaves out the columns of interactions.",
        "data.layout",
        old="return len(self.numeric) + len(self.onehot) + len(self.products)",
        new="return len(self.numeric) + len(self.onehot)",
        caught_by=(
            "tests/data/test_encoding.py::test_columns_names_and_norms_by_hand",
            "tests/data/test_encoding.py::test_whatever_the_cells_rows_are_bounded_and_made_alone",
        ),
    ),
)
