"""How a service runs sweeps, and what it takes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

# What the process that runs a sweep finds in its environment.
STORE_VARIABLE, POLICY_VARIABLE = "SWEEPER_STORE", "SWEEPER_POLICY"
NOTED, INTERRUPTED = 3, 130  # its exit codes where a problem is noted, and where an interrupt ended it


@dataclass(frozen=True)
class Policy:
    """How a service runs sweeps: by which executor, on whose Ray and how far it may grow, whether ranks share cores.

    `allow_code` takes sweeps that run what the submitter names: commands, and models or data by module and name.
    """

    executor: str = "ray"
    ray_address: str | None = None
    oversubscribe: bool = False
    allow_code: bool = False
    autoscale: str | None = None  # as `Growth.parse` reads it

    def to_json(self) -> str:
        """For the process that runs a sweep."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Policy:
        """What `to_json` wrote."""
        fields: dict[str, Any] = json.loads(text)
        return cls(**fields)
