"""What the parts of the shared store cost, as measured: the simulation's only inputs."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Step:
    """Redis's processor time and the bytes of one step inside a call, beside the call's own."""

    redis_us: float
    bytes_in: float
    bytes_out: float

    def less(self, other: Step) -> Step:
        """What this one costs more."""
        return Step(
            max(0.0, self.redis_us - other.redis_us),
            max(0.0, self.bytes_in - other.bytes_in),
            max(0.0, self.bytes_out - other.bytes_out),
        )


@dataclass(frozen=True)
class Costs:
    """``touch_us`` is for each candidate that a call changes, however often. A frame's entry is
    paid once where the frame is made and once for everybody who reads it. ``*_process_us`` are
    processor time of the asking process. ``remembered_bytes``: Redis's memory for one lease, its
    turn and its answer."""

    server: str
    call: Step
    grant: Step
    save_turn: Step
    settle: Step
    answer: Step
    look: Step
    verdict: Step
    touch_us: float
    make_entry_us: float
    read_entry_us: float
    poll_entry_us: float
    entry_bytes: float
    push_us: float
    push_bytes: float
    remembered_bytes: float
    select_process_us: float
    call_process_us: float
    entry_process_us: float

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Costs:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return cls(
            **{
                name: Step(**value) if isinstance(value, dict) else value
                for name, value in kept.items()
            }
        )
