"""What a narrowed reach leaves out is the same on every engine."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from clew import Identity, Scope
from clew.model.memory import Filter
from clew.model.scope import Reach
from toys import ToyEmbedder, open_toy

READABLE = ("public", "internal", "confidential")
BOT = Identity(agent="bot", roles=())


def test_labels_and_rows_narrow_what_is_counted_and_found(place: Path | str) -> None:
    with closing(open_toy(place, embedder=ToyEmbedder())) as clew:
        shop = Scope(project="shop")
        hidden = clew.remember("the merger with Globex", classification="restricted", scope=shop).memory
        plain = clew.remember("gateway is red", scope=shop).memory
        reach = replace(Reach.of(shop), labels=READABLE, by_label=True)
        with clew.store.read() as tx:
            rows = [tx.memories.row_of(memory) for memory in (hidden, plain)]
            assert tx.guarding.hidden_rows(reach) == rows[:1]
            assert tx.index.size(reach)[0] == 1 and tx.index.newest(reach, limit=9) == rows[1:]
            space, [asked] = ToyEmbedder().space.key, ToyEmbedder().embed(["merger"])
            assert [*tx.index.nearest(reach, space, asked[None], limit=1)[0]] == rows[1:]
            assert [one.id for one in tx.memories.find(reach, Filter(), now=clew.now(), limit=9)] == [plain.id]
            without = replace(Reach.of(shop), hidden=(rows[1],))
            assert [list(tx.index.vector_counts(one).values()) for one in (reach, without)] == [[1], [1]]
        assert (clew.stats().memories, clew.stats(identity=BOT).memories) == (2, 1)
        assert clew.recall("Globex", scope=shop, identity=BOT, retrieval="lexical").results == []
