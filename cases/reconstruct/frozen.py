"""`frozen.json`: what freezing a case made, by digest; from it the `source` and `case` records are written.

    {"case":{"id":"bindery","version":1},"commitment":"sha256:…","contract":"sha256:…","dimensions":["global_visual"],
     "environment":{"backend":"docker",…},"evidence":"sha256:…","kit":"sha256:…","limits":{"cpus":2000,…},
     "package":"sha256:…","plan":"sha256:…","schema":"rbl/frozen/v1","source":"sha256:…","starter":"sha256:…",
     "title":"A bookbinder's page","track":"frozen-evidence/reconstruct"}

and `checks.json`, what the oracle and the noop scored on exactly that:

    {"checks":[{"agent":"oracle","run":1,"score":1000000}],"frozen":"sha256:…","schema":"rbl/checks/v1"}

Canonical JSON. No path, selector or weight is in it, and nothing that a Candidate may not know but for `source`, the
digest of material that only curators hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import msgspec

from cases.contract import without_schema
from ledger.records import kinds
from store import canonical
from store.canonical import Json
from store.digest import Digest
from store.errors import InputError, SchemaError

__all__ = ["CHECKS_FILE", "FROZEN_FILE", "Checks", "FrozenCase"]

FROZEN_FILE: Final = "frozen.json"
CHECKS_FILE: Final = "checks.json"

_SCHEMA: Final = "rbl/frozen/v1"
_CHECKS_SCHEMA: Final = "rbl/checks/v1"
_DIGESTS: Final = ("package", "evidence", "starter", "contract", "plan", "commitment", "kit", "source")


class _Id(kinds.Part, frozen=True):
    id: str
    version: int


class _Rest(kinds.Part, frozen=True):
    """The fields that are no digests."""

    case: _Id
    track: kinds.Track
    title: str
    limits: kinds.Limits
    dimensions: list[kinds.Dimension]
    environment: kinds.RenderEnvironment


@dataclass(frozen=True, slots=True)
class FrozenCase:
    """A case, frozen and sealed.

    Attributes:
        id, version, track, title, limits, dimensions: as in its `case.toml`.
        package, evidence, starter: trees that Candidates see.
        contract, plan: objects.
        commitment: SHA-256 of the plaintext kit.
        kit: the sealed kit, an object.
        source: tree of the authoritative workspace, which the oracle applies.
        environment: what drew the reference.
    """

    id: str
    version: int
    track: kinds.Track
    title: str
    package: Digest
    evidence: Digest
    starter: Digest
    contract: Digest
    plan: Digest
    commitment: Digest
    kit: Digest
    source: Digest
    limits: kinds.Limits
    dimensions: tuple[kinds.Dimension, ...]
    environment: kinds.RenderEnvironment

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read `frozen.json`.

        Raises:
            CanonicalError: not canonical JSON.
            SchemaError: it has another shape.
        """
        value = without_schema(canonical.loads(data), _SCHEMA, "frozen case")
        digests = {name: _digest(value, name) for name in _DIGESTS}
        rest = kinds.part(_Rest, {key: item for key, item in value.items() if key not in digests})
        return cls(
            id=rest.case.id,
            version=rest.case.version,
            track=rest.track,
            title=rest.title,
            limits=rest.limits,
            dimensions=tuple(rest.dimensions),
            environment=rest.environment,
            **digests,
        )

    def format(self) -> bytes:
        """The one canonical form."""
        return canonical.dumps(
            {
                "schema": _SCHEMA,
                "case": {"id": self.id, "version": self.version},
                "track": self.track,
                "title": self.title,
                "limits": msgspec.to_builtins(self.limits),
                "dimensions": list(self.dimensions),
                "environment": msgspec.to_builtins(self.environment, enc_hook=str),
                **{name: str(getattr(self, name)) for name in _DIGESTS},
            }
        )

    @property
    def digest(self) -> Digest:
        """SHA-256 of `frozen.json`."""
        return Digest.of(self.format())

    def body(
        self,
        *,
        ledger: str,
        after: kinds.Head | None,
        issued_at: str,
        checks: list[kinds.Check],
        source: Digest | None,
        supersedes: Digest | None = None,
    ) -> kinds.Case:
        """The `case` record's body.

        Args:
            ledger: origin of the log.
            after: the head it is made after.
            issued_at: RFC 3339 in UTC.
            checks: of the oracle and the noop.
            source: leaf digest of the `source` record.
            supersedes: leaf digest of the version before this one.
        """
        return kinds.Case(
            ledger=ledger,
            after=after,
            issued_at=issued_at,
            id=self.id,
            version=self.version,
            track=self.track,
            title=self.title,
            package=self.package,
            evidence=self.evidence,
            starter=self.starter,
            contract=self.contract,
            plan=self.plan,
            sealed=kinds.Sealed(commitment=self.commitment, kit=self.kit),
            limits=self.limits,
            dimensions=list(self.dimensions),
            environment=self.environment,
            checks=checks,
            source=source,
            supersedes=supersedes,
        )


@dataclass(frozen=True, slots=True)
class Checks:
    """What oracle and noop scored, bound to what they scored on.

    Attributes:
        frozen: SHA-256 of the `frozen.json` they ran on.
        checks: one a run.
    """

    frozen: Digest
    checks: tuple[kinds.Check, ...]

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read `checks.json`.

        Raises:
            CanonicalError: not canonical JSON.
            SchemaError: it has another shape.
        """
        value = without_schema(canonical.loads(data), _CHECKS_SCHEMA, "checks")
        if value.keys() != {"frozen", "checks"} or not isinstance(value["checks"], list):
            raise SchemaError("checks: frozen and checks are expected")
        return cls(_digest(value, "frozen"), tuple(kinds.part(kinds.Check, item) for item in value["checks"]))

    def format(self) -> bytes:
        """The one canonical form."""
        return canonical.dumps(
            {
                "schema": _CHECKS_SCHEMA,
                "frozen": str(self.frozen),
                "checks": [msgspec.to_builtins(check) for check in self.checks],
            }
        )


def _digest(value: Json, name: str) -> Digest:
    try:
        return Digest.parse(value[name])
    except (KeyError, TypeError, AttributeError, InputError) as error:
        raise SchemaError(f"frozen case: {name} is not a digest") from error
