"""
What every room needs while it runs, whatever it computes.

`threads` divides work between cores, `executors` between processes and machines; `signals` and `interrupts` make
Ctrl+C safe in and between kernels; `forks` mends what a fork leaves behind. `memo` keeps derived values with their
owner. `progress` and `warnings` report to the caller, or to a listener of the current search.
"""
