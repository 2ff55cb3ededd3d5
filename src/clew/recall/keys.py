"""The keys of tickets in a question: INV-71 is one thing, and neither INV nor 71 says anything. Pure.

Only what is asked is read so. In a memory the parts are terms beside the whole, as those of any identifier are:
whoever asks for something else that has such a form finds it by them.
"""

from __future__ import annotations

import re

# In capitals: in small letters anything may look like a key (step-2, python-3).
_FORM = r"([A-Z][A-Z0-9]{1,9})-\d{1,6}"
_KEY = re.compile(_FORM)
# By itself among other words, and no part of a path, a branch or an address.
_KEY_AMONG = re.compile(rf"(?<![\w@./:#\\'-]){_FORM}(?![\w@]|[./:#\\'-]+\w)")
# Standards and versions are written like keys, and as often with a space. `#12` is asked for as GH-12.
_NO_KEYS = frozenset(
    "ADR AES ANSI ARM AVX BASE CIS COVID CP CRC CSS CVE CWE DES ECMA ED EIP ES FIPS GH GO GPT H264 HMAC HTML HTTP "
    "IE IEEE IPV ISBN ISO JAVA JDK JEP JSR LATIN MAC MD MIL MIT MP MPEG NIST NODE ORA OWASP PCI PEP PHASE PHP PR "
    "PY PYTHON RFC RSA SHA SOC SSE SSL STEP TIER TLS UCS UHD USB UTC UTF GMT V WCAG WIN WINDOWS X XEP".split()
)


def key_of(chunk: str) -> str | None:
    """The term of a key as a whole, if the chunk is one."""
    found = _KEY.fullmatch(chunk)
    return chunk.replace("-", "").lower() if found and found[1] not in _NO_KEYS else None


def keys_in(text: str) -> list[str]:
    """The terms of those among the words of a text."""
    found = (found[0] for found in _KEY_AMONG.finditer(text)) if "-" in text else ()
    return [key for one in found if (key := key_of(one))]


def without_keys(text: str) -> str:
    """For what compares by meaning: the letters of a prefix are those of every other ticket. The same text where it
    has none."""
    if not keys_in(text):
        return text
    return _KEY_AMONG.sub(lambda found: found[0] if found[1] in _NO_KEYS else " ", text)
