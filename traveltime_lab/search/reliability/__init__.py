"""Reliability: how travel times and accessibility differ between days on which vehicles did not run as planned."""
