"""Numbers that are released again and again while rows arrive: running sums, and windows of a stream of events.

A stream is charged once, when it is opened. Its steps follow a public clock, empty ones included.
"""

__all__: list[str] = []
