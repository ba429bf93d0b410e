"""The tab of the attack on epsilon."""

from __future__ import annotations

import numpy as np
import pytest

from dpci_core.simulation.attack import Attack
from tests.ui.test_pages import charts_of, check, start
from ui.evidence import attack


def test_the_finding_stands_over_the_share_of_right_guesses_and_the_bound():
    app = start("attack")
    chart = next(c for c in charts_of(app) if c["layout"]["meta"].get("tables") == "worst")
    lines = [t for t in chart["data"] if t["mode"] == "lines"]
    assert [t["name"] for t in lines] == ["Objective perturbation", "Output perturbation"]
    assert all(0.5 < t["y"][-1] < 0.731 + 0.05 for t in lines)
    best = max(t["y"][-1] for t in lines)
    luck = 200 * np.sqrt(best * (1 - best) / attack.N_GAMES)
    assert [h.value for h in app.header] == [
        f"The best guess is right in {100 * best:.0f} ± {luck:.0f} % of games; ε allows 73.2 %"
        + ", and luck did the rest" * (best > 0.73106)
    ]
    app.button(key="attack_again").click().run()
    check(app)
    again = next(c for c in charts_of(app) if c["layout"]["meta"].get("tables") == "worst")
    assert again["data"][0]["y"] != chart["data"][0]["y"]


@pytest.mark.parametrize("epsilon", list(attack.EPSILONS))
@pytest.mark.parametrize("tables", list(attack.PAIRS))
def test_every_budget_pays_for_both_mechanisms(tables, epsilon, monkeypatch):
    monkeypatch.setattr(attack, "N_GAMES", 20)
    assert list(attack.attacks.__wrapped__(tables, epsilon, 1)) == ["objective", "output"]


def test_people_of_a_census_are_hardly_told_apart():
    app = start("attack", tables="people", attacked="0.25")
    chart = next(c for c in charts_of(app) if c["layout"]["meta"].get("tables") == "people")
    assert all(abs(t["y"][-1] - 0.5) < 0.08 for t in chart["data"] if t["mode"] == "lines")


@pytest.mark.parametrize("n_right", [700, 780])
def test_a_guess_that_is_right_too_often_is_called_so(n_right):
    found = {"output": Attack(np.arange(1000) < n_right, 0.731)}
    assert ("broken" in attack.title(found)) == (n_right == 780)


def test_the_pairs_differ_in_one_record():
    for tables in attack.PAIRS:
        one, other = attack.pair(tables)
        assert (one != other).any(axis=1).sum() == 1
        assert np.linalg.norm(np.vstack([one, other]), axis=1).max() <= 1.0 + 1e-12
