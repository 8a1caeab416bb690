"""Why a trip takes as long as it does, or why there is none."""
