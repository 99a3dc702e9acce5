"""Bugs in streams: noise that is drawn again, states that are continued twice, and what a record in a stream costs."""

from tests.planted.bug import Bug

STREAMS = (
    Bug(
        "column norm forgotten",
        "A record's part in one encoded vector is charged, not its part in all that it touches.",
        "curator.stream",
        old="exact = times * (self.strategy.column_norm * moved + self.strategy.slack * numerics)",
        new="exact = times * (moved + self.strategy.slack * numerics)",
        caught_by=(
            "tests/curator/test_stream_sum.py::test_no_neighbour_moves_the_encoded_stream_by_more_than_the_sensitivity[add-or-remove-tree-three]",
            "tests/curator/test_stream_sum.py::test_the_worst_pair_is_as_far_apart_as_stated[add-or-remove-tree]",
        ),
    ),
    Bug(
        "tree: one level too few",
        "A record lies in a node of every level, and one level is not counted.",
        "noise.continual.tree",
        old="return math.sqrt(self.levels) * UP",
        new="return math.sqrt(max(self.levels - 1, 1)) * UP",
        caught_by=("tests/noise/continual/test_strategy_laws.py::test_columns_have_the_stated_norm[tree-64-1.0-None]",),
    ),
    Bug(
        "noise drawn for every release",
        "Each running sum gets fresh noise, in place of each encoded vector: releases can be averaged.",
        "noise.continual.mechanism",
        old=(
            "        noisy = self.__noised(self.__encoder.encode(x))\n"
            "        self.__drawn += noisy.shape[0]\n"
            "        self.__step += x.shape[0]\n"
            "        return self.__decoder.decode(noisy, x.shape[0])"
        ),
        new=(
            "        encoded = self.__encoder.encode(x)\n"
            "        self.__step += x.shape[0]\n"
            "        noisy = self.__noised(self.__decoder.decode(encoded, x.shape[0]))\n"
            "        self.__drawn += noisy.shape[0]\n"
            "        return noisy"
        ),
        caught_by=(
            "tests/noise/continual/test_mechanism.py::test_measured_variance_is_the_predicted_one[buffered-21-0.8-None-False]",
        ),
    ),
    Bug(
        "noise drawn at every reading",
        "Whoever reads the model of a stream has it fitted again, with noise of its own.",
        "curation.prefixes",
        old="        return self._release\n\n    def snapshot(",
        new=(
            "        if self._parts:\n"
            "            self._fit(self.schedule.completed(self._position))\n"
            "        return self._release\n\n    def snapshot("
        ),
        caught_by=("tests/streaming/test_periodic_erm.py::test_a_model_is_the_same_after_a_restart_under_real_noise",),
    ),
    Bug(
        "stream noise times 0.9",
        "Encoded vectors get nine tenths of the stated noise.",
        "noise.continual.mechanism",
        old="        self.__strategy, self.__sigma, self.__bound, self.__key = strategy, sigma or 0.0, bound, key",
        new="        self.__strategy, self.__sigma, self.__bound, self.__key = strategy, 0.9 * (sigma or 0.0), bound, key",
        caught_by=(
            "tests/noise/continual/test_mechanism.py::test_measured_variance_is_the_predicted_one[buffered-21-0.8-None-False]",
        ),
    ),
    Bug(
        "one noise for a batch",
        "All vectors that are completed in one batch get the same noise.",
        "noise.continual.mechanism",
        old="            return gaussian(encoded, self.__sigma, bound=self.__bound)\n",
        new=(
            "            first = gaussian(encoded[:1], self.__sigma, bound=self.__bound)\n"
            "            return encoded + (first - encoded[:1])\n"
        ),
        caught_by=("tests/test_audit_streams.py::test_fresh_noise_has_the_same_law",),
    ),
    Bug(
        "a position that is not restored",
        "A stream that goes on from its state counts its records from 0: the horizon for which noise was calibrated is passed.",
        "curator.stream",
        old='        self.__position, self.__whole = int(as_kept(state["position"], np.array(0))), True\n',
        new="        self.__whole = True\n",
        caught_by=("tests/curator/test_stream.py::test_a_restart_changes_no_bit[auto-inf]",),
    ),
    Bug(
        "a state without its noise",
        "The state of a stream leaves out the noisy sums, so what was released is noised again after a restart.",
        "noise.continual.mechanism",
        old='labelled("decoder/", self.__decoder.state())',
        new='labelled("decoder/", {name: 0.0 * array for name, array in self.__decoder.state().items()})',
        caught_by=(
            "tests/noise/continual/test_mechanism.py::test_a_restored_stream_goes_on_bit_for_bit[square_root-21-1.0-5]",
        ),
    ),
    Bug(
        "streams go on in forks",
        "A forked child of a stream takes records and releases them, as its parent does.",
        "curator.stream",
        old="        if this_process() != self.__owner:\n",
        new="        if self.__owner is None:\n",
        caught_by=("tests/curator/test_stream.py::test_a_curator_never_leaves_its_process",),
    ),
    Bug(
        "an interrupted batch is taken again",
        "After an interrupt in the middle of a batch the stream goes on, and records may count twice.",
        "curator.stream",
        old="        whole, self.__whole = self.__whole, False\n",
        new="        whole = self.__whole\n",
        caught_by=("tests/curator/test_stream.py::test_an_interrupted_batch_is_not_taken_twice",),
    ),
    Bug(
        "shown before it is saved",
        "A step is shown before its save is there: a kill in between, and the step is released again with other noise.",
        "curation.intake",
        old="        self._due = self._next()\n        if self._unsaved:\n            self._save()\n",
        new="        self._due = self._next()\n        self._unsaved = False\n",
        caught_by=(
            "tests/streaming/test_stream.py::test_what_was_not_saved_is_not_shown_and_its_noise_is_kept",
            "tests/streaming/test_interrupted.py::test_nothing_is_shown_that_is_not_saved",
        ),
    ),
    Bug(
        "shown before it is confirmed",
        "A step is shown when its save is written, before the ledger has accepted it: two copies of a state both show theirs.",
        "durable.journal",
        old="        self._file.write(after)\n        self._state = after\n        self._confirm()\n",
        new="        self._file.write(after)\n        self._state = after\n",
        caught_by=(
            "tests/streaming/test_journal.py::test_a_commit_that_failed_is_made_again_with_the_same_noise[StateFile.write-before]",
            "tests/streaming/test_journal.py::test_of_two_that_go_on_from_copies_one_does",
        ),
    ),
    Bug(
        "any state will do",
        "A state that the ledger does not know as the newest one is continued.",
        "durable.journal",
        old="    if (row.token, row.position) != (found.token, found.position) and row.token != found.previous:\n",
        new="    if row.stream != found.stream:\n",
        caught_by=(
            "tests/streaming/test_journal.py::test_an_older_copy_is_refused",
            "tests/streaming/test_durable.py::test_two_never_go_on_from_one_state",
        ),
    ),
    Bug(
        "the state of another stream",
        "A state begun under other settings is continued under these.",
        "durable.journal",
        old='(found.fingerprint, found.dataset, found.public.get("format")) == (fingerprint, dataset, public.get("format"))',
        new='(found.dataset, found.public.get("format")) == (dataset, public.get("format"))',
        caught_by=(
            "tests/streaming/test_durable.py::test_the_state_of_another_stream_is_told_apart[budget-budget is ]",
            "tests/streaming/test_journal.py::test_another_stream_is_told_what_differs",
        ),
    ),
    Bug(
        "everybody reads the state",
        "The state file, which holds exact sums, can be read by every user of the machine.",
        "data.saving",
        old="        os.fchmod(made, 0o600)\n",
        new="        os.fchmod(made, 0o644)\n",
        caught_by=("tests/streaming/test_state.py::test_nobody_else_may_read_it_at_any_time[511]",),
    ),
    Bug(
        "every fit gets the whole budget",
        "Each of the fits of a stream may spend what all of them may.",
        "streaming.refits",
        old="return [Budget.gdp(mu * math.sqrt(share)) for share in divided(positions)]",
        new="return [Budget.gdp(mu) for share in divided(positions)]",
        caught_by=(
            "tests/streaming/test_periodic_erm.py::test_all_fits_together_cost_the_budget_and_next_to_nothing_is_left[add-or-remove]",
        ),
    ),
    Bug(
        "records count whole and pay a part",
        "Fits of a stream count each record once, where earlier ones were charged for less.",
        "curation.prefixes",
        old="        if not self.heights:\n",
        new="        if True:\n",
        caught_by=(
            "tests/streaming/test_heights.py::test_all_fits_together_tell_of_a_record_what_is_charged_at_most[0-moments]",
        ),
    ),
    Bug(
        "one fit of many is charged",
        "The price of fitting again and again is that of the dearest fit.",
        "streaming.refits",
        old="    event = compose(*(one.bought.event for one in fits))\n",
        new="    event = compose(fits[-1].bought.event)\n",
        caught_by=(
            "tests/streaming/test_periodic_erm.py::test_all_fits_together_cost_the_budget_and_next_to_nothing_is_left[add-or-remove]",
        ),
    ),
    Bug(
        "sketched rows longer than stated",
        "Sketched rows are stretched to the lengths of the old ones, and declared to be half as long.",
        "curation.sketch",
        old="bound, constant = self._bound(about), float",
        new="bound, constant = 0.5 * self._bound(about), float",
        caught_by=(
            "tests/streaming/test_sketch.py::test_sketched_neighbours_lie_no_further_apart_than_the_query_of_the_sketched_facts_states[1.0-plain-add-or-remove]",
            "tests/streaming/test_sketch.py::test_no_value_of_a_record_raises_or_leaves_the_declared_bounds[all columns]",
        ),
    ),
    Bug(
        "units in a stream",
        "A stream that protects people charges a record's part, not that of as many as count.",
        "curator.stream",
        old="times = self.share * (2 if",
        new="times = 1 * (2 if",
        caught_by=(
            "tests/curator/test_stream_sum.py::test_a_unit_that_has_its_share_at_once_is_as_far_from_nobody_as_stated[3]",
        ),
    ),
    Bug(
        "a share of a unit in every session",
        "Of a person whose records are counted by a stream, the count begins anew where it is taken up again.",
        "curator.stream",
        old="self.__taken = dict(zip(names, as_kept(counts, nobody[:, 0]).tolist(), strict=True))",
        new="self.__taken = dict.fromkeys(names, 0) | {bytes(32): share}",
        caught_by=(
            "tests/curator/test_stream_sum.py::test_no_unit_moves_the_encoded_stream_by_more_than_the_sensitivity[1-replace-one]",
        ),
    ),
)
