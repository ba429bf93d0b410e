"""The fixed words of the tab of lengths: consequence first, mechanism for those who
ask.
"""

from __future__ import annotations

from dataclasses import dataclass

INTRODUCTION = (
    "**The same promise, the same budget, shorter intervals.** *Published* is the method of Wang, "
    "Kifer and Lee to the letter; *sharp* is this project's. Both protect every person by the same "
    "budget and promise 95 %; both were run again and again on the same tables."
)

HOW_TO_READ = (
    "Each combination of privacy definition, mechanism and model has a line for published and one "
    "for sharp intervals, at the same budget and split the same way: as published, or each in its "
    "own best way. Where sharp uses the theorem that is not peer-reviewed, it has two lines, "
    "without and with it. The **mark** is the mean length of the private intervals. The **tick** "
    "on the same line is the *variability interval*: the length an interval of 95 % would have if "
    "one could repeat the whole private study thousands of times and look at how its estimates "
    "scatter. No valid interval for that estimate is much shorter. The line between tick and mark "
    "is what is lost because the scatter itself has to be estimated privately; at the right are "
    "the length at the mark divided by that at the tick, and the measured coverage. Further left "
    "is better, as long as the coverage is no less than promised."
)


@dataclass(frozen=True)
class Improvement:
    """One improvement: the label of its rows, its name, what it does for a reader, and how it
    works. Its place in `IMPROVEMENTS` is its column.
    """

    label: str
    name: str
    consequence: str
    mechanism: str


_MEASURED = (
    Improvement(
        "only floor",
        "No eigenvalue floor",
        "The paper never lets an estimated variance fall below a fixed floor. On large tables the "
        "true values lie below it, and then every interval is drawn longer than it needs to be. "
        "Without the floor, intervals go on shrinking as the table grows.",
        "The noisy covariance matrix of the gradients, $S$, had its eigenvalues raised to $2c$ in "
        "the paper. Nothing bounds the eigenvalues of the true $S$ from below by $2c$. Here they "
        "are only raised to 0, which makes the matrix a covariance and no more. The Hessian $H$ "
        "keeps its floor $2c$, which is a true bound. This works on numbers that were already "
        "released, so it costs no budget.",
    ),
    Improvement(
        "only tight",
        "Tight sensitivity",
        "Noise has to be as large as what one person can change. The paper's bound for the two "
        "matrices is larger than anything a person can do; with the exact value the same "
        "protection needs less noise.",
        "A record adds $a\\,uu^\\top$ to a matrix. Replacing it by another changes the matrix by "
        "$\\lVert a\\,uu^\\top-b\\,vv^\\top\\rVert_F^2=a^2\\lvert u\\rvert^4+b^2\\lvert "
        "v\\rvert^4-2ab(u\\cdot v)^2\\le2\\max(a,b)^2$ for records of norm at most 1, because the "
        "last term is never positive. The paper's bound is $2\\max(a,b)$ before squaring, so it is "
        "larger by $\\sqrt2$. Two records at a right angle reach the new bound, so it cannot be "
        "lowered further.",
    ),
    Improvement(
        "only symmetric",
        "Half the noise entries",
        "Both matrices are symmetric: what stands above the diagonal stands below it again. The "
        "paper draws noise for every entry; drawing it once for each pair hides a person just as "
        "well. It helps under pure ε; under zCDP the noise is the same either way.",
        "Under pure ε the noise is drawn from a spherical Laplace law, whose size grows with the "
        "number of entries. A symmetric $p\\times p$ matrix has $m=p(p+1)/2$ free ones instead of "
        "$p^2$. With off-diagonal entries multiplied by $\\sqrt2$ the distance between two "
        "matrices stays what it was, and the standard deviation of each entry falls to "
        "$\\sqrt{(m+1)/(p^2+1)}$ of it, about 0.74. Gaussian noise does not depend on the number "
        "of entries, so there nothing changes.",
    ),
    Improvement(
        "only gaussian",
        "Gaussian noise in the objective (new)",
        "Objective perturbation hides a person by a random push while the model is fitted. Under "
        "zCDP the push may be drawn from the bell curve, which is much smaller than the paper's "
        "when there are many coefficients. It acts on zCDP objective perturbation only, and **it "
        "is a new result that is not peer-reviewed** (last section).",
        "The paper draws the push $b$ from a spherical Laplace law, which is private under pure ε, "
        "and converts. That costs a variance of about $2(p+1)/\\rho$ per coordinate. A Gaussian "
        "push is $\\rho$-zCDP with variance about $2/\\rho$: $b\\sim N(0,s^2I)$ gives "
        "$\\rho=2/s^2+1.53\\kappa^2$ with $\\kappa=t/(2nc)$.",
    ),
    Improvement(
        "only split",
        "The best split",
        "The budget pays for three things: the coefficients and two matrices that say how far they "
        "scatter. The paper gives the coefficients half of ε (two thirds of ρ). They deserve more: "
        "same total, shorter intervals.",
        "The forecast computes the expected mean length for any split in milliseconds; the best "
        "one is searched subject to the forecast coverage of every coefficient, and the "
        "coefficients get about two thirds of the total or more. The forecast reads the table, so "
        "the split has to come from a public or a simulated one, never from the private table "
        "itself.",
    ),
    Improvement(
        "only aware",
        "Noise-aware standard errors",
        "The paper treats the two noisy matrices as if they were the true ones. But everyone knows "
        "how much noise was added. Taking that into account brings the intervals closer to the "
        "promised 95 %: most become shorter, one that would cover too rarely becomes longer.",
        "Three steps on released numbers, free of budget. Noise drives the eigenvalues of $H$ "
        "apart; they are moved back by the amount known. The noisy $S$ enters $v^\\top Sv$ as it "
        "is, which is right on average, where lifting its eigenvalues pushes it up. At last the "
        "noise is added once more to see how far the length is still off, and each half-width is "
        "scaled by that (a parametric bootstrap). Where noise dominates the *released* Hessian, "
        "the plain half-widths are used.",
    ),
    Improvement(
        "only shaped",
        "Noise shaped like the data (new)",
        "Noise is sized for a record that could lie in any direction, and few directions have any "
        "records. Here the noise follows the crowd: it is large where there are many people and "
        "small where there is nobody to hide. A few extreme rows count a little less. It acts on "
        "objective perturbation, and **it is a new result that is not peer-reviewed** "
        "(`docs/proofs/map.md#metric`).",
        "A small part of the budget releases the second moment $M$ of the records. With "
        "$Q=(M+\\lambda I)^{-1/2}$ a record of leverage $\\lvert Qx\\rvert^2>C^2$ gets the weight "
        "$C^2/\\lvert Qx\\rvert^2$ on its loss; then $Qx/C$ has norm at most 1, and all noise may "
        "be drawn in these coordinates with the constants it had: the metric cancels wherever the "
        "penalty meets a record. Above, it stands alone at the published split.",
    ),
)

SMOOTHING = Improvement(
    "only smoothing",
    "Huber smoothing",
    "The kink of the SVM's loss is smoothed over a width h. If h is large and the coefficients "
    "are small, no record can act with full strength, and the noise on one matrix may shrink. "
    "This needs h > 1 and a strong penalty, and it gains little even then: at the settings of this "
    "page, with h = 1, nothing.",
    "The noise on the gradient covariance $S$ is proportional to the largest squared slope of the "
    "loss. The paper takes 1. On margins up to $\\lvert\\tilde\\theta\\rvert$, the length of the "
    "released coefficients, the slope reaches $(1+h+\\lvert\\tilde\\theta\\rvert)/(2h)$ at most, "
    "which is below 1 only if $\\lvert\\tilde\\theta\\rvert<h-1$. A weak penalty gives longer "
    "coefficients than that.",
)

IMPROVEMENTS = (*_MEASURED, SMOOTHING)
"""In the order of the rows; a further one takes a row more."""

NUMBER = (
    "A linear regression has another method, without penalty: Newton steps on records whose "
    "influence is cut. Its closest rival is BinAgg (AISTATS 2026). In the setting of that paper, "
    "n = 2,000 and Gaussian differential privacy, mean lengths of 95 % intervals are:\n\n"
    "| μ | BinAgg, as published | here |\n|---|---|---|\n"
    "| 0.5 | .518 | .0400 |\n| 1 | .291 | .0326 |\n| 2 | .181 | .0310 |\n| 5 | .103 | .0305 |\n\n"
    "Without privacy they are .0303 long. Here every slope is covered in .933 to .960. `python -m "
    "benchmarks.linear` measures it again, with 300 tables a line."
)

UNPENALISED = (
    "Every interval above is for the **penalised** coefficient: the one that a fit to the "
    "whole population would have with the same penalty c, which shrinks coefficients toward "
    "zero. That is what the paper's intervals cover, and it is what the 95 % refer to. When "
    "people say *the* coefficient, say the log odds ratio of a year of education, they mean "
    'the one **without** penalty. `Design(..., target="unpenalised")` asks for that one: one '
    "step, computed from what was released anyway, moves the estimate and its interval. It "
    "costs no budget. The interval becomes longer, because undoing the shrinkage also undoes "
    "its stabilising effect.\n\n"
    "At the penalised minimiser the gradient of the loss alone is $-2c\\theta$ and its Hessian "
    "is $K=H-2cI$, so one Newton step leads to $\\theta+2cK^{-1}\\theta$. Its interval includes "
    "what the noise on $H$ does to the step. **The step falls short** in two cases. Where a "
    "direction of $K$ is flatter than the noise on it, a full step would multiply noise "
    "instead of removing bias, so it goes part of the way. And where the step is long, the "
    "curvature changes on the way. Coefficients concerned are marked in the result "
    "(`is_not_estimable`); a marked interval is still computed, but its 95 % is not claimed "
    "for the unpenalised coefficient.\n\n"
    "In a copy of the project's repository, `python -m benchmarks.constants newton-step` prints "
    "coverage and length for both targets, where the truth is known."
)

NEW_RESULT = (
    "Two results on this page are new and **not peer-reviewed**; everything else rests on "
    "published mathematics and on short arguments of our own. **Gaussian objective perturbation "
    "under zCDP** is part of sharp; its proof was re-derived twice within this project and tested "
    "numerically, but no journal or conference has examined it. **Noise shaped like the data** "
    "(`docs/proofs/map.md#metric`) is used only where it is asked for. A design that uses either "
    "says so in every result. To go without the first: `Calibration(gaussian_objective=False)` "
    'keeps every other improvement, `calibration="published"` follows the paper to the letter. '
    "Pure ε and output perturbation never use it."
)
