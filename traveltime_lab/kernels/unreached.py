"""
Numbers for what is not reached or not possible, each under one name.

No other module assigns them or renames them. Public results never contain them.
"""

from __future__ import annotations

import numpy as np

#: Label of a state, or of a pair of points, that was not reached.
UNREACHED = np.int64(1) << np.int64(62)
#: Time at stops and targets that were not reached, in the unit of the search. Twice this number still fits in int32.
NEVER = 1_000_000_000
#: Departure that is too early for every traveller.
TOO_EARLY = -NEVER
#: Minimum transfer time at a stop where transfers are forbidden.
FORBIDDEN = NEVER
#: Travel time `NEVER` in the upper 32 bits, above the length of a walk.
NEVER_KEY = np.int64(NEVER) << 32
#: Key of an entry of a list of nearest places that is not used: larger than any key of a place.
NO_PLACE = np.iinfo(np.int64).max
