"""Bugs in how noise is drawn."""

from tests.planted.bug import Bug

DRAWING = (
    Bug(
        "one key for all releases",
        "The key is drawn once in a process, so every release of a shape has the same noise, and two of them subtract it.",
        "noise.keys",
        old="        return os.urandom(KEY_BYTES)\n",
        new='        return secret_bytes.__dict__.setdefault("kept", os.urandom(KEY_BYTES))\n',
        caught_by=(
            "tests/noise/test_keys.py::test_without_a_key_every_call_is_fresh",
            "tests/noise/test_fork.py::test_threads_share_nothing",
        ),
    ),
    Bug(
        "noise repeated by forks",
        "Keys come from a counter that starts when the module is imported: forked children draw the same noise.",
        "noise.keys",
        old="        return os.urandom(KEY_BYTES)\n",
        new=(
            '        root = secret_bytes.__dict__.setdefault("root", os.urandom(KEY_BYTES))\n'
            '        count = secret_bytes.__dict__.setdefault("count", iter(range(1 << 62)))\n'
            "        return hashlib.sha256(root + str(next(count)).encode()).digest()\n"
        ),
        caught_by=("tests/noise/test_fork.py::test_three_children_make_three_different_releases[gaussian]",),
    ),
    Bug(
        "floating-point noise",
        "Noise is a double that is added to the exact double: the sum's last bits tell which exact values are possible.",
        "noise.release",
        old="    return add_noise(x, lattice(sigma, bound), sampler.GAUSSIAN, key)",
        new=(
            "    from .keys import secret_bytes\n\n"
            "    draw = np.random.default_rng(int.from_bytes(secret_bytes(key), 'little'))\n"
            "    exact = np.clip(np.nan_to_num(np.asarray(x, np.float64)), -bound, bound)\n"
            "    return exact + draw.normal(0.0, sigma, exact.shape)"
        ),
        caught_by=(
            "tests/noise/test_attacks.py::test_released_values_lie_on_the_half_lattice_whatever_the_input",
            "tests/noise/test_gaussian.py::test_bad_public_arguments_are_refused[inf]",
        ),
    ),
    Bug(
        "exact value not rounded",
        "The exact value is not rounded to the lattice before the noise is added, so its low bits stay in the answer.",
        "noise.release",
        old="        kernels.release(flat[start:stop], part, 1 / grid.pitch, grid.pitch, REACH, y[start:stop])",
        new="        y[start:stop] = np.nan_to_num(flat[start:stop]) + (part + 0.5) * grid.pitch",
        caught_by=(
            "tests/noise/test_attacks.py::test_released_values_lie_on_the_half_lattice_whatever_the_input",
            "tests/noise/test_gaussian.py::test_coupling_for_every_lattice_the_rule_can_give[30]",
        ),
    ),
    Bug(
        "rounding to the lattice",
        "What rounding to the lattice adds to the sensitivity is not charged.",
        "noise.lattice",
        old="return _up(_real(sensitivity) + _up(pitch * _up(math.sqrt(_count(p)))))",
        new="return _up(_real(sensitivity) + 0.0 * pitch * _count(p))",
        caught_by=(
            "tests/noise/test_lattice.py::test_inflated_sensitivities_are_rounded_upwards[10000000000.0-2]",
            "tests/noise/test_lattice.py::test_gaussian_scale_refuses_what_no_noise_can_pay_for",
        ),
    ),
    Bug(
        "words read twice",
        "What was read of the keystream is not marked as read, so a long release repeats the noise of its beginning.",
        "noise.keys",
        old='            raise AssertionError("a keystream never goes back")\n        self.position = position\n',
        new='            raise AssertionError("a keystream never goes back")\n        self.position = position % max(self.words.size // 2, 1)\n',
        caught_by=(
            "tests/noise/test_gaussian.py::test_a_chunk_does_not_repeat_another",
            "tests/noise/test_keys.py::test_no_word_is_handed_out_twice",
        ),
    ),
    Bug(
        "selection: half the sensitivity",
        "The exponent is ε·score/Δ in place of ε·score/(2Δ): choices cost twice what is charged.",
        "noise.selection",
        old="rate = Fraction(epsilon) / (2 * cells(sensitivity, bound))",
        new="rate = Fraction(epsilon) / cells(sensitivity, bound)",
        caught_by=(
            "tests/noise/test_selection.py::test_the_rate_never_exceeds_half_epsilon_per_sensitivity_in_cells[37.0]",
            "tests/noise/test_selection.py::test_law[permute_and_flip-permute_and_flip_law-6.0]",
            "tests/noise/test_contest.py::test_law[6.0-10000.0]",
        ),
    ),
    Bug(
        "selection by floating-point Gumbel noise",
        "The candidate is that of the largest score plus a Gumbel double, whose tail ends where the generator's does.",
        "noise.selection",
        old="    octave = np.minimum(",
        new=(
            "    from .keys import secret_bytes\n\n"
            "    draw = np.random.default_rng(int.from_bytes(secret_bytes(key), 'little'))\n"
            "    noisy = draw.gumbel(size=behind.size).astype(np.float32) - rate * behind\n"
            "    return int(candidates[np.argmax(noisy)])\n"
            "    octave = np.minimum("
        ),
        caught_by=("tests/noise/test_selection.py::test_the_least_likely_candidate_is_chosen_when_the_words_say_so",),
    ),
    Bug(
        "contest: what is behind is not measured",
        "A candidate that changes octave is counted where it was, and chosen as often as before.",
        "noise.contest",
        old="in ((before, -1), (new, 1)):",
        new="in ((before, -1), (before, 1)):",
        caught_by=("tests/noise/test_contest.py::test_choices_are_those_of_a_new_contest",),
    ),
    Bug(
        "kept scores: a former part stays",
        "What a touched record contributed before is not taken away, so that one record counts as often as it is touched.",
        "selection.sparse_scores",
        old="np.rint(before *",
        new="np.rint(0.0 *",
        caught_by=(
            "tests/curator/test_sparse_scores.py::test_no_neighbour_moves_a_kept_score_by_more_than_the_sensitivity[add-or-remove]",
        ),
    ),
    Bug(
        "Laplace noise at half the scale",
        "Laplace noise has the scale Δ/(2ε).",
        "noise.release",
        old="return add_noise(x, lattice(scale, bound), sampler.LAPLACE, key)",
        new="return add_noise(x, lattice(0.5 * scale, bound), sampler.LAPLACE, key)",
        caught_by=(
            "tests/noise/test_laplace.py::test_coupling_for_every_lattice_the_rule_can_give[35]",
            "tests/noise/test_laplace.py::test_the_release_is_laplace",
        ),
    ),
)
