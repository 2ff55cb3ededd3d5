"""What counts as plain is what masking leaves alone and classification finds nothing in."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.bench.texts import texts
from clew.remember.classify import classify
from clew.remember.plain import is_plain
from clew.remember.redact import redact

# Whatever the rules look for, whole, cut, joined and beside what looks like it.
TRICKY = (
    "author authority capital monkey turkey key keys keyboard pass passed bypass passenger password passwords "
    "Password, secret secretary secrets token tokens tokenise auth auth, oauth authorization Bearer credential "
    "credentials pwd api apikey apiKey private privatekey privateer curl -u --user bob:hunter2 social security "
    "credit card ssn ssns pci pii piil -----BEGIN PRIVATE KEY <private> </private> [masked:url] https://a:b@c "
    "keytoken authkey passcode is was : = := => hunter2 hunter swordfish 4111 1111 41111111 2026 v2 80 key. key! "
    "token; smtp_pass _auth api-key x=y secret_access_key is: \"quoted\" 'quoted' a.b author. authors; credit. "
    "card. Iİ é sshpass -p -phunter2 mysql mysqldump mariadb -uroot: -uadmin:hunter2 ENV DB_PASSWORD machine "
    "login me **Password:** | `password` 'it's-x1' p@ss,w0rd1 re_use ops_team token budget: 4000 FlyV1 fm2_ "
    "ibm_cloud_iam_key cookie Cookie: Set-Cookie: sid=hunter2hunter2 zip unzip -P ssh-keygen -N htpasswd -b "
    "sqlplus me/hunter2 smbclient -U me%hunter2 -passin pass:hunter2 storepass -storepass gh set --body git config "
    "psk PSK: pre-shared preshared bindpw Basic basic / sign logged log in with jdbc:oracle:thin:app/hunter2@db "
    "redis-cli "
    "YTpodW50ZXIy 123-45-6789 NO93 8601 1117 947 pin pinned PIN: mapping 4711 is passcode useradd net use "
    "/user:x q8Zr2LkP0xVb77"
).split()
WORDS = st.sampled_from(TRICKY) | st.text(alphabet="abkeytopswdsrn.,;!?_-:= 0123456789", min_size=1, max_size=21)


def agrees(text: str) -> bool:
    """Only one direction: a text that is not plain is looked at, and may still turn out to be harmless."""
    if not is_plain(text):
        return True
    told = redact(text)
    return (told.text, told.kinds, told.private_spans) == (text, (), 0) and classify(text) == "internal"


@given(st.lists(WORDS, max_size=12), st.sampled_from([" ", "  ", "\n", "\t", "\r\n"]))
def test_a_plain_text_is_left_alone(words: list[str], joint: str) -> None:
    assert agrees(joint.join(words).strip())


def test_no_two_words_of_the_rules_are_plain_together_unless_they_say_nothing() -> None:
    for one in TRICKY:
        for other in TRICKY:
            assert agrees(f"{one} {other} swordfish"), (one, other)
            assert agrees(f"{one} {other} hunter2"), (one, other)


# Rules that wait for several words, each of them short.
SPOKEN = (
    "curl -u a:{}", "curl -ua:{} x", "curl -sSu a:{}", "sshpass -p {} ssh x", "sshpass -p{} scp x",
    "mysql -u root -p{} shop", "docker login -u a -p {}", "redis-cli -a {}", "mongosh -p {}", "ldapadd -w {}",
    "sqlcmd -P {}", "keytool -storepass {} -list", "git config a.password {}", "gh secret set A --body {}",
    "openssl rsa -passin pass:{} -in k", "unzip -P {} a.zip", "ssh-keygen -N {} -f k", "htpasswd -b me {}",
    "sqlplus me/{}@db", "smbclient -U me%{}", "Cookie: sid={}", "Set-Cookie: sid={}; Path=/", "a b</private> {}",
    "mysqldump -p{}", "mariadb -h x -p{}", "ENV DB_PASSWORD {}", "setenv TOKEN {}",
    "machine h login me password {}",
    "default login me password {}", "**Password:** {}", "**Password**: {}", "| password | {} |", "`password`: `{}`",
    "password: a,{}", "password: 'a b {}'", "iam_key = '{}'", "the password is {}", "the password {}",
    "password for staging is {}", "the password was set to {}", "password -> {}",
    "dbPw = '{}'", "smtpPW: {}",
    'the password for staging is "{}"', "the psk is {}", "the pre-shared key: {}", "cn=a bindpw {}", "bindpw {}",
    "log in with bob / {}", "basic auth bob:{}@h", "jdbc:oracle:thin:a/{}@db", "pw on the box = {}",
    "redis-cli -a {} ping",
    "net use \\\\h\\s /user:x {}", "useradd -p {} bob", "useradd -p'{}' bob", "the token {} has expired",
    "API key provided: {}", "the pin is {}", "the pin of the phone is {}", "PIN: {}", "the passcode {}",
)  # fmt: skip


@pytest.mark.parametrize("frame", SPOKEN)
def test_what_gives_a_secret_away_in_several_words_is_not_plain(frame: str) -> None:
    for value in (
        "swordfish",
        "hunter2xyz",
        "p@ss,w0rd1",
        "aB3(xY9z!Q",
        "4711",
        "q8Zr2LkP0xVb77",
        "some-able-seas",
    ):
        for joint in " \n\t":
            assert agrees(text := frame.replace("{}", value).replace(" ", joint)), text


@pytest.mark.parametrize("strict", [True, False])
def test_classification_is_the_same_with_and_without_the_short_cut(strict: bool) -> None:
    rng = random.Random(5)
    for text in texts(300, chars=120):
        for type_, paths in (("note", ()), ("decision", ("docs/a.md",)), ("note", ("src/auth/x.py",))):
            said = f"{text} {rng.choice(TRICKY)}"
            told = {"paths": paths, "type": type_, "strict_token_rule": strict}
            assert classify(said, **told, plain=is_plain(said)) == classify(said, **told)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["the author of the capital", "bypassed by passengers, mostly.", "port 80 is taken"]
)
def test_everyday_words_are_plain(text: str) -> None:
    assert is_plain(text)


@pytest.mark.parametrize(
    "text",
    [
        "the password is hunter2",
        "my key",
        "<private>x</private>",
        "curl -u a:b",
        "sshpass -p a1",
        "mysql -pa1",
        "4111 1111 1111 1111",
        "NO93 8601 1117 947",
        "é",
    ],
)
def test_what_could_matter_is_not(text: str) -> None:
    assert not is_plain(text)
