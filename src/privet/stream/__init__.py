"""Numbers that are released again and again while rows arrive: running sums, and windows of a stream of events.

A stream is charged once, when it is opened. Its steps follow a public clock, empty ones included.
"""

from privet.core.budget import WEvent

from .arrivals import Arrival, StepClock
from .buffered import BufferedSums
from .durable import open_stream, resume_stream
from .roots import RootSums
from .tree import TreeSums
from .w_event import WEventPlan, WEventRelease, WEventStream
from .w_event_kept import open_w_event

__all__ = [
    "Arrival",
    "BufferedSums",
    "RootSums",
    "StepClock",
    "TreeSums",
    "WEvent",
    "WEventPlan",
    "WEventRelease",
    "WEventStream",
    "open_stream",
    "open_w_event",
    "resume_stream",
]
