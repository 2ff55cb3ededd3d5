"""Prompts that are questions: what is known about their only subject is said, and a word by chance says nothing.

The shipped model, recall and the gates are real.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from injector_toys import SHOP, running

from clew.clew import Clew
from clew.model.inject import VerbEvent
from clew.providers.static import StaticEmbedder
from toys import open_toy

NOTES = (
    "After changing anything below export/ the job must be deployed with `make deploy-export`, CI does not do it.",
    "finance changed their mind, we round the total once, not per line",
    "Staging is a copy of production, never run anything destructive there.",
    "Tokens are kept in Redis for 15 minutes, the refresh token for 30 days.",
    "The webhook worker polls the outbox every 5 seconds, since LISTEN dies behind the load balancer.",
    "Invoices are numbered per year and per client, without gaps.",
    "Reminders are sent in the morning at 7 in the time zone of the customer.",
    "The cache of exchange rates is cleared at midnight.",
    "Prices are stored in cents, as integers.",
    "Emails of the newsletter go through Postmark, all others through SES.",
    "The import accepts semicolons and commas, and detects the encoding.",
    "Feature flags older than 60 days are removed.",
    "Customers are merged by their VAT number.",
)
_EVENTS = count()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clew]:
    with open_toy(tmp_path_factory.mktemp("asked") / "clew.db", embedder=StaticEmbedder()) as clew:
        for text in NOTES:
            clew.remember(text, scope=SHOP, type="fact")
        yield clew


def told(clew: Clew, query: str, tool: str = "UserPromptSubmit") -> list[str]:
    session = running(clew)
    asked = VerbEvent(session=session.id, tool=tool, event_id=f"e{next(_EVENTS)}", query=query)
    notes = {one.id: one.content for one in clew.list(scope=SHOP)}
    return [notes[id] for id in clew.inject.event(asked).memory_ids]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("what did we say about rounding again?", NOTES[1]),
        ("do we need to do something for exports?", NOTES[0]),
        ("how do we round?", NOTES[1]),
        ("who decided about the webhook?", NOTES[4]),
        ("what did we decide about prices?", NOTES[8]),
        ("What do we know about emails", NOTES[9]),
    ],
)
def test_what_is_known_about_the_only_subject_of_a_question_is_said(shop: Clew, question: str, answer: str) -> None:
    assert told(shop, question) == [answer]
    assert told(shop, question, "Grep") == []  # nobody asks: it is looked for


@pytest.mark.parametrize(
    "question",
    [
        "how do i export a variable in bash?",
        "can you export this function from utils?",
        "is the export button blue?",
        "should the button have round corners?",
        "can you round the avatar image on the profile page?",
        "what does round() do in python?",
        "is the page round?",
        "what is the price of gold?",
        "is the price of the hosting plan shown anywhere?",
        "should the email be bold?",
        "is the email field required?",
        "who is the webhook maintainer of stripe?",
        "can you merge this branch into main?",
        "what does the token in line 3 of the parser mean?",
        "how do i import a type in typescript?",
        "should we flag this issue as a duplicate?",
        "can you number the lines?",
        "can you rate this approach?",
    ],
)
def test_a_question_about_something_else_that_shares_a_word_is_left_alone(shop: Clew, question: str) -> None:
    assert told(shop, question) == []


@pytest.mark.parametrize("prompt", ["please round the corners", "export it", "add an email field"])
def test_what_is_asked_for_is_no_question(shop: Clew, prompt: str) -> None:
    assert told(shop, prompt) == []


def test_a_word_that_is_in_every_second_text_is_not_enough(shop: Clew) -> None:
    assert told(shop, "do i need a token?") == []
