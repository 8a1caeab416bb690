"""Factors of speeds from measured travel times: trips and their routes, the fit, and what the data determine."""
