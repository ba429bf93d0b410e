"""The first half of the path through Learn: what an interval promises, and what privacy means for
one person.
"""

from __future__ import annotations

from ui.learn import figures, numbers
from ui.learn.controls import budget, penalty, records
from ui.learn.model import Choice, Control, ReleaseTask, Screen
from ui.learn.numbers import Numbers
from ui.session.text import at_most, number, number_at_most, percent

_STUDIES = (
    f"{numbers.N_REPLAYS} studies of {numbers.REPLAY_ROWS} of {numbers.ROWS:,} people of the "
    f"simulated census, logistic regression on age and education, c = {numbers.REPLAY_C:g}"
)
_OUTPUT = "output perturbation, pure ε, half of it for the coefficients"
LEVELS = (*(round(0.5 + 0.01 * step, 2) for step in range(50)), 0.995, 0.999)
"""Fine enough for a picture that follows the pointer smoothly."""


def _promise(found: Numbers) -> str:
    misses = numbers.N_REPLAYS - int(found.facts["hits"])
    return (
        f"At {percent(found.facts['level'])}, {found.facts['hits']:.0f} of {numbers.N_REPLAYS} "
        f"intervals hold the truth and {misses} miss it; they are {number(found.facts['length'])} "
        "long on average. Some luck is in the count: another hundred studies would give a few more "
        "or less."
    )


PROMISE = Screen(
    key="promise",
    name="What 95 % promises",
    title="A 95 % interval keeps its promise over many studies, not in any single study",
    text=(
        "This path is about **differential privacy**: noise that limits what anybody can learn "
        "about one person from what is published. First the interval, still without noise. A "
        "hundred teams study the same population. Each asks its own people, and each publishes an "
        "interval. Only we know the true coefficient, because we made these people up. **95 % "
        "is how often the procedure succeeds; whether one team's interval is a hit, that team "
        "cannot see.**"
    ),
    control=Control(
        label="Confidence level",
        values=LEVELS,
        start=0.95,
        show=lambda value: f"{100 * value:g} %",
        low_end="shorter, misses more",
        high_end="longer, misses less",
    ),
    question=ReleaseTask(
        ask="You lower the level from 95 % to 50 %. What happens to the hundred intervals?",
        choices=(
            Choice(
                "They get shorter, and about half of them miss",
                "Yes. The level is the share of studies that succeed, and a shorter interval "
                "succeeds less often.",
                is_right=True,
            ),
            Choice(
                "They get longer, because we are less sure",
                "A natural thought: less sure sounds like wider. But the level is what we ask for. "
                "Asking for less success allows a shorter interval.",
            ),
            Choice(
                "Each one still holds the truth, with less certainty",
                "Close to how people speak. But an interval either holds the truth or does not; "
                "the level counts how many of the hundred do.",
            ),
        ),
    ),
    compute=numbers.promise,
    figure=figures.promise,
    sentence=_promise,
    assumptions=f"{_STUDIES}; no privacy noise",
    mechanism=(
        "Each study minimises the penalised average loss on its own sample. Near the minimum the "
        "estimate is normal with covariance H⁻¹SH⁻¹/n, where H is the Hessian of the objective "
        "and S the covariance of its gradients. The interval is the estimate plus or minus a "
        "quantile of the normal distribution times that standard error. The truth is the penalised "
        "coefficient of the whole population."
    ),
    height=340,
)


def _noise(found: Numbers) -> str:
    ratio = found.facts["noise_sd"] / found.facts["sampling_sd"]
    return (
        f"The noise has a standard deviation of {number(found.facts['noise_sd'], 2)}, "
        f"{number(ratio, 2)} times that of sampling ({number(found.facts['sampling_sd'], 2)})."
    )


NOISE = Screen(
    key="noise",
    name="Privacy noise",
    title="Privacy noise moves the number that is published",
    text=(
        "One team has one estimate. To protect its people it adds noise before publishing. Here is "
        "the same estimate published a hundred times, with fresh noise each time. In practice you "
        "publish **one** dot."
    ),
    control=budget(),
    question=ReleaseTask(
        ask="The team doubles its privacy budget ε. What happens to the spread of the dots?",
        choices=(
            Choice(
                "It halves",
                "Yes. The noise that hides one person is proportional to 1/ε, so twice the budget "
                "is half the noise.",
                is_right=True,
            ),
            Choice(
                "It doubles, because more privacy is spent",
                "The word budget misleads here: spending more means giving away more, and so "
                "adding less noise.",
            ),
            Choice(
                "Nothing: noise depends on the people, not on ε",
                "The noise must not depend on the people, or it would betray them. Its size is set "
                "by ε, n and c, which are all public.",
            ),
        ),
    ),
    compute=numbers.noise,
    figure=figures.noise,
    sentence=_noise,
    assumptions=(
        f"One study of {numbers.REPLAY_ROWS} people of the simulated census, c = "
        f"{numbers.REPLAY_C:g}; {_OUTPUT}"
    ),
    mechanism=(
        "The noise vector b has a density proportional to exp(−γ|b|) with γ = n·c·ε₁, where ε₁ is "
        "the part of the budget for the coefficients. Its length is Gamma distributed and its "
        "direction is uniform. The seed is fixed, so the same budget gives the same picture; a "
        "real release takes its noise from the operating system."
    ),
    height=340,
)

NEIGHBOURS = Screen(
    key="neighbours",
    name="Neighbouring tables",
    title="Neighbouring tables differ in what one person says",
    text=(
        "Take a table, and replace one person's answers by another person's. The two tables are "
        "called **neighbours**. How far do the coefficients move? Noise has to cover "
        "that distance, for anybody who might stand in that row."
    ),
    control=records(
        (20, 50, 100, 200, 500, 1000, 2000),
        200.0,
        "few people",
        "many people",
    ),
    question=ReleaseTask(
        ask="Can one very unusual person move the coefficients as far as they like?",
        choices=(
            Choice(
                "No: there is a limit that holds for everybody",
                "Yes, there is one: 1/(n·c), for every possible record. That is why the records "
                "are scaled to a limited size and the coefficients are penalised.",
                is_right=True,
            ),
            Choice(
                "Yes: an outlier can do anything",
                "Often true in statistics. Here it is made impossible: each record is scaled to "
                "length at most 1, and the penalty c holds the coefficients.",
            ),
            Choice(
                "No: one person among many changes nothing",
                "Each of many people matters little, but never nothing. Whoever knows all the "
                "others could notice exactly that little.",
            ),
        ),
    ),
    compute=numbers.neighbours,
    figure=figures.neighbours,
    sentence=lambda found: (
        "The most influential of these persons moves the coefficients by "
        f"{number(found.facts['largest'])}; with n = {found.value:,.0f} nobody whatsoever can move "
        f"them by more than {number(found.facts['bound'])}."
    ),
    assumptions=(
        "The first n people of the simulated census; age and education, logistic regression, c = "
        f"{numbers.REPLAY_C:g}"
    ),
    mechanism=(
        "The objective is 2c-strongly convex, and replacing a record changes its gradient by at "
        "most 2/n, so the minimiser moves by at most (2/n)/(2c) = 1/(nc). Output perturbation adds "
        "noise of exactly that scale over ε. Neighbours here differ in the value of one record; "
        "the number of records is public."
    ),
)


def _odds(found: Numbers) -> str:
    return (
        f"At ε = {found.value:g} an even guess becomes at most {at_most(found.facts['even'])} "
        f"sure: the odds move by a factor of at most {number_at_most(found.facts['factor'])}, "
        "even if the attacker knows all other records."
    )


ODDS = Screen(
    key="odds",
    name="What ε means",
    title="ε limits how sure anyone can become about one person",
    text=(
        "Someone who knows all other records suspects what yours says, and may be surer after "
        "everything is published. **However clever they are, the odds they give change by a "
        "limited factor: at ε = 1 by at most 2.72.** That smoking harms is learnt of you, too: "
        "with or without your record."
    ),
    control=budget(),
    question=ReleaseTask(
        ask="Someone is 50 % sure about your record. A study with ε = 1 is published. How sure can "
        "they be at most?",
        choices=(
            Choice("100 %", "With ε = 1 never: certainty would need odds without limit."),
            Choice(
                "73.2 %",
                "Yes. Even odds, 1 : 1, become at most e : 1, and e/(1 + e) is 73.11 %; limits are "
                "rounded up.",
                is_right=True,
            ),
            Choice(
                "51 %",
                "It would take a much smaller budget, about ε = 0.04, to promise that little.",
            ),
        ),
    ),
    compute=numbers.odds,
    figure=figures.odds,
    sentence=_odds,
    source="formula",
    assumptions="pure ε, two possible records of one person, the attacker knows all the others",
    mechanism=(
        "With prior q for one of two records, the posterior after any output is at most qe^ε/(1 − "
        "q + qe^ε), by Bayes' rule and the definition: no output is more than e^ε times as likely "
        "under one neighbour as under the other, so odds change by a factor of at most e^ε."
    ),
)


def _concentrated(found: Numbers) -> str:
    start = (
        f"From d = {found.facts['better']:.0f} on (of the numbers drawn), zCDP needs less noise "
        "than pure ε"
        if found.facts["better"]
        else "In this range pure ε needs less noise throughout"
    )
    return (
        f"{start}; at d = 100, pure ε needs {number(found.facts['ratio'], 2)} times as much on "
        "each coefficient."
    )


CONCENTRATED = Screen(
    key="concentrated",
    name="Softer promises",
    title="A slightly softer promise can need much less noise",
    text=(
        "Pure ε holds for every output, however rare. **Concentrated privacy (zCDP, ρ) lets the "
        "limit be exceeded with tiny probability.** It is read as a pair: ε, and "
        "the chance δ that ε fails. Here both promises have the same ε, and zCDP has δ = "
        f"{numbers.DELTA}, one in a million."
    ),
    control=budget(),
    question=ReleaseTask(
        ask="Which promise needs less noise on each coefficient?",
        choices=(
            Choice(
                "zCDP, always: it promises less",
                "It does promise a little less. But with few coefficients it needs more noise than "
                "pure ε.",
            ),
            Choice(
                "It depends on how many coefficients there are",
                "Yes. The noise of pure ε on each coefficient grows with their number; that of "
                "zCDP stays the same.",
                is_right=True,
            ),
            Choice(
                "Pure ε, always: it is the simpler promise",
                "With few features that is right. With many, its noise grows and that of zCDP does "
                "not.",
            ),
        ),
    ),
    compute=numbers.concentrated,
    figure=figures.lines(
        "features d",
        "noise on each coefficient (sd)",
        at=False,
        names=("pure ε", "zCDP"),
        reach=(0.07, 40.0),
    ),
    sentence=_concentrated,
    assumptions=(
        f"output perturbation, n = {numbers.REPLAY_ROWS}, c = {numbers.REPLAY_C:g}, half the budget"
    ),
    mechanism=(
        "Spherical Laplace noise in p = d + 1 dimensions with rate γ has variance (p + 1)/γ² in "
        "each coordinate; the Gaussian noise of a ρ budget has (1/(nc))²/(2ρ) whatever p is. The ρ "
        "is the largest whose conversion to (ε, δ) keeps the same ε (Canonne, Kamath, Steinke "
        "2020)."
    ),
)


CLOUDS = Screen(
    key="mechanisms",
    name="Two mechanisms",
    title="Noise can be added before or after fitting",
    text=(
        "**Output perturbation** finds the best coefficients and adds noise to them: the same in "
        "every direction. **Objective perturbation** adds a random linear term to the problem "
        "and then solves it exactly, so the data resist the noise where they are informative. "
        "Every dot is one release of the same study."
    ),
    control=penalty(
        (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1),
        0.005,
        "free coefficients",
        "tightly held coefficients",
    ),
    question=ReleaseTask(
        ask="The penalty c is made smaller. Which cloud grows faster?",
        choices=(
            Choice(
                "Output perturbation",
                "Yes. It must hide the most that one person could do, 1/(n·c), and that grows as c "
                "shrinks. Under objective perturbation the data hold the noise back as well.",
                is_right=True,
            ),
            Choice(
                "Objective perturbation",
                "A small c does let more noise through. But the data still hold it back, which "
                "output perturbation cannot use.",
            ),
            Choice(
                "Both alike",
                "They protect equally, but only in one of them do the data hold the noise back.",
            ),
        ),
    ),
    compute=numbers.clouds,
    figure=figures.clouds,
    sentence=lambda found: (
        f"At c = {found.value:g} the releases lie {number(found.facts['objective'], 2)} from the "
        f"exact answer under objective perturbation and {number(found.facts['output'], 2)} under "
        "output perturbation (root mean square)."
    ),
    assumptions=(
        f"{numbers.N_CLOUD} releases each of one study of {numbers.REPLAY_ROWS} people of the "
        "simulated census, education and intercept, pure ε = 1, half for the coefficients"
    ),
    mechanism=(
        "Output: θ̂ + b with rate nc·ε₁. Objective: the minimiser of the objective plus b·θ/n with "
        "rate ε′/2, ε′ = ε₁ − log(1 + t/(2nc)); near the minimum that is θ̂ − H⁻¹b/n. H is at least "
        "2c in every direction, and larger where the data have something to say."
    ),
    height=340,
)

FIRST = (PROMISE, NOISE, NEIGHBOURS, ODDS, CONCENTRATED, CLOUDS)
