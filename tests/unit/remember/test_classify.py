import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.remember.classify import TIERS, classify, demanded, highest, holds_data
from clew.remember.redact import redact


def test_the_documented_example_of_token_rotation_is_confidential() -> None:
    text = "Decided to rotate OAuth tokens every 24 hours; the token rotation runs in the gateway."
    assert classify(text, paths=["src/auth/rotation.py"], type="decision") == "confidential"


@pytest.mark.parametrize(
    "text",
    ["store no SSN", "a Social Security number", "credit card form", "credit_card", "PCI scope", "has pii."],
)
def test_personal_and_payment_data_is_restricted(text: str) -> None:
    assert classify(text, paths=["docs/a.md"]) == "restricted"


@pytest.mark.parametrize(
    "text",
    [
        "the password",
        "API key",
        "api_key",
        "api-key",
        "a Token",
        "private key",
        "a secret",
        "DB_PASSWORD",
        "tokens",
    ],
)
def test_talk_about_credentials_is_confidential(text: str) -> None:
    assert classify(text, paths=["docs/a.md"]) == "confidential"


@pytest.mark.parametrize(
    "path",
    [
        "src/auth/x.py",
        "Auth/x",
        "secrets/a",
        "a/credentials/b",
        "keys/k.pub",
        ".env",
        "app/.env",
        ".env.local",
        r"a\auth\b",
    ],
)
def test_a_sensitive_path_makes_plain_text_confidential(path: str) -> None:
    assert classify("uses tabs", paths=["docs/a.md", path]) == "confidential"


@pytest.mark.parametrize(
    "path", ["src/auth.py", "src/author/x.py", "src/keyset/x", "env/x.py", "a.env.py", "monkeys/x"]
)
def test_a_path_that_only_resembles_a_sensitive_one_is_internal(path: str) -> None:
    assert classify("uses tabs", paths=[path]) == "internal"


@pytest.mark.parametrize(
    "text",
    [
        "tokenizer",
        "secretary",
        "passwords2go",
        "capital key",
        "classname",
        "spcia",
        "pciexpress",
        "apikeyboard",
    ],
)
def test_parts_of_other_words_do_not_count(text: str) -> None:
    assert classify(text, paths=["docs/a.md"]) == "public"


@pytest.mark.parametrize("word", ["compliance", "Security", "audit", "policy", "SOX", "SR 11-7", "GDPR", "hipaa"])
def test_a_governance_decision_is_internal_even_under_docs(word: str) -> None:
    text = f"We follow {word} here."
    assert classify(text, paths=["docs/a.md"], type="decision") == "internal"
    assert classify(text, paths=["docs/a.md"], type="note") == "public"


@pytest.mark.parametrize(
    ("paths", "tier"),
    [
        ([], "internal"),
        (["docs/a.md"], "public"),
        (["./docs/a.md", "public/b.html"], "public"),
        (["docs/a.md", "src/b.py"], "internal"),
        (["docs/../src/b.py"], "internal"),
        (["/docs/a.md"], "internal"),
        (["src/docs/a.md"], "internal"),
        (["docs"], "internal"),
        ([""], "internal"),
    ],
)
def test_public_needs_a_path_and_every_path_public(paths: list[str], tier: str) -> None:
    assert classify("uses tabs", paths=paths) == tier


def test_a_masked_secret_is_restricted_by_flag_and_by_marker() -> None:
    found = redact("deploy with ghp_" + "a1B2" * 9)
    assert classify("deploy", paths=["docs/a.md"], masked=True) == "restricted"
    assert classify(found.text, paths=["docs/a.md"]) == "restricted"


@pytest.mark.parametrize(
    ("text", "tier"),
    [
        ("a token budget of 2000 per prompt", "public"),
        ("count the tokens of the chunk", "public"),
        ("rotate the token weekly", "confidential"),
        ("the OAuth token", "confidential"),
        ("token budget " + "x" * 60 + " login page", "public"),
        ("token budget and a password", "confidential"),
    ],
)
def test_the_lenient_rule_asks_for_a_credential_near_the_token(text: str, tier: str) -> None:
    assert classify(text, paths=["docs/a.md"], strict_token_rule=False) == tier
    assert classify(text, paths=["docs/a.md"]) == "confidential"


@pytest.mark.parametrize(
    "text",
    ["colours come from tokens.json", "design tokens of the brand", "src/tokens.css", "tokens.ts has spacing"],
)
def test_the_tokens_of_a_design_are_no_credentials(text: str) -> None:
    assert classify(text) == "internal"
    assert classify(f"{text}; the API tokens rotate") == "confidential"


@pytest.mark.parametrize("text", ["my ssn is 123-45-6789", "078-05-1120 on file", "id=219-09-9999."])
def test_a_social_security_number_is_restricted_and_not_only_spoken_of(text: str) -> None:
    assert classify(text, paths=["docs/a.md"]) == "restricted" and holds_data(text)


@pytest.mark.parametrize(
    "text",
    "2024-05-12 000-12-3456 666-12-3456 900-12-3456 123-00-4567 123-45-0000 1123-45-6789 123-45-67890".split(),
)
def test_what_only_resembles_a_social_security_number_is_none(text: str) -> None:
    assert classify(text) == "internal"


@pytest.mark.parametrize(
    ("text", "paths", "why"),
    [
        ("PCI scope: keep 5432 closed", (), "it speaks of pci"),
        ("the password is printed once", (), "it speaks of password"),
        ("a token budget", (), "it speaks of token"),
        ("uses tabs", ("src/auth/x.py",), "it is about src/auth/x.py"),
        ("use [masked:github]", (), "a secret was masked in it"),
        ("123-45-6789", (), "it holds what looks like a social security number"),
    ],
)
def test_a_label_above_the_default_tells_why(text: str, paths: tuple[str, ...], why: str) -> None:
    asked = demanded(text, paths=paths)
    assert asked and (asked.why, asked.tier) == (why, classify(text, paths=paths))
    assert demanded("uses tabs", paths=["src/x.py"]) is None


tiers = st.sampled_from(TIERS)
texts = st.lists(st.sampled_from(["token", "pii", "budget", "oauth", "audit", "[masked:jwt]", "é"])).map(" ".join)
path_lists = st.lists(st.sampled_from(["docs/a", "public/b", "src/c", "auth/d", ".env", ""]))


@given(texts, path_lists, st.sampled_from(["note", "decision"]), st.booleans())
def test_more_text_or_a_mask_never_lowers_a_tier(text: str, paths: list[str], type: str, strict: bool) -> None:
    tier = classify(text, paths=paths, type=type, strict_token_rule=strict)
    longer = classify(f"{text} more words", paths=paths, type=type, strict_token_rule=strict)
    assert TIERS.index(longer) >= TIERS.index(tier)
    assert classify(text, paths=paths, type=type, masked=True) == "restricted"


@given(tiers, tiers, tiers)
def test_highest_is_a_maximum(a: str, b: str, c: str) -> None:
    assert highest(a, b) == highest(b, a) == TIERS[max(TIERS.index(a), TIERS.index(b))]
    assert highest(highest(a, b), c) == highest(a, highest(b, c))


@pytest.mark.parametrize("label", ["", "secret", "PUBLIC"])
def test_an_unknown_label_counts_as_restricted(label: str) -> None:
    assert highest("public", label) == highest(label, "internal") == "restricted"
