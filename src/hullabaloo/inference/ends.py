"""Further estimates from a released score that lean less on what few records, which noise hides, say at an end of a column's wide bounds."""

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hullabaloo.inference.debiased import LEFT, Debiased
from hullabaloo.solvers.score.step import DOUBT, INFERENCE, score_step

if TYPE_CHECKING:
    from hullabaloo.inference.from_score import FromScore

FEW, LONE = 14.0, 2.0
"""Records that have to carry what is told, or it is told with what so few may hide (`hidden_at_ends`), or not at all where it is less than `LONE`: where k records alike do,
its robust t is Student's of k degrees of freedom, and of 14 it lies within 1.96 in 93 %, not 95; of 2 it has no variance. (Of development's told between them 98 % hold; down to 1, on California at ε = 1, 78 % of 48.)"""


def holding(of: "FromScore") -> "FromScore | None":
    """The same with those columns held where they were released that decide what is told of others (`decided_by`), where the curvature shows what they say themselves; None where there are none.

    With R their rows of the matrix and `C = HRᵀ(RHRᵀ)⁻¹` it is the step without their part, `(I − CR)Hb̃`: a record at an end of theirs has no influence, and the estimate is off by `C d`, d what they are
    off by. The first step says that this is d̃, so that `d̃d̃ᵀ` and its covariance, with what few records may hide of them, is taken as its second moment. Nothing is told so of a column that decides others
    itself, as either of two that are nearly the same. (Of intervals that only this tells, n = 20 000, an expert's bounds, ε = 1 and 3, 99 % of 313 of the development half of
    `benchmarks/inference.py` hold and 97 % of 189 of the report half, 7 and 8 robust errors wide; holding alone covers 78 to 85 % on California, abalone and noaa.)
    """
    eye, H = np.eye(len(of.faint)), of.law.inverse
    seen, shares = of.shares_at_ends(eye)
    decide = (LONE * shares > seen[:, None]) & (seen[:, None] > 0.0)
    held = np.isin(np.arange(len(eye)), of.columns[decide.any(axis=0)]) & (seen > 0.0) & ~of.faint
    if not held.any():
        return None
    other, rows = copy(of), of.found.matrix[held]
    along = H @ rows.T @ np.linalg.pinv(rows @ H @ rows.T)
    off, apart = rows @ of.law.theta, np.eye(len(H)) - along @ rows
    wrong = np.outer(off, off) + rows @ of.law.covariance @ rows.T + np.diag(of.hidden_at_ends(eye[held]))
    other.law = Debiased(replace(of.law.equations, inverse=apart @ H, left=apart @ of.law.left @ apart.T))
    other.held, other.beside_held = held, of.map @ along @ wrong @ along.T @ of.map.T
    return other


def leaning(of: "FromScore") -> "FromScore | None":
    """The same where the step reckons with a record at each end beside noise; None where few records could change nothing that is told of a column.

    The less noise, the more a step trusts directions that records hardly show, and the fewer records at an end of wide bounds could decide what is told: intervals grew with the budget. Here such a record, of a usual residual,
    is part of the noise that Tikhonov's matrix weighs against what it leaves undone: that is taken as likely as of any step, and besides as far as the first one moves, `(I − HG̃)δ̃`, squared, as where the coefficients
    were released far off more is left than is likely. (Chosen on California and diamonds; California's median widths at n = 20 000, ε = 3, 10, 30, 100: 2.0, 7.1, 5.1, 4.9 robust errors became 1.9, 1.2, 1.1, 1.1, and with
    fresh keys 170 of 176 hold; on 23 other lines of `benchmarks/inference.py` what is told holds as often to within one interval. With one to five records planted at an end, 140 of 150 that this shortens, where 144 held.)
    """
    if not np.any(of.hidden_at_ends(np.eye(len(of.faint)))):
        return None
    law, other = of.law, copy(of)
    records = of.aside[0] * of.longest.T @ of.longest
    step = score_step(replace(of.found, curvature=law.equations.gram), INFERENCE, DOUBT, of.basis, beside=records)
    off = law.theta - step.inverse @ law.equations.gram @ law.theta
    left = LEFT * step.left + np.outer(off, off)
    other.law = Debiased(replace(law.equations, inverse=step.inverse, left=left))
    return other
