"""Heavy-ball steps on noisy gradients in released coordinates: a first phase that noise decides, and a second that removes its bias."""

import math
from dataclasses import dataclass, replace

import numpy as np

from hullabaloo.losses import KernelCode, Loss
from hullabaloo.solvers.base import Answers, Array, Problem
from hullabaloo.solvers.gradient import histogram, schedule
from hullabaloo.solvers.gradient.coordinates import Coordinates
from hullabaloo.solvers.gradient.cut_level import uncut
from hullabaloo.solvers.gradient.histogram import edges, far_edges, mean_beyond, quantile, tail
from hullabaloo.solvers.gradient.location_scale import TINY
from hullabaloo.solvers.gradient.public_start import confirmed
from hullabaloo.solvers.gradient.released_curvature import FLOOR, LONGER, raised
from hullabaloo.solvers.gradient.travel import boldness, onward, smooth_and_steep, swift
from hullabaloo.solvers.gradient.walk_noise import EVIDENT, credible, pace

SETTLE = 10.0
"""How many times its own memory the intercept's walk lasts."""
HEAVY = 20.0
"""How many typical lengths the constant column weighs while the intercept alone is fitted."""
STEEP = 3.0
"""How many times the curvature at a level the mean curvature may be where predictions vary around it."""
FARTHEST = 4.0
"""How many times as far the last walks go at most where classes separate."""
FIRST_CUT, LOOSE = 3.0, 2.0
"""How many times their quantile the gradients of residuals are cut at in the first walk in whitened coordinates, and at most where it is below `least`: where a
target hardly varies within its bounds, noise in proportion to the bounds would drown it, and a few times the quantile cuts few of an exponential law. Chosen on blog posts and synthetic costs; of 2, 3 and 4 for the first, 2 took 4 points of `appliances`, and ailerons, elevators and flights told none apart."""
APART = 6.0
"""How many times as far beyond their cut gradients of residuals may lie as those of an exponential law. Those of `appliances` lie up to 5 times as far, of claims and of a 0/1 target 7 to 11: chosen on these; on wine, California and bikes 0.3 to 2."""
HEARD = 0.5
"""Deviations of its noise from which the level of residuals moves by steps of its own after the first phase: by 0 shares of tables without skew are lost, by 1 those of skewed targets."""
AVERAGED = 0.4
"""Share of the last walk that is averaged: its noise is that of so many of its answers."""
LONG_GRADIENTS, LONG_RECORDS = 2.0**5, 2.0**8
"""Last edges of the second phase's histograms, over the natural length of a gradient and the typical length of a record."""


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """The steps of one run; points are those of the coordinates."""

    problem: Problem
    path: schedule.GradientSchedule
    view: Coordinates
    records: Answers
    curator: Answers

    @property
    def loss(self) -> Loss:
        """φ."""
        assert isinstance(self.problem.loss, Loss)  # the solver saw to it
        return self.problem.loss

    @property
    def natural(self) -> float:
        """The length of a gradient whose derivative is of natural size."""
        return self.path.slope * self.view.length

    @property
    def classes(self) -> bool:
        """Whether there are two: derivatives of a rare one are near 1, and a rate of which they are cut is off by that factor."""
        return self.loss.kernel_code is KernelCode.LOGISTIC

    @property
    def smooth(self) -> bool:
        """Whether the loss is one of residuals without a kink, whose curvature is near its bound."""
        return schedule.is_residual(self.loss) and self.loss.kernel_code is not KernelCode.PINBALL

    def gradient(self, point: Array, clip_norm: float, weight: float | None = None) -> Array:
        """One noisy gradient over w̄, of records whose constant column weighs so much."""
        weight = self.view.intercept_weight if weight is None else weight
        about = {"centre": self.view.asked_centre, "intercept_weight": weight, "clip_norm": clip_norm}
        found: Array = self.records.answer("centred_gradient", self.view.asked(point), **about)
        return found / self.view.mean_weight

    def shares(self, point: Array | None, grid: Array) -> Array:
        """A noisy histogram of gradients' lengths at a point, of records' without one."""
        weight = self.view.intercept_weight if point is not None or not self.view.intercept else TINY
        about = {"centre": self.view.asked_centre, "intercept_weight": weight, "edges": grid}
        asked = None if point is None else self.view.asked(point)
        found: Array = self.records.answer("norm_histogram", asked, **about)
        return found / self.view.counted

    def opened(self) -> tuple["Descent", float]:
        """With the curvature that first gradients give, and the level to start from: log-odds, or of counts their rate's logarithm.

        For counts `e^b E[e^o] − E[y]` at two b gives both means, hence b and the curvature E[y]. At the upper b, minus the bound of |o|, no expected count exceeds 1, as no count does. A class's share is
        taken two standard deviations of its noise nearer to a half: where a level is too far out, curvature is near 0 and a walk hardly comes back. Where rates are low, more of the second walk's steps go to the
        level alone; and as derivatives of a rare class of share π begin at 1 − π, whitened gradients are not cut below 1 − 2π of their natural length: cut shorter, the class counts for less, and walks end short.
        """
        path, (low, high) = self.path, self.loss.intercept_bounds
        if not path.opening or schedule.is_residual(self.loss):
            return self, 0.0
        noise, weight = path.noise * math.sqrt(path.steps), HEAVY * self.view.length

        def derivative(level: float) -> float:
            return float(self.gradient(np.append(np.zeros(self.view.slopes), level), 1.01 * weight, weight)[-1])

        if schedule.is_counts(self.loss):
            rate = max(-derivative(low), noise)
            exposure = max(derivative(-self.problem.offset_bound) + rate, noise)
            level, bend = math.log(rate / exposure) - self.problem.offset_bound, rate
        else:
            seen = min(max(derivative(0.0), 1e-6 - 0.5), 0.5 - 1e-6)
            share = 0.5 - math.copysign(max(abs(seen) - 2.0 * noise, 0.0), seen)
            level, bend = math.log(share / (1.0 - share)), share * (1.0 - share)
            if not path.ridge and self.problem.earlier < 3:
                path = replace(path, least=max(0.5, abs(1.0 - 2.0 * share)))
        share = schedule.LEVEL_WHITENED / schedule.SECOND_WHITENED
        share *= math.sqrt(max(1.0 - 4.0 * bend, 0.0)) if self.classes else 1.0
        alone = 0 if path.late else max(round(share * path.second) - path.level, 0)
        bend = min(path.smoothness, STEEP * bend)
        if not self.classes:  # of a rare class whose records lie apart (covertype) a shorter walk takes up to 18 points
            path = path.flatter(self.problem, bend / path.smoothness)
        path = replace(path, smoothness=bend, curvature=bend, second=path.second - alone, level=path.level + alone)
        return replace(self, path=path), min(max(level, low), high)

    def first_phase(self, level: float) -> tuple[Array, dict[str, float], Array | None]:
        """Walk a little, measure gradients, and walk as far as there is evidence for; and what was measured, the curvature where it is bought."""
        path, view, told = self.path, self.view, {}
        point = view.start(self.problem, level)
        if path.check_noise:
            found = confirmed(self.problem, self.curator, view, path.check_noise, path.check_clip, path.smoothness)
            told = {"public model confirmed": 0.0 if found is None else found[0]}
            if found is not None:
                point = np.append(view.public_slopes(self.problem, found[0]), found[1])[: point.size]
        if path.opening and schedule.is_residual(self.loss):
            moved = self.intercept_alone(point, path.opening, path.slope, 0.5 if path.ridge else 1.0)
            noise = path.noise * path.slope * math.sqrt(path.steps / path.opening)
            point = moved if path.ridge else self.kept_level(point, moved, noise)
        clip_norm = max(0.5, path.least) * self.natural
        if path.measured:
            usual = self.cut(point, 0.2 * self.natural)[0]
            clip_norm = usual if path.ridge else min(FIRST_CUT * usual, clip_norm)
        if path.bend_noise:
            point, bend = self.bent(point, clip_norm)
            return point, {"gradients cut at": 0.0, "farther": 1.0, **told}, bend
        travel = path.reach_first * path.travel(view.typical, clip_norm) * path.curvature / path.smoothness
        if path.ridge and not path.measured:
            travel = min(travel, 1.0 / (path.smoothness * view.steepest))
        last, mean, gradient = self.walk(point, path.first, clip_norm, first := travel, path.burn_first)
        variance = (path.noise * clip_norm) ** 2 * path.steps / path.first
        share = boldness(gradient[: view.slopes], variance, path.doubt, path.careful, path.eager)
        if self.problem.before and self.problem.earlier < 2:
            model = view.inward(np.array(self.problem.before))[: view.slopes]
            share = onward(share, gradient[: view.slopes], variance, model, path.careful, path.eager)
        likely = clip_norm if path.ridge and path.measured else min(clip_norm, 0.25 * self.natural)
        cut, shares, grid = self.cut(mean, likely)
        farther = self.farther(level, histogram.mean_length(shares, grid))
        travel = farther * share * path.travel(view.typical, cut)
        _, mean, gradient = self.walk(last, path.second, cut, travel, path.burn)
        doubted = self.problem.once and self.problem.free and not (path.ridge or path.late or path.check_noise)
        if self.classes and doubted:
            about = path, view.steepest, path.smoothness / STEEP
            mean[: view.slopes] *= credible(mean[: view.slopes], *about, (clip_norm, cut), (first, travel))
        levelled = self.problem.intercept and not self.problem.offset_bound  # of the user's offsets no level is known
        if self.classes and levelled and path.ridge and not path.late:
            mean = self.uncut_level(mean, cut, float(gradient[-1]))
        if path.level:
            smooth = self.smooth and self.problem.earlier < 8
            step, memory, doubt = (1.0, 0.0, HEARD) if smooth else (1.5, 0.5, 1.0) if self.classes else (0.5, 0.5, 0.0)
            noise = path.noise * math.sqrt((1.0 + 2.0 * memory) * path.steps / path.level)
            clip = self.level_clip(shares, grid, path.share_noise, noise)
            moved = self.intercept_alone(mean, path.level, clip, step, memory)
            mean = self.kept_level(mean, moved, doubt * noise * clip)
        return mean, {"gradients cut at": cut, "boldness": share, "farther": farther, **told}, None

    def bent(self, start: Array, clip_norm: float) -> tuple[Array, Array]:
        """Few first steps, and M: of residuals the bound, which they go by; of classes the curvature where steps for all directions alike come to, as far as these carry."""
        path, longer = self.path, self.longer()
        if self.classes:
            point, _, _ = self.walk(start, path.first, self.natural, math.inf, 0.0, self.steepest(*longer))
            return point, self.curvature(point, *longer)
        bend = self.curvature(np.zeros(start.size), *longer)
        return self.newton(start, path.first, clip_norm, bend, last=False), bend

    def farther(self, level: float, length: float) -> float:
        """How many times as far to walk in whitened coordinates where classes separate: in units of 1/h, h at the constant over twice that at the model.

        Where chances p are right `E|φ'| = 2E p(1 − p) = 2h`, and gradients of round records are `length` = |φ'| times as long as these in the mean. The travel was chosen where half of the curvature at the constant is left; records that are sure of their class leave less.
        """
        if self.path.ridge or self.loss.kernel_code is not KernelCode.LOGISTIC:
            return 1.0
        constant, model = 0.25 / math.cosh(0.5 * level) ** 2, 0.5 * length / self.view.length
        return min(max(0.5 * constant / model, 1.0), FARTHEST)

    def second_phase(self, start: Array, told: dict[str, float], bend: Array | None) -> tuple[Array, dict[str, float]]:
        """From there to the minimum, where steps are left for it, gradients cut where what that biases is below noise and sampling error; and what was measured.

        They are never cut shorter than they were: a walk that biases more takes back what was gained.
        """
        path, view, q = self.path, self.view, self.view.slopes
        if not path.late:
            return start, told
        noise = path.result_noise
        grid = edges(LONG_GRADIENTS * self.natural, schedule.FINE_BINS - 1)
        shares = self.shares(start, grid)
        clip_norm = max(self.unbiased_clip(tail(shares, path.late_share_noise), grid), told["gradients cut at"])
        before, after = path.late_levels(self.loss)
        steep = min(clip_norm / view.length, self.loss.constants(math.inf, 1.0).lipschitz)
        # Of classes before the whitened walk, too, which a level that fits would find no evidence for.
        start = self.late_level(start, shares, grid, before, 1.0 if self.classes and path.ridge else steep)
        if bend is None:
            gradient, known = self.gradient(start, clip_norm), (path.late_noise * clip_norm) ** 2 / path.late_shares[2]
            doubt = q * (noise * clip_norm) ** 2 / AVERAGED
            travel = told["farther"] * path.travel(view.typical, clip_norm, late=True)
            _, mean, _ = self.walk(start, path.late, clip_norm, travel, 1.0 - AVERAGED, self.steepest(*self.longer()))
        else:
            mean = self.newton(start, path.late, clip_norm, bend, last=True)
            gradient, known = bend @ (start - mean), (noise * clip_norm) ** 2
            doubt = q * known
        evident = float(gradient[:q] @ gradient[:q]) - (q + EVIDENT * math.sqrt(2.0 * q)) * known
        weight = evident**2 / (evident**2 + doubt**2) if evident > 0.0 else 0.0
        weight = weight if bend is None or swift(self.problem) else 1.0  # in a set a signal may move as little as noise
        found = start + weight * (mean - start)
        beside = 0.0 if bend is None else path.smoothness / float(bend[-1, -1]) if self.classes else 1.0
        found = self.late_level(found, shares, grid, after, 1.0 if self.classes else steep, beside)
        return found, {**told, "gradients cut at": clip_norm, "weight": weight}

    def longer(self) -> tuple[Array, Array]:
        """The share of records longer than each edge, and the edges."""
        grid = edges(LONG_RECORDS * self.view.typical, schedule.FINE_BINS - 1)
        return tail(self.shares(None, grid), self.path.late_share_noise), grid

    def steepest(self, longer: Array, grid: Array) -> float:
        """The largest eigenvalue that u's covariance may have, were all that is long one direction."""
        return self.view.steepest + float(mean_beyond(longer, grid, math.sqrt(2.0) * self.view.typical, power=2))

    def curvature(self, point: Array, longer: Array, grid: Array) -> Array:
        """M, (p, p): the bound `L E vvᵀ`, v = (u, 1), of the curvature at any point, of classes `E φ''vvᵀ` at this one; and on its diagonal what noise and shortening may hide of it.

        Records are shortened to the R at which both together are least, and `√φ'' v` to √L R. `released_curvature.py` says over how many directions what is hidden is spread.
        """
        path, view, p, L = self.path, self.view, point.size, smooth_and_steep(self.loss)[0]
        trials = view.typical * 2.0 ** np.arange(0.0, 5.0, 0.125)
        among = math.sqrt(p) if self.smooth and self.problem.earlier < 4 else p
        hidden = mean_beyond(longer, grid, trials, power=2) / among
        hidden += FLOOR * path.bend_noise * math.sqrt(0.5 * p) * trials**2
        at, of = int(np.argmin(hidden)), "curvature" if self.classes else "records"
        about = {"of": of, "intercept_weight": 1.0, "clip_norm": math.sqrt(L) * float(trials[at])}
        answer = self.records.answer("gradient_moments", point, **about)
        values, vectors = np.linalg.eigh(answer / view.mean_weight)
        return np.asarray((vectors * (np.maximum(values, 0.0) + L * hidden[at])) @ vectors.T)

    def newton(self, start: Array, steps: int, clip_norm: float, bend: Array, last: bool) -> Array:
        """After steps `ω M⁻¹g`, ω = `LONGER` but for the walk's last one and 1 of classes; M is `raised` where one went too far."""
        view, point, q, before, slope = self.view, start, self.view.slopes, start, None
        for t in range(steps):
            longer = 1.0 if self.classes or (last and t == steps - 1) else LONGER
            gradient = self.gradient(point, clip_norm)
            if slope is not None and (self.classes or self.problem.earlier < 4):
                bend = raised(bend, point - before, gradient - slope)
            before, slope = point, gradient
            point = view.within(self.problem, point - longer * np.linalg.solve(bend, gradient), longer, bend)
            point[q:] = np.clip(point[q:], *self.loss.intercept_bounds)
        return point

    def late_level(
        self, point: Array, shares: Array, grid: Array, steps: int, cut: float, beside: float = 0.0
    ) -> Array:
        """The level by so many of its steps in the second phase, `beside` others so many times 1/h long: cut at `cut`, of smooth residuals where that biases less than noise; of a quantile, whose h is the density of its residuals, by shorter ones."""
        if not self.view.intercept or not steps:
            return point
        share = 0.5 * self.path.late_shares[0] * steps / sum(self.path.late_levels(self.loss))
        noise = self.path.late_noise / math.sqrt(share)
        if self.smooth:
            cut = self.level_clip(shares, grid, self.path.late_share_noise, noise)
        step, memory = 0.5 if self.loss.kernel_code is KernelCode.PINBALL else 1.5, 0.5
        if beside or (self.smooth and self.problem.earlier < 7):
            step, memory = beside or 1.0, 0.0
        moved = self.intercept_alone(point, steps, min(cut, 2.0), step, memory)
        return self.kept_level(point, moved, noise * cut)

    def unbiased_clip(self, above: Array, grid: Array) -> float:
        """The length c that minimises `(½E(L − c)₊)² + (1 + p/5)(sc)²`."""
        noise, p = self.path.result_noise, self.problem.dimension
        trials = grid[0] * 2.0 ** np.arange(0.0, 0.5 * len(grid), 0.125)
        bias = 0.5 * mean_beyond(above, grid, trials, power=1)
        return float(trials[int(np.argmin(bias**2 + (1.0 + p / 5.0) * (noise * trials) ** 2))])

    def cut(self, point: Array, likely: float) -> tuple[float, Array, Array]:
        """The private quantile of gradients' lengths at a point, their shares and the edges between these."""
        path = self.path
        residual, least = schedule.is_residual(self.loss), path.least * self.natural
        longest, count = path.longest * self.natural, histogram.BINS + histogram.LOW * residual - 1
        grid = (far_edges if residual else edges)(longest, count)
        read = histogram.gradient_quantile if residual else quantile
        shares = self.shares(point, grid)
        found = read(shares, grid, path.share_noise, above=path.cut, likely=likely)
        found = self.beyond_tail(shares, grid, found) if residual else found
        return max(found, min(least, LOOSE * found) if residual else least), shares, grid

    def beyond_tail(self, shares: Array, grid: Array, found: float) -> float:
        """The quantile c of gradients' lengths, or a longer one where more lies beyond it than a tail: residuals of few values, most of them alike.

        Beyond the quantile of a share a, lengths of an exponential law exceed it by `a c/ln(1/a)` in the mean over all records. Where they do by `APART` times as much,
        or the quantile is beyond the last edge, steps would look for the mode of the target, not for its mean, and the length is taken that minimises
        `(½E(L − c)₊)² + (1 + p/5)(sc/h)²`, h the share of the curvature that travel reckons with.
        """
        above, share = tail(shares, self.path.share_noise), self.path.cut
        usual = APART * share * found / math.log(1.0 / share)
        if found < grid[-1] and mean_beyond(above, grid, found, power=1) <= usual:
            return found
        trials = found * 2.0 ** np.arange(0.0, 10.0, 0.125)
        excess = mean_beyond(above, grid, trials, power=1)
        noise = self.path.noise * self.path.smoothness / self.path.curvature * trials
        return float(trials[int(np.argmin(0.25 * excess**2 + (1.0 + self.problem.dimension / 5.0) * noise**2))])

    def level_clip(self, shares: Array, grid: Array, share_noise: float, noise: float) -> float:
        """Bound of |φ'| in steps of the intercept alone, whose mean has so many times its noise s: the c that minimises `(E(|φ'| − c)₊)² + (sc)²`.

        Each share of gradients counts less its noise's standard deviation: what is left of pure noise are 0.08 of it, and tails that noise half hides are not taken for none.
        Of counts, too, whose events are few and far: at 1, as an event of the largest count would be cut, the level of rare ones was 1.1 to 1.6 times off where it now is 1.05 to 1.3 (claims of Belgium and France, made ones of 1 %; 20 000 records, ε = 1).
        Of smooth residuals in whitened coordinates they are weighed with an exponential law before (in plain ones, at more noise, the level of a target of two values was a fifth further off with it).
        """
        if not (schedule.is_residual(self.loss) or (schedule.is_counts(self.loss) and self.problem.earlier < 5)):
            return 1.0 if self.classes else self.path.slope
        if self.smooth and not self.path.ridge and self.problem.earlier < 6:
            shares, share_noise = histogram.gradient_shares(shares, grid, share_noise, 0.25 * self.natural)
        above = np.maximum(np.cumsum(np.maximum(shares - share_noise, 0.0)[::-1])[::-1][1:], TINY)
        trials = self.path.slope * 2.0 ** np.arange(-10.0, 1.125, 0.125)
        bias = mean_beyond(above, grid / self.view.length, trials, power=1)
        return float(trials[int(np.argmin(np.square(bias) + (noise * trials) ** 2))])

    def walk(
        self, start: Array, steps: int, clip_norm: float, travel: float, burn: float, steepest: float | None = None
    ) -> tuple[Array, Array, Array]:
        """The last point, the mean of all but the first share `burn`, and the mean gradient, of steps that travel so far.

        Steps with a memory m damp every curvature from ((1 − √m)/(1 + √m))² of the greatest on alike where they are (1 + √m)² over it (Polyak 1964). A walk that ends before a curvature is released
        forgets its speed where the gradient is against it (O'Donoghue & Candès 2015), and steps once as if it had none: its last point is taken, which lay 0.002 to 0.004 of the gain off beside rare levels.
        """
        path, view, q = self.path, self.view, self.view.slopes
        step, memory, largest = pace(path, steps, travel, steepest or view.steepest, swift(self.problem))
        middle = 1.0 / (path.smoothness * path.room)
        if steepest is None:
            middle = min(middle, SETTLE * (1.0 - memory) / (steps * path.smoothness))
        low, high = self.loss.intercept_bounds
        nearest = view.nearest(self.problem, step)
        point, speed, total, mean = start, np.zeros_like(start), np.zeros_like(start), np.zeros_like(start)
        first = int(steps * burn)
        for t in range(steps):
            gradient = self.gradient(point, clip_norm)
            mean += gradient / steps
            kept, own = (0.0, largest) if path.bend_noise and gradient @ speed > 0.0 else (memory, step)
            speed = kept * speed - np.concatenate((own * gradient[:q], middle * gradient[q:]))
            moved = point + speed
            if nearest is not None:
                moved[:q] = nearest(moved[:q])
                speed[:q] = moved[:q] - point[:q]
            moved[q:] = moved[q:].clip(low, high)
            point = moved
            if t >= first:
                total += point
        return point, total / (steps - first), mean

    def intercept_alone(self, point: Array, steps: int, clip: float, step: float = 0.5, memory: float = 0.5) -> Array:
        """The level by steps of so many times 1/h that cut derivatives at `clip`: a skewed target's mean is not its median. Newton's, without memory, forget where they start, and all are averaged."""
        weight, (low, high) = HEAVY * self.view.length, self.loss.intercept_bounds
        point, total, speed = point.copy(), 0.0, 0.0
        first = 0 if not memory else steps // 2 if step > 1.0 else steps // 3
        for t in range(steps):
            slope = float(self.gradient(point, 1.01 * clip * weight, weight)[-1])
            speed = memory * speed - step / self.path.smoothness * slope
            point[-1] = min(max(point[-1] + speed, low), high)
            total += float(point[-1]) if t >= first else 0.0
        point[-1] = total / (steps - first)
        return point

    def uncut_level(self, point: Array, clip_norm: float, slope: float) -> Array:
        """The point with the level of classes, not that at which their cut derivatives have the mean `slope`; predictions, the offsets' too, vary as slopes and typical length let them.

        In plain coordinates alone: lengths of whitened records are too unlike each other for one cut to speak for all (the level of adult and skin was further off with it).
        """
        view, known = self.view, np.array(self.problem.before or np.zeros(point.size))
        level, slopes = float(known[-1] + view.centre @ known[:-1]), known[:-1] + point[:-1]
        spread = view.typical * float(np.linalg.norm(slopes)) / math.sqrt(max(view.slopes, 1))
        whole = uncut(level + float(point[-1]), spread, min(clip_norm / view.length, 1.0), slope)
        return np.append(point[:-1], np.clip(whole - level, *self.loss.intercept_bounds))

    def kept_level(self, start: Array, moved: Array, noise: float) -> Array:
        """`start` with the level of `moved`, as far as the change of the mean derivative exceeds its noise s: (1 − k(s/change)²)₊ of the move d.

        It is h·d of residuals and, of rates, which fall as e^d, at least h(1 − e^{−|d|}). k is 1, and 4 of losses of kinks, whose h is not known.
        """
        residual, d = schedule.is_residual(self.loss), float(moved[-1] - start[-1])
        change = self.path.smoothness * d if residual else self.path.smoothness / STEEP * math.expm1(-abs(d))
        found = start.copy()
        k = 1.0 if self.path.late_levels(self.loss)[1] else 4.0
        found[-1] += max(0.0, 1.0 - k * (noise / change) ** 2) * d if d else 0.0
        return found
