"""Two orgs in one store. What the first says, names or keeps to itself holds words that nobody else may read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from toys_api import ADMIN, AGENT, ATTACK, MEMBER, OPERATOR, ORG, OWNER, PROJECT, WORKER, here, seeded

from clew.clew import Clew
from clew.model.scope import Identity, Scope
from toys import ToyEmbedder, open_toy

SAID = "zanzibar"
PRIVATE = "quokka"  # its owner's alone, also among colleagues
NAMED = "kiwano"  # those who run the store may see how keys and members of an org are called
SECRETS = (SAID, PRIVATE, NAMED, "cache lives", "mind the ledger", "we deploy on", "log goes to", "went well")
OTHER = "globex"
GUS = Identity(OTHER, "gus", roles=("owner",))
OTHERS = (
    GUS,
    Identity(OTHER, "gia", roles=("admin",)),
    Identity(OTHER, "max", roles=("member",)),
    Identity(OTHER, agent="robot", roles=()),
)
RUNS_IT = Identity(OTHER, "opal", roles=("operator",))
COLLEAGUES = (ADMIN, MEMBER, AGENT)

__all__ = ("ADMIN", "AGENT", "MEMBER", "OPERATOR", "ORG", "OWNER", "PROJECT", "WORKER")


def two_orgs(path: Path) -> dict[str, str]:
    """Fill a store; what the first org has, by name."""
    names = seeded(path)
    with open_toy(path, embedder=ToyEmbedder()) as clew:
        _other_org(clew)
        return names | _said(clew) | _sessions(clew) | _private(clew) | _key(clew)


def _other_org(clew: Clew) -> None:
    clew.orgs.create("Globex", slug=OTHER, owner="gus", identity=OPERATOR)
    clew.orgs.add_member(OTHER, "gia", "admin", identity=GUS)
    clew.orgs.add_member(OTHER, "max", identity=GUS)
    clew.remember("globex ships on mondays", scope=Scope(org=OTHER, project="ops"), identity=GUS)
    clew.sessions.start(project="ops", title="theirs", identity=GUS)


def _said(clew: Clew) -> dict[str, str]:
    told = clew.remember(
        f"{SAID} is the code name: ZanzibarService depends on ZanzibarLedger",
        scope=here(),
        identity=OWNER,
        title=f"about {SAID}",
        tags=(SAID,),
        paths=(f"src/{SAID}.py",),
        metadata={"word": SAID},
        category=SAID,
    ).id
    held = clew.remember(f"{ATTACK} {SAID}", scope=here(), identity=OWNER, origin="web").id
    clew.remember(f"{SAID} in a project of its own", scope=here(f"{SAID}-project"), identity=OWNER)
    return {"said": told, "said_held": held, "said_job": f"job_{told.removeprefix('mem_')}"}


def _sessions(clew: Clew) -> dict[str, str]:
    """One that somebody works on, with messages, and one that ended."""

    def start() -> str:
        about = {"title": f"on {SAID}", "description": SAID, "issue": f"{SAID}-1", "work_type": "feature"}
        return clew.sessions.start(project=PROJECT, identity=OWNER, **about).id

    working, done = start(), start()
    token = clew.sessions.claim(working, WORKER, identity=OWNER)
    waits = clew.queue.enqueue(working, f"remember {SAID}", identity=OWNER)
    assert waits is not None
    clew.inject.start(working, identity=OWNER)
    last = clew.sessions.claim(done, "w2", identity=OWNER)
    clew.sessions.end(done, "accepted", worker="w2", token=last, summary=f"{SAID} works", identity=OWNER)
    names = {"working": working, "done": done}
    return names | {"working_token": str(token), "waits": waits.delivery_id}


def _private(clew: Clew) -> dict[str, str]:
    hers = replace(here(), user=OWNER.user)
    kept = clew.remember(
        f"{PRIVATE}: QuokkaService calls QuokkaLedger", scope=hers, identity=OWNER, tags=(PRIVATE,)
    )
    own = clew.sessions.start(project=PROJECT, user=OWNER.user, title=PRIVATE, identity=OWNER)
    return {"private": kept.id, "private_session": own.id}


def _key(clew: Clew) -> dict[str, str]:
    clew.orgs.add_member(ORG, f"{NAMED}-user", identity=OWNER)
    made = clew.keys.create(f"{NAMED} key", user=f"{NAMED}-user", identity=OWNER)
    return {"key": made.key.id, "key_token": made.token}
