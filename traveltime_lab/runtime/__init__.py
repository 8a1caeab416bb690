"""
The run-time services that all rooms share.

`threads` divides work between cores, `executors` between processes and machines; `signals` and `interrupts` make
Ctrl+C safe in and between kernels; `forks` repairs the state after a fork. `memo` keeps derived values with their
owner. `progress` and `warnings` report to the caller, or to a listener of the current search.
`collector` switches the collection of cyclic garbage off.
"""
