"""
A binary heap of numbers, the least first, each with the state that it belongs to.

It is in two arrays of the caller, who also counts the entries.
"""

from __future__ import annotations

from traveltime_lab.kernels.compiled import kernel


@kernel(inline="always")
def push(heap_keys, heap_states, n, key, state):
    """Put a label and its state into a heap of `n` of them."""
    at = n
    while at > 0:
        above = (at - 1) >> 1
        if heap_keys[above] <= key:
            break
        heap_keys[at], heap_states[at] = heap_keys[above], heap_states[above]
        at = above
    heap_keys[at], heap_states[at] = key, state


@kernel(inline="always")
def pop(heap_keys, heap_states, n):
    """Remove the least label from a heap of `n`."""
    n -= 1
    key, state = heap_keys[n], heap_states[n]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= n:
            break
        if below + 1 < n and heap_keys[below + 1] < heap_keys[below]:
            below += 1
        if heap_keys[below] >= key:
            break
        heap_keys[at], heap_states[at] = heap_keys[below], heap_states[below]
        at = below
    heap_keys[at], heap_states[at] = key, state
