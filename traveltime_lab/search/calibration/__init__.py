"""Factors of speeds from measured travel times: trips, routes, the fit, and the factors that the data determine."""
