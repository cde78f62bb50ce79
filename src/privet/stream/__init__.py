"""Numbers that are released again and again while rows arrive: running sums, and windows of a stream of events.

A stream is charged once, when it is opened. Its steps follow a public clock, empty ones included.
"""

from privet.core.promise import WEvent

from .w_event import WEventPlan, WEventRelease, WEventStream
from .w_event_kept import open_w_event

__all__ = ["WEvent", "WEventPlan", "WEventRelease", "WEventStream", "open_w_event"]
