"""What a caller asks of a selection: requirements and bounds, never a prompt."""

from __future__ import annotations

from dataclasses import dataclass, field

from routeradmin.engine.preferences import Preferences


@dataclass(slots=True, unsafe_hash=True)
class SelectRequest:
    """The facts that eligibility looks at. Nobody changes one: it is kept, shared and hashed.

    (Not ``frozen``: setting two dozen fields the way that needs costs more than choosing does.)

    Token figures are upper bounds; None is unknown (input) or not asked for (output).
    ``opaque`` holds the binding revision of each opaque item, None for an unattributed one.
    ``needs_secret``: we make the call, or hand the secret out. ``headers`` has lower-case names.
    """

    model: str
    input_tokens: int | None = None
    max_output_tokens: int | None = None
    requires: frozenset[str] = frozenset()
    tool_choice: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    reasoning_effort: str | None = None
    exclude: frozenset[str] = frozenset()
    session: str | None = None
    tags: frozenset[str] = frozenset()
    api: str | None = None
    translatable: bool = True
    lease_ttl_s: float = 120.0
    needs_secret: bool = False
    key_id: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    local_only: bool = False
    opaque: tuple[str | None, ...] = ()
    preferences: Preferences | None = None
    # All that static eligibility reads except the two token figures; see Tier.table.
    shape: tuple[object, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        choice = self.tool_choice
        self.shape = (
            self.requires,
            choice is not None and choice != "auto",  # names_tool
            self.temperature is not None,
            self.top_p is not None,
            self.reasoning_effort,
            self.api,
            self.translatable,
            self.needs_secret,
        )

    @property
    def names_tool(self) -> bool:
        """Whether the tool choice is anything but ``auto``."""
        return self.tool_choice is not None and self.tool_choice != "auto"

    @property
    def estimate(self) -> int:
        """Tokens to hold at the grant: input, 0 if unknown, plus output, 0 if absent."""
        return (self.input_tokens or 0) + (self.max_output_tokens or 0)
