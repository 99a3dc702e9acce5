"""What inference buys by a share of the budget, and where what that pays for tells nothing."""

import math

from hullabaloo.errors import CalibrationError, CapabilityError
from hullabaloo.losses import Huber, Logistic, MultinomialLogistic, Poisson, Squared, VectorLoss
from hullabaloo.privacy import Allowance
from hullabaloo.solvers.base import Problem, QueryPrices

SHARE = 0.6
"""Of the budget (of μ²), unless another is asked for: at 0.5 half as many tables tell most of their strong effects at ε = 1, and 0.7 costs a point of the share of gain kept (`benchmarks/inference.py`, development)."""
LARGEST_SHARE = 0.8
"""What is told rests on a fit by the rest: on hourly bikes (15 000 records, 49 columns, budgets that just pay for it) 2.8 and 3.0 % of the intervals missed at 0.6 and 0.8, 7.3 and 12 % at 0.9 and 0.98, all of a category together."""
MEANS, LENGTHS, FIRST, SECOND, CURVATURE, TAILS, SPREAD = 0.04, 0.035, 0.07, 0.07, 0.2, 0.1, 0.05
SCORE, LEVEL = 0.37, 0.03
"""Shares of that for the means, both histograms of records, the covariances, the curvature, the gradients' histogram and spread, the score, and once more its place along the constant; what a solver has released itself is not bought
again, and what is left grows in proportion. Several targets share what is about records alone, of the squared loss the curvature, too, and each takes its own of the rest, all shares less in proportion. Where parts v of an
interval's squared width fall like one over their shares a, the sum is least at shares in proportion to √(va): so score and histogram stand to each other, as what shortening may lose follows the noise of shares."""
COARSE, FINE = 11, 25
WIDEST = 256
"""Columns up to which a curvature is released."""
LOUDEST, LOUDEST_BENT = 1.0, 0.5
"""Spectral radius of the curvature's noise, over the curvature, up to which anything can be told, of the squared loss and of others, of which nothing is told where the estimates are far (`from_score.NEAR`). Chosen on bike and
ACS (ε = 1, 20 000 records: 95 and 98 % of 263 and 391 hold, 4 and 8 robust errors wide, 0 and −1 points of the share of gain) and bank, whose classes told nothing at 0.6; appliances, on which nothing was chosen, hold 89 % of 821 at ε = 3, short of what is said; where a number is hidden nothing is told of it from about a half, `from_score.BESIDE`."""
BLURRED = 0.008
"""Noise of a share of the histograms up to which enough of the tails is seen: costs (`benchmarks/inference.py`) cover 97 % at 0.006 and 0.005, 89 and 75 % at 0.009, 83 % at 0.013."""
SMOOTH = (Squared, Logistic, Huber, Poisson)


def total(problem: Problem) -> float:
    """The shares of all that is bought, 1 for one target."""
    shared = MEANS + 2.0 * LENGTHS + FIRST + SECOND + CURVATURE * isinstance(problem.loss, Squared)
    return 1.0 + (problem.targets - 1) * (1.0 - shared)


def refusal(problem: Problem, prices: QueryPrices, allowance: Allowance, share: float) -> tuple[str, str]:
    """Why nothing valid would be told of this problem, "" where it would; and what helps, in a sentence, as far as it is known."""
    loss, q = problem.loss, problem.dimension
    if not isinstance(loss, SMOOTH):
        instead = "multi_class='one-vs-rest'" if isinstance(loss, MultinomialLogistic) else "LinearRegression"
        together = f", whose targets are fitted together; {instead} fits one after the other, and tells them"
        needed = ": intervals need the squared, logistic, Huber or Poisson loss"
        why = together if isinstance(loss, VectorLoss) else needed
        return f"nothing valid is known of the {loss.name} loss{why}", ""
    if q - problem.intercept < 1 or q > WIDEST:
        return f"a curvature of {q:,} columns is not released: at most {WIDEST}", ""
    try:
        mu = allowance.mu
    except CalibrationError:
        return "the budget takes no Gaussian noise", ""
    mu *= math.sqrt(share / total(problem))
    squares = prices.price("gradient_moments", loss=loss, mu=mu * math.sqrt(CURVATURE))
    loud = squares.sigma / problem.records * 1.5 * q * math.sqrt(2.0 * q)
    counts = prices.price("norm_histogram", loss=loss, bins=FINE, mu=mu * math.sqrt(TAILS))
    blurred = counts.sigma / problem.records
    loudest = LOUDEST if isinstance(loss, Squared) else LOUDEST_BENT
    excess, m = max(blurred / BLURRED, loud / loudest), problem.records_per_unit
    if excess <= 1.0:
        return "", ""
    many = f"{problem.records:,} records, {m} of which change together as those of one unit, so that noise is {m} times that of single ones,"
    why = many if m > 1 else f"{problem.records:,} records"
    if blurred / BLURRED > loud / loudest:
        why += f" are too few at this budget: the noise of each share of a histogram of lengths would be {blurred:.3g}, and at most {BLURRED} is taken"
    else:
        why += f" are too few for {q} columns at this budget: the noise of the curvature would be {loud:.3g} times the curvature, and at most {loudest:g} is taken"
    enough = math.ceil(100.0 * share * excess**2 + 0.5) / 100.0
    larger = (
        f"inference={enough:.2f}, a larger share of the budget than {share:g}"
        if enough <= LARGEST_SHARE
        else f"{math.ceil(10.0 * excess) / 10.0:,.10g} times the records, or at least as many times the epsilon"
    )
    units = "; a smaller records_per_unit, or a table that is an aggregate of one record a unit" if m > 1 else ""
    most = int(q / (loud / loudest) ** (2.0 / 3.0))
    fewer = f", or at most {most} columns: fewer features or levels, and indicators=False where nothing is missing"
    return why, f"What helps: {larger}{units}{fewer * (most > 2 and blurred <= BLURRED)}."


def refuse(why: str, helps: str) -> None:
    """Refuse inference that was asked for by a word, where there is a reason.

    Raises:
        CapabilityError: there is one.
    """
    if why:
        raise CapabilityError(
            f"Inference was asked for, by inference= or selection=, but {why}. Nothing was charged or read. {helps}{' ' * bool(helps)}Or leave both out: inference=False, selection=None."
        )
