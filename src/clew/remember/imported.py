"""What an import tells: how much came in, what did not, and what to do about that."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from clew.values import dataclass

NAMED = 5  # lines and ids in a next move; all of them are in the document


@dataclass(slots=True)
class ImportReport:
    """`skipped` holds (line number, reason code), `taken` (line number, id); `known` were there already."""

    read: int = 0
    added: int = 0
    known: int = 0
    taken: list[tuple[int, str]] = field(default_factory=list)  # the id, or the key, belongs to another text
    skipped: list[tuple[int, str]] = field(default_factory=list)
    said: dict[int, str] = field(default_factory=dict)  # by line number: what is wrong with what was skipped
    left_out: list[int] = field(default_factory=list)  # lines of notes that say nothing by themselves
    truncated: bool = False  # the file ends in the middle of a line, or before the count it announced
    cut_at: int = 0  # that line
    checksum: str = "absent"  # ok | mismatch | absent
    quarantined: int = 0  # looked like attacks on their readers, and wait for someone to judge them
    private: int = 0  # passages of notes marked private, and left out
    lighter: int = 0  # weighed more than the importer may give, and weigh what is new
    authors_left_out: int = 0  # came with the name of another, which the importer may not give
    dry_run: bool = False
    sessions: int = 0  # of transcripts
    elsewhere: int = 0  # sessions of other projects, left out
    gone: list[str] = field(default_factory=list)  # ids of what an earlier one of these notes said, and it does not
    replaced: bool = False  # they were forgotten
    is_all_gone: bool = False  # nothing is left of what an earlier one said: was the file emptied, or another one?
    edited: list[str] = field(default_factory=list)  # ids of what was edited since: their lines were left out

    @property
    def conflicts(self) -> int:
        return len(self.taken)

    @property
    def is_whole(self) -> bool:
        """Whether the file could be read to its end, as it was written."""
        return not (self.skipped or self.truncated or self.checksum == "mismatch")

    @property
    def next(self) -> str:
        """What to do about what did not come in; what did is known by then."""
        moves = []
        if self.skipped:
            lines = named([str(line) for line, _reason in self.skipped])
            moves.append(f"correct line {lines} and import the file again")
        if self.truncated:
            where = f"in line {self.cut_at}" if self.cut_at else "too early"
            moves.append(f"the file ends {where}: import it again when it is complete")
        elif self.checksum == "mismatch":
            moves.append("the file was changed: see that this was on purpose, or make it anew with: clew export")
        if self.taken:
            ids = named([id for _line, id in self.taken])
            moves.append(f"compare with what is there: clew show {ids}; to keep both, import with --project P")
        return "; ".join(moves)

    def as_json(self) -> dict[str, Any]:
        names = (
            "read",
            "added",
            "known",
            "conflicts",
            "quarantined",
            "truncated",
            "checksum",
            "private",
            "left_out",
            "dry_run",
        )
        answer: dict[str, Any] = {name: getattr(self, name) for name in names}
        if self.sessions or self.elsewhere:
            answer |= {"sessions": self.sessions, "elsewhere": self.elsewhere}
        if self.gone:
            answer |= {"gone": self.gone, "replaced": self.replaced}
        if self.lighter:
            answer["lighter"] = self.lighter
        if self.authors_left_out:
            answer["authors_left_out"] = self.authors_left_out
        if self.edited:
            answer["edited"] = self.edited
        if self.next:
            answer["next"] = self.next
        return answer | {
            "taken": [{"line": line, "id": id} for line, id in self.taken],
            "skipped": [
                {"line": line, "reason": reason, "message": self.said.get(line, "the line is not JSON")}
                for line, reason in self.skipped
            ],
        }


def named(names: list[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
