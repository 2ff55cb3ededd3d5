"""Passwords that stand on a command line, by the command that takes them. Pure.

One line of the table per command: `redact.py` applies it where the command is named, in linear time as it promises.
"""

from collections.abc import Callable
from typing import NamedTuple

from clew.remember.looks import compiled, could_be_secret, has_digit, is_variable


class Rule(NamedTuple):
    """A kind of secret: strings it cannot do without, a pattern (masks group ``v`` or all), a last check."""

    kind: str
    needs: tuple[str, ...]
    pattern: str
    is_secret: Callable[[str], bool] | None = None


def is_not_a_variable(value: str) -> bool:
    return not is_variable(value)


def _is_command_password(value: str) -> bool:
    """Not a port of `docker run`, nor an option of another command: `find -name mysql -print`."""
    return could_be_secret("pass", value) and compiled(_OTHER_OPTION).fullmatch(value) is None


def _is_set_by_sql(value: str) -> bool:
    """A column has no digit."""
    return has_digit(value) and could_be_secret("pass", value)


# A word of a command line in quotes, or without up to what would end it in a shell or in Markdown.
_IN_QUOTES = r"(?:(?!(?P=q))[^\n]){1,200}(?=(?P=q))"
_SHELL_WORD = r"[^\s\"'`;|&<>()]{1,200}"
_OTHER_OPTION = (  # without their `-p`
    r"\d{1,5}(?::\d{1,5})?|rint\w*|rune|ath|ipe|thread|ort|arallel|rofile|lugin\S*|roject|roxy|rompt\w*|arents"
)


def _taken_by(option: str, *, needs: tuple[str, ...], commands: str, then: str | None = None) -> Rule:
    """The password behind an option of some commands, whatever options and words stand between. One without quotes
    has a digit, or the command goes on behind it with what `then` says: otherwise it may be talk."""
    letters = rf"|{_SHELL_WORD}(?=\s{{1,3}}(?:{then}))" if then else ""
    return Rule(
        "login",
        needs,
        rf"(?i:\b(?:{commands}))(?:\s{{1,2}}[^\s`;|&<>()]{{1,64}}+){{0,10}}?\s{{1,2}}-{option}(?:\s{{1,2}}|=)?"
        rf"(?P<q>[\"'])?(?P<v>(?(q){_IN_QUOTES}|(?:(?=\S{{0,200}}\d){_SHELL_WORD}{letters})))",
        _is_command_password,
    )


_REDIS = (  # a further option, or a command that no sentence goes on with
    r"-{1,2}[a-z]|(?i:ping|info|keys|hgetall|h?get|h?set|m?del|scan|ttl|lrange|llen|incr|flush(?:all|db)|dbsize|config"
    r"|monitor|client|subscribe|publish|eval|select|save|bgsave|shutdown)\b"
)
COMMAND_RULES = (
    # A user id and a group id, as `docker run -u` takes them, are no login.
    Rule(
        "url",
        ("curl ",),
        r"\s(?:-[A-Za-z]{0,5}[uU][ =]|-u(?!ser|rl|ri\b)|--(?:proxy-)?user[ =])(?P<q>[\"'])?"
        rf"(?!\d{{1,5}}:\d{{1,5}}(?!\w))[\w.@+%${{}}-]{{0,64}}:(?!//)(?P<v>(?(q)(?:{_IN_QUOTES}|[^\s\"'`]{{1,200}})|[^\s\"'`]{{1,200}}))",
        is_not_a_variable,
    ),
    # A word without a digit is a value if the command goes on or ends behind it; otherwise it may be talk.
    Rule(
        "login",
        ("sshpass",),
        rf"(?i:\bsshpass)\s{{1,3}}-p\s{{0,3}}(?P<q>[\"'])?(?P<v>(?(q){_IN_QUOTES}|(?:(?=\S{{0,200}}\d){_SHELL_WORD}"
        rf"|{_SHELL_WORD}(?=`|\s{{1,3}}(?:ssh|scp|sftp|rsync|sudo|git|ansible|-)))))",
        _is_command_password,
    ),
    # Glued to its letter: `-p` alone asks for it. Only options and their values may stand before it.
    Rule(
        "login",
        ("mysql", "mariadb"),
        r"(?i:\b(?:mysql|mariadb)(?:-?(?:dump|admin|import|show|check))?)"
        r"(?:\s{1,2}(?!-p)-{1,2}[\w'\"-]{1,40}+(?:[= ](?!-)[\"']?[\w.$@%:/{}-]{1,64}+[\"']?)?){0,8}"
        rf"\s{{1,2}}-p(?P<q>[\"'])?(?P<v>(?(q){_IN_QUOTES}|{_SHELL_WORD}))",
        _is_command_password,
    ),
    _taken_by("p", needs=("login ",), commands=r"(?:docker|podman|nerdctl|helm registry|oras|skopeo|az) login"),
    _taken_by("p", needs=("mongo",), commands="mongo(?:sh|dump|restore|export|import|stat)?"),
    _taken_by("a", needs=("redis-cli",), commands="redis-cli", then=_REDIS),  # its -p is a port
    _taken_by("w", needs=("ldap",), commands="ldap(?:search|modify|add|delete|passwd|whoami|compare)"),
    _taken_by("P", needs=("sqlcmd",), commands="sqlcmd"),
    _taken_by("P", needs=("zip",), commands="(?:un)?zip"),
    _taken_by("p", needs=("useradd",), commands="useradd"),
    _taken_by("k", needs=("openssl enc",), commands="openssl enc"),
    _taken_by("[NP]", needs=("ssh-keygen",), commands="ssh-keygen"),
    _taken_by("(?:b|-body)", needs=("secret set",), commands="gh secret set"),
    _taken_by(r"U\s{0,2}[\"']?[\w.\\/@-]{1,64}%", needs=("smbclient",), commands="smbclient"),
    Rule(
        "login",
        ("pass:",),
        rf"-pass(?:in|out)?\s{{1,2}}(?P<q>[\"'])?pass:(?P<v>(?(q){_IN_QUOTES}|{_SHELL_WORD}))",
        _is_command_password,
    ),
    Rule(
        "login",
        ("securestring",),
        r"(?i:\bConvertTo-SecureString(?:\s{1,2}-(?:string|asplaintext|force)){0,3})\s{1,2}"
        rf"(?P<q>[\"'])(?P<v>{_IN_QUOTES})",
        is_not_a_variable,
    ),
    # With -b it is the last word, behind a user and mostly a file.
    Rule(
        "login",
        ("htpasswd",),
        r"(?i:\bhtpasswd)(?:\s{1,2}-\w{1,8}){0,3}\s{1,2}-\w{0,6}b\w{0,6}(?:\s{1,2}-\w{1,8}){0,3}"
        r"(?:\s{1,2}[^\s`;|&<>()-][^\s`;|&<>()]{0,64}+){1,2}\s{1,2}"
        rf"(?P<q>[\"'])?(?P<v>(?(q){_IN_QUOTES}|(?=\S{{0,200}}\d){_SHELL_WORD}))",
        _is_command_password,
    ),
    # A word with a slash is a path as well: only an option before it or the name of a database behind it tells.
    Rule(
        "login",
        ("sqlplus",),
        r"(?i:\bsqlplus)(?P<o>(?:\s{1,2}-\w{1,8}){1,4})?\s{1,2}[\"']?[\w.$#-]{1,64}/"
        r"(?P<v>(?(o)(?=[^\s@]{0,200}[\d@]))[^\s\"'`;|&<>()@/]{1,200}+)(?(o)|(?=@))",
        _is_command_password,
    ),
    # Behind the share or behind the user; `*` asks for it.
    Rule(
        "login",
        ("/user:",),
        r"(?i:\bnet\s{1,2}use\s{1,2}(?:[a-z]:\s{1,2})?\\{2,4}[^\s\"'`]{1,200}(?=[^\n]{0,300}/user:)"
        r"(?:\s{1,2}/[a-z]{1,12}(?::[^\s\"'`]{1,100})?){0,4})"
        rf"\s{{1,2}}(?!/)(?P<q>[\"'])?(?P<v>(?(q){_IN_QUOTES}|{_SHELL_WORD}))",
        _is_command_password,
    ),
    # Glued to its letter, and behind a command of one or two: there it is no talk.
    Rule(
        "login",
        ("7z", "rar "),
        r"(?i:\b(?:7z[arz]?|(?:un)?rar)(?:\.exe)?)\s{1,2}[a-z]{1,2}(?:\s{1,2}[^\s`;|&<>()]{1,64}+){0,10}?\s{1,2}-h?p"
        rf"(?P<q>[\"'])?(?P<v>(?(q){_IN_QUOTES}|{_SHELL_WORD}))",
        _is_command_password,
    ),
    # What is piped into a command that reads a password; before a colon stands the user.
    Rule(
        "login",
        ("sudo -s", "password-stdin", "with-token", "chpasswd"),
        r"\b(?:echo(?:\s{1,2}-[neE]{1,3})?|printf(?:\s{1,2}[\"']?%s(?:\\n)?[\"']?)?)\s{1,2}"
        rf"(?P<q>[\"'])?(?:[\w.-]{{1,40}}+:)?(?P<v>(?(q){_IN_QUOTES}|{_SHELL_WORD}))[\"']?\s{{0,2}}\|\s{{0,2}}"
        r"(?=(?:sudo\s{1,2})?(?:sudo\s{1,2}-S\b|chpasswd\b|(?:[\w./-]{1,64}\s{1,2}){1,12}--(?:password-stdin|with-token)(?![\w-])))",
        _is_command_password,
    ),
    Rule(
        "login",
        ("identified",),
        r"(?i:(?:(?-i:\bIDENTIFIED)|\b(?:create|alter|grant)\b[^\n;]{1,160}?\bidentified)\s{1,3}(?:with\s{1,3}[\w'`]{1,40}\s{1,3})?(?:by|as)\s{1,3}(?:password\s{1,3})?)"
        rf"(?P<q>')(?P<v>{_IN_QUOTES})",
        _is_set_by_sql,
    ),
)
