"""A vector space: which model made the vectors, and what its cosines mean."""

from __future__ import annotations

from clew.values import dataclass


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """The identity of a model's vectors and the two cosines that put them on one scale.

    Vectors of different spaces are never compared; `key` tells them apart in the store. `unrelated` and
    `same` are measured once per model on labelled pairs: the cosine of two texts that have nothing to do with
    each other, and that of two texts saying the same thing. A floor of 0.4 then means the same under each.
    """

    name: str
    revision: str
    dim: int
    unrelated: float
    same: float

    @property
    def key(self) -> str:
        """The text under which vectors of this space are stored."""
        return f"{self.name}@{self.revision}"
