"""
Compare the indices of `traveltime_lab.inequality` with those of PySAL (package `inequality`).

``pip install inequality``, then ``python benchmarks/fairness.py``: the largest difference of each index over random
tables of people, of which a part have the same value. Theil indices of PySAL need values above 0.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import traveltime_lab as tl


def main() -> None:
    import inequality.atkinson
    import inequality.gini
    import inequality.schutz
    import inequality.theil

    rng = np.random.default_rng(7)
    worst: dict[str, float] = {}
    for n in rng.integers(2, 400, 500):
        values = rng.choice([rng.lognormal(5, 1, n), rng.integers(1, 20, n).astype(float)])
        groups = rng.integers(0, 4, n)
        found = tl.inequality(pd.DataFrame({"x": values}), "x", groups=pd.Series(groups))["value"]["all"]
        parts = inequality.theil.TheilD(values, groups)
        theirs = {
            "gini": inequality.gini.Gini(values).g,
            "hoover": float(inequality.schutz.Schutz(pd.DataFrame({"x": values}), "x").distance),
            "theil_t": inequality.theil.Theil(values).T,
            "theil_t_between": float(np.squeeze(parts.bg)),
            "theil_t_within": float(np.squeeze(parts.wg)),
            "atkinson": inequality.atkinson.atkinson(values, 0.5),
        }
        for name, value in theirs.items():
            worst[name] = max(worst.get(name, 0.0), abs(found[name] - value))
    for name, value in worst.items():
        print(f"{name:16} {value:.1e}")


if __name__ == "__main__":
    main()
