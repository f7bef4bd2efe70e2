"""Why a decision was not given. The planes put these into their own words and status lines."""

from __future__ import annotations

from routeradmin.engine.refusal import Refusal


class Refused(Exception):
    """Nothing is eligible; the refusal says which case, why, and when to ask again."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class RouteNotAllowed(Exception):
    """The API key is limited to other routes."""

    def __init__(self, model: str) -> None:
        super().__init__(f"This API key may not use the model {model!r}; its routes are limited.")
        self.model = model


class TooManyExcluded(Exception):
    """``exclude`` names more of the catalog than is kept with a turn."""

    def __init__(self, most: int) -> None:
        super().__init__(
            f"'exclude' may name at most {most} deployments and candidates; name deployments "
            "instead of their candidates, or ask for another route."
        )


class TurnNotFound(Exception):
    """Turns are kept one hour; this one is unknown."""


class TurnMismatch(Exception):
    """The turn belongs to a request for another model."""


class TurnHalted(Exception):
    """The turn is over; ``halt`` says why."""

    def __init__(self, halt: str) -> None:
        super().__init__(f"This turn has halted ({halt}); start a new one by leaving out 'turn'.")
        self.halt = halt


class TurnWaiting(Exception):
    """The turn's wait is not over yet."""

    def __init__(self, remaining_s: float) -> None:
        super().__init__("This turn waits before its next attempt; come back after Retry-After.")
        self.remaining_s = remaining_s


class TurnBusy(Exception):
    """The turn's last attempt has not been reported yet."""


class StateUnknown(Exception):
    """What other processes granted is out of reach for the moment."""


class Stopping(Exception):
    """This process stops and waits no longer."""

    def __init__(self) -> None:
        super().__init__("The server is stopping and waits no longer; ask again.")


class LimitRefused(Exception):
    """The API key's own limits admit nothing more now."""

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
