"""Every key here is put together at run time, so that no scanner finds a key in this repository."""

import cProfile
import random
import string
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.remember.redact import redact, redact_together

HEX = "0123456789abcdef"
MIXED = "aB3dE5fG7hJ9kL2mN4pQ6rS8tU0vW1xYz"


def chars(n: int, alphabet: str = MIXED) -> str:
    return (alphabet * (n // len(alphabet) + 1))[:n]


PEM_LINES = "\n".join(chars(64) for _ in range(3))

KEYS = {
    "aws-id": ["AKIA" + chars(16, "QRST2345WXYZ"), "ASIA" + chars(16, "QRST2345WXYZ")],
    "github": [
        *[f"gh{letter}_" + chars(36) for letter in "pousr"],
        "github_" + "pat_" + chars(22) + "_" + chars(59),
    ],
    "gitlab": ["glpat" + "-" + chars(20), "glpat" + "-" + chars(27) + ".01." + chars(9)]
    + [f"gl{name}-" + chars(20) for name in ("rt", "dt", "ptt", "ft", "cbt", "oas", "soat", "imt", "agent")],
    "slack": [f"xox{letter}-" + "1234567890-" + chars(24) for letter in "abpros"]
    + ["xapp-" + "1-A0123-4567-" + chars(30)],
    "stripe": [p + chars(24) for p in ("sk_" + "live_", "rk_" + "live_", "sk_" + "test_", "whsec_")],
    "google": ["AIza" + chars(35), "GOCSPX-" + chars(28), "ya29." + chars(60), "1/" + "/0" + chars(60)],
    "openai": [
        "sk-" + chars(48),
        "sk-" + "proj-" + chars(20) + "_" + chars(30),
        "sk-" + "svcacct-" + chars(40),
        "sk-" + chars(32, "f9a194d9db49610f"),
    ],
    "anthropic": ["sk-" + "ant-api03-" + chars(80) + "-" + chars(12)],
    "huggingface": ["hf_" + chars(34)],
    "npm": ["npm_" + chars(36)],
    "pypi": ["pypi-" + "AgEIcHlwaS5vcmc" + chars(70)],
    "sendgrid": ["SG." + chars(22) + "." + chars(43)],
    "twilio": ["SK" + chars(32, HEX), "AC" + chars(32, HEX)],
    "mailgun": ["key-" + chars(32, HEX)],
    "digitalocean": ["dop_" + "v1_" + chars(64, HEX)],
    "jwt": ["eyJ" + chars(20) + ".eyJ" + chars(30) + "." + chars(43)],
    "vault": ["hvs." + chars(90)],
    "age": ["AGE-SECRET-" + "KEY-1" + chars(58, "QPZRY9X8GF2TVDW0")],
    "shopify": [f"shp{use}_" + chars(32, HEX) for use in ("at", "ca", "pa", "ss")],
    "linear": ["lin_" + "api_" + chars(40), "lin_" + "oauth_" + chars(64, HEX)],
    "groq": ["gsk_" + chars(52)],
    "atlassian": ["ATATT" + "3xFfGF0" + chars(170) + "=" + chars(8, "0A1B2C3D"), "ATCTT" + "3xFfGN0" + chars(170)],
    "databricks": ["dapi" + chars(32, HEX), "dapi" + chars(32, HEX) + "-2"],
    "telegram": ["1234567890" + ":AA" + chars(33), "987654" + ":AA" + "_-" + chars(31)],
    "tailscale": [f"tskey-{use}-" + chars(12) + "CNTRL-" + chars(32) for use in ("auth", "api", "client")],
    "replicate": ["r8_" + chars(37)],
    "supabase": ["sbp_" + chars(40, HEX), "sbp_" + "v0_" + chars(40, HEX), "sb_" + "secret_" + chars(31)],
    "postman": ["PMAK-" + chars(24, HEX) + "-" + chars(34, HEX)],
    "doppler": [f"dp.{use}." + chars(43) for use in ("pt", "st", "ct", "sa", "scim", "audit", "st.dev_personal")],
    "xai": ["xai-" + chars(80)],
    "notion": ["ntn_" + chars(11, "12345") + chars(35), "secret_" + chars(43)],
    "perplexity": ["pplx-" + chars(48)],
    "nvidia": ["nvapi-" + chars(40) + "_-" + chars(22)],
    "openrouter": ["sk-or-" + "v1-" + chars(64, HEX)],
    "clew": ["clew_" + chars(26, HEX) + "_" + chars(43), "clew_" + "local_" + chars(43)],
    "square": ["sq0atp-" + chars(22), "sq0csp-" + chars(43), "EAAA" + "E" + chars(59)],
    "facebook": ["EAAC" + "EdEose0cBA" + chars(150), "EAAM" + chars(120)],
    "docker": ["dckr_" + "pat_" + chars(27), "dckr_" + "oat_" + chars(32)],
    "rubygems": ["rubygems_" + chars(48, HEX)],
    "figma": ["figd_" + chars(20) + "_" + chars(20)],
    "sentry": ["sntrys_" + "eyJ" + chars(90) + "=_" + chars(43), "sntryu_" + chars(64, HEX)],
    "grafana": ["glsa_" + chars(32) + "_" + chars(8, HEX), "glc_" + "eyJ" + chars(90) + "="],
    "cloudflare": ["v1.0-" + chars(24, HEX) + "-" + chars(146, HEX)],
    "mailchimp": [chars(32, HEX) + "-us12", chars(32, HEX) + "-us7"],
    "discord": [
        "MTk4NjIyNDgzNDcxOTI1MjQ4" + ".Cl2FMQ." + chars(27),
        "MTE5NjIyNDgzNDcxOTI1MjQ4Mg" + ".GaB3dE." + chars(38),
    ],
    "artifactory": ["AKCp5" + chars(68), "AP4" + chars(30), "cmVmd" + "GtuOj" + chars(54)],
    "heroku": ["HRKU-" + "AA" + chars(58), "HRKU-" + "0a1b2c3d-0a1b-4c2d-8e3f-0a1b2c3d4e5f"],
    "newrelic": ["NRAK-" + chars(27, "A1B2C3")],
    "planetscale": [f"pscale_{use}_" + chars(43) for use in ("tkn", "pw", "oauth")],
    "fly": ["fm2_" + "lJPECAAA" + chars(120) + "==", "fo1_" + chars(43), "fm1r_" + chars(120)],
    "terraform": [chars(14) + ".atlasv1." + chars(67)],
    "circleci": [f"CCI{use}_" + chars(22) + "_" + chars(40, HEX) for use in ("PAT", "PRJ")],
    "pulumi": ["pul-" + chars(40, HEX)],
    "airtable": ["pat" + chars(14) + "." + chars(64, HEX)],
    "langsmith": [f"lsv2_{use}_" + chars(32, HEX) + "_" + chars(10, HEX) for use in ("pt", "sk")],
    "contentful": ["CFPAT-" + chars(43)],
    "1pw": ["ops_" + "eyJ" + chars(250)],
    "brevo": ["xkeysib-" + chars(64, HEX) + "-" + chars(16), "xsmtpsib-" + chars(64, HEX) + "-" + chars(16)],
    "resend": ["re_" + chars(8) + "_" + chars(24)],
    "pem": [
        f"-----BEGIN {name}PRIVATE KEY{block}-----\n{PEM_LINES}\n-----END {name}PRIVATE KEY{block}-----"
        for name, block in (
            ("", ""), ("RSA ", ""), ("EC ", ""), ("OPENSSH ", ""), ("ENCRYPTED ", ""), ("PGP ", " BLOCK")
        )
    ],
    "card": ["4111 1111 1111 1111", "5500-0000-0000-0004", "3782 822463 10005", "6011000990139424"],
    "iban": [
        "DE89370400440532013000", "DE89 3704 0044 0532 0130 00", "GB29-NWBK-6016-1331-9268-19", "NO9386011117947",
        "FR1420041010050500013M02606", "MT84MALT011000012345MTLCAST001S", "BE68\xa05390\xa00754\xa07034",
        "KW81CBKU0000000000001234560101", "LC55HEMM000100010012001200023015", "CH93 0076 2011 6238 5295 7",
    ],
}  # fmt: skip
WHOLE = [(kind, key) for kind, keys in KEYS.items() for key in keys]
FRAMES = [
    "{}",
    "the value {} leaked",
    "see {}, then go on",
    '{{"a": "{}"}}',
    "line\n{}\nline",
    "X={}",
    "({}).",
]


@pytest.mark.parametrize(("kind", "key"), WHOLE)
def test_a_key_of_known_shape_is_masked_and_its_surroundings_stay(kind: str, key: str) -> None:
    found = [redact(frame.format(key)) for frame in FRAMES]
    assert [one.text for one in found] == [frame.format(f"[masked:{kind}]") for frame in FRAMES]
    assert {one.kinds for one in found} == {(kind,)}


@pytest.mark.parametrize("before", [r"\n", r"\t", "%3D", "_", "-", "é"])
def test_a_key_is_found_after_an_escape_or_an_underscore(before: str) -> None:
    assert redact(f"a{before}" + "ghp_" + chars(36)).text == f"a{before}[masked:github]"


PARTLY = [
    ("aws_secret_access_key = {}", "/".join([chars(19), chars(20)]), "aws"),
    ('"SecretAccessKey": "{}",', "+".join([chars(19), chars(20)]), "aws"),
    ("AccountName=x;AccountKey={};EndpointSuffix=y", chars(86) + "==", "azure"),
    ("Endpoint=sb://x;SharedAccessKey={}", chars(43) + "=", "azure"),
    ("https://x.blob.core.windows.net/c?sv=2022-11-02&sr=b&sig={}&se=2030", chars(41) + "%2F" + "%3D", "azure"),
    ("?sp=r&amp;sig={}", chars(43) + "=", "azure"),
    ("https://api.telegram.org/bot{}/getMe", "1234567890" + ":AA" + chars(33), "telegram"),
    ("https://hooks.slack.com/services/{}", "T0123ABCD/B0123ABCD/" + chars(24), "slack"),
    ("https://discord.com/api/webhooks/{}", "123456789012345678/" + chars(68), "discord"),
    ("postgres://user:{}@db.host:5432/x", "pass", "url"),
    ("https://user:{}@host/path?q=1", "p@ss!w0rd", "url"),
    ("redis://:{}@cache:6379/0", "hunter2", "url"),
    ("git clone https://{}@host/a/b", chars(40, HEX), "url"),
    ("curl -u admin:{} https://host", "hunter2", "url"),
    ("curl -uadmin:{} https://host", "hunter2", "url"),
    ("curl -sSu 'admin:{}' https://host", "hunter two", "url"),
    ("curl -u :{} https://host", "hunter2", "url"),
    ("curl --proxy-user a@b.c:{} https://host", "hunter2", "url"),
    ("`curl -u admin:{}`", "hunter2", "url"),
    ("sshpass -p {}", "hunter2", "login"),
    ("sshpass -p{} ssh me@host", "swordfish", "login"),
    ("SSHPASS -p '{}' scp a b:", "correct horse", "login"),
    ("run `sshpass -p {}` there", "hunter2", "login"),
    ("`sshpass -p {}`", "swordfish", "login"),
    ("mysql -p{}", "hunter2", "login"),
    ("mysql -u root -p{} shop < dump.sql", "swordfish", "login"),
    ("docker exec db mysqldump --single-transaction -h db -uroot -p'{}' shop", "p@ss w0rd", "login"),
    ("mariadb -p{}; echo", "hunter2", "login"),
    ("docker login -u bob -p {} registry.example.com", "hunter2", "login"),
    ("docker login registry.example.com -u bob -p '{}'", "correct horse", "login"),
    ("helm registry login r.io -u bob -p={}", "hunter2", "login"),
    ("az login --service-principal -u 1-2 -p {} --tenant t", "hunter2", "login"),
    ("redis-cli -h cache -p 6379 -a {} ping", "hunter2", "login"),
    ("mongodump --host db -u root -p {} --db shop", "hunter2", "login"),
    ("ldapsearch -x -D cn=admin,dc=a -w {} -b dc=a", "hunter2", "login"),
    ("sqlcmd -S db -U sa -P {} -Q 'select 1'", "hunter2", "login"),
    ("keytool -list -storepass {} -keystore k", "hunter2", "assigned"),
    ("keytool -keypass {} -list", "swordfish", "assigned"),
    ("git config user.password {}", "hunter2", "assigned"),
    ("git config --global http.proxy.password {}", "swordfish", "assigned"),
    ("npm config set //r.io/:_authToken {}", chars(24), "assigned"),
    ("openssl rsa -passin pass:{} -in k", "hunter2", "login"),
    ("openssl pkcs12 -export -passout 'pass:{}'", "correct horse", "login"),
    ("openssl enc -aes-256-cbc -pass pass:{}", "swordfish", "login"),
    ("openssl enc -aes-256-cbc -k {} -in a", "hunter2", "login"),
    ('ConvertTo-SecureString "{}" -AsPlainText -Force', "swordfish", "login"),
    ("$s = ConvertTo-SecureString -AsPlainText -String '{}'", "correct horse", "login"),
    ('{{"auths": {{"r.io": {{"auth": "{}"}}}}}}', "Ym9iOmh1bnRlcjI=", "login"),
    ("bob:$apr1${}", "r31....." + "$" + "HqJZimcKQFAMYayBlzkrA/", "hash"),
    ("root:$6${}:19000:0:99999:7:::", chars(8) + "$" + chars(86), "hash"),
    ("https://b.s3.example.com/k?X-Amz-Expires=60&X-Amz-Signature={}", chars(64, HEX), "aws"),
    ("  client-key-data: {}", "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo" + chars(80), "pem"),
    ("TLS_B64='{}'", "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk" + chars(80) + "==", "pem"),
    ("gh secret set TOKEN --body {}", "hunter2", "login"),
    ("gh secret set TOKEN -R a/b -b'{}'", "correct horse", "login"),
    ("unzip -P {} a.zip", "hunter2", "login"),
    ("zip -r -P '{}' a.zip b", "correct horse", "login"),
    ("ssh-keygen -t ed25519 -N {} -f k", "hunter2", "login"),
    ("ssh-keygen -p -P '{}' -f k", "correct horse", "login"),
    ("htpasswd -b user {}", "hunter2", "login"),
    ("htpasswd -cB -b .htpasswd user {}", "hunter2", "login"),
    ("htpasswd -nbB user {} > users", "hunter2", "login"),
    ("sqlplus scott/{}@db", "hunter2", "login"),
    ("sqlplus -S scott/{}@//db:1521/x", "swordfish", "login"),
    ("sqlplus -L scott/{}", "hunter2", "login"),
    ("smbclient -U user%{}", "hunter2", "login"),
    ("smbclient //host/share -U 'corp\\user%{}' -c ls", "hunter2", "login"),
    ("Set-Cookie: sid={}; Path=/", "Sup3rS3cret9abcdef", "cookie"),
    ("curl -H 'Cookie: session={}'", "Sup3rS3cret9abcdef", "cookie"),
    ("curl --cookie session={} https://host", "Sup3rS3cret9abcdef", "cookie"),
    ('{{"cookie": "theme={}"}}', "dark; sid=Sup3rS3cret9abcdef", "cookie"),
    ('curl --cookie "sid={}"', "8f14e45fceea167a5a36dedd4bea2543", "cookie"),
    ("Cookie: PHPSESSID={}", "r2t5uvjq435r4q7ib3vtdjq120", "cookie"),
    ("Cookie: JSESSIONID={}", "0AAB6C8DE415E2E5F307CF334BFCA0C1", "cookie"),
    ("Cookie: sid={}", "123e4567-e89b-12d3-a456-426614174000", "cookie"),
    ("Cookie: connect.sid={}", "s%3AQwErTyUiOpAs7fGhJkLz.xCvB", "cookie"),
    ("sqlplus scott/{}@db", "Sup3rS3cret9", "login"),
    ("signing_key = {}", "3AA5C34371567BD2", "assigned"),
    ("jwt.signingKey={}", "3AA5C34371567BD2", "assigned"),
    ("vault login {}", "s." + "x9Kq2LmZ7RtYbNw4VcPd6HgJ", "vault"),
    ("FlyV1 {}", "fm2_" + "lJPECAAA" + chars(120), "fly"),
    ("Authorization: Bearer {}", chars(40), "bearer"),
    ("-H 'authorization: basic {}'", "dXNlcjpwYXNzd29yZA==", "bearer"),
    ('{{"Authorization": "Bearer {}"}}', chars(40), "bearer"),
    ("sent with bearer {} and got 401", chars(24), "bearer"),
    ("7z a -p{} backup.7z data/", "swordfish", "login"),
    ("7z x backup.7z -p'{}' -oout", "correct horse", "login"),
    ("rar a -hp{} out.rar a", "hunter2", "login"),
    ("echo {} | sudo -S apt update", "hunter2", "login"),
    ("echo '{}' | docker login -u ci --password-stdin r.io", "correct horse", "login"),
    ("printf '%s' '{}' | gh auth login --with-token", "hunter2", "login"),
    ("echo 'deploy:{}' | sudo chpasswd", "hunter2", "login"),
    ("CREATE USER 'app'@'%' IDENTIFIED BY '{}';", "hunter2", "login"),
    ("alter user app identified with mysql_native_password by '{}'", "hunter2", "login"),
    ("db.example.dev:5432:orders:app:{}", "swordfish", "login"),
    ("the line in .pgpass is *:*:*:app:{} and it works", "hunter2", "login"),
    ("creds: admin:{}", "Winter!2023", "login"),
    ("log in with the login admin / {} on staging", "Winter!2023", "login"),
    ("Seed phrase: {}", "legal winner thank year wave sausage worth useful coil winner thank yellow", "wallet"),
    ('"mnemonic": "{}"', "legal winner thank year wave sausage worth useful coil winner thank yellow", "wallet"),
    ("refunds go to the iban {} of ours", "de89370400440532013000", "iban"),
    ("iban: {}", "gb29 nwbk 6016 1331 9268 19", "iban"),
    ("net use \\\\host\\share /user:x {}", "hunter2", "login"),
    ("net use Z: \\\\host\\share /user:corp\\x {} /persistent:yes", "swordfish", "login"),
    ("net use \\\\host\\share '{}' /user:x", "correct horse", "login"),
    ("AWS key [masked:aws-id] secret {}", "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY", "aws"),
    ("[masked:aws-id] and the secret access key is {}.", "/".join([chars(19), chars(20)]), "aws"),
    ("log in with bob / {}", "Xk29dkq1", "login"),
    ("then sign in as ci / {} on staging", "hunter2xyz", "login"),
    ("logged in with the user bob / {}.", "Xk29dkq1!", "login"),
    ("creds: bob:{}", "Xk29dkq1", "login"),
    ("http basic auth bob:{}@host", "Xk29dkq1", "login"),
    ("it uses basic auth: bob:{}, from the vault", "Xk29dkq1", "login"),
    ("basic-auth with bob:{}@host", "p4ss@w0rd!", "login"),
    ("jdbc:oracle:thin:app/{}@db:1521/ORCL", "Xk29dkq1", "url"),
    ("url=jdbc:oracle:thin:app/{}@//db:1521/ORCL", "swordfish", "url"),
    ("redis-cli -a {} ping", "myredispw", "login"),
    ("redis-cli -h cache -a {} --scan", "swordfish", "login"),
    ("redis-cli -a {} GET cart:1", "swordfish", "login"),
    ("Basic {}", "Ym9iOlhr" + "MjlkcTE=", "login"),
    ("it is sent as `Basic {}`.", "Ym9iOlhr" + "MjlkcTEx", "login"),
    ("useradd -m -p {} bob", "hunter2", "login"),
    ("sudo useradd -p '{}' bob", "correct horse", "login"),
]


@pytest.mark.parametrize(("frame", "secret", "kind"), PARTLY)
def test_only_the_secret_part_of_a_phrase_is_masked(frame: str, secret: str, kind: str) -> None:
    found = redact(frame.format(secret))
    assert found.text == frame.format(f"[masked:{kind}]")
    assert found.kinds == (kind,)


def test_the_secret_next_to_an_aws_key_id_is_masked() -> None:
    row = "AKIA" + chars(16, "QRST2345WXYZ") + "," + chars(40)
    assert redact(row).text == "[masked:aws-id],[masked:aws]"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n", "\\\\n"])
def test_a_private_key_in_service_account_json_is_masked(newline: str) -> None:
    key = f"-----BEGIN PRIVATE KEY-----\n{PEM_LINES}\n-----END PRIVATE KEY-----\n".replace("\n", newline)
    found = redact('{"type": "service_account", "private_key": "' + key + '", "client_email": "a@b.c"}')
    assert found.kinds == ("pem",)
    assert chars(16) not in found.text
    assert '"client_email": "a@b.c"' in found.text


@pytest.mark.parametrize("newline", ["\n", "\\n"])
def test_a_private_key_cut_off_before_its_end_is_masked(newline: str) -> None:
    text = f"-----BEGIN RSA PRIVATE KEY-----\n{PEM_LINES}\nand then the log ended."
    assert redact(text.replace("\n", newline)).text == f"[masked:pem]{newline}and then the log ended."


def test_a_cut_off_private_key_with_armour_headers_is_masked() -> None:
    head = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n"
    assert redact(f"{head}{PEM_LINES}\nthe end").text == "[masked:pem]\nthe end"


def test_two_private_keys_are_two_secrets_and_the_text_between_stays() -> None:
    key = f"-----BEGIN EC PRIVATE KEY-----\n{PEM_LINES}\n-----END EC PRIVATE KEY-----"
    assert redact(f"{key}\nbetween\n{key}").text == "[masked:pem]\nbetween\n[masked:pem]"


ASSIGNED = [
    "password={}", "PASSWORD={}", "password: {}", "password = '{}'", '"password": "{}"',
    "'db_password': '{}',",
    "export DB_PASS={}", "smtp_pass: {}", "dbPassword = \"{}\"", "password := `{}`", "'password' => '{}'",
    "--password {}", "--db-password={}", "mysql --password '{}' -h x", "SECRET_TOKEN='{}'", '"api_key": "{}"',
    "apiKey: \"{}\"", "X-Api-Key: {}", "client_secret={}&grant=x", "?access_token={}&x=1", "passphrase: {}",
    'password: str = "{}"', "const token: string = '{}';", "<password>{}</password>", r'\"secret\": \"{}\"',
    "ENCRYPTION_KEY={}", "SECRET_KEY_BASE64={}", "_auth={}", "the password is {}", 'the password "{}" leaked',
    "if password == '{}':", "CREATE ROLE x PASSWORD '{}'", "api key: {}", "pwd={};",
    "environ['API_TOKEN'] = '{}'",
    "login(password={}, user=x)", "- password: {}\n", "PASSWORD_PROD={}\n", "my password was: {}",
    "login(password={},user=x)", "(password={})", "{{password: {}}}", "?password={}&amp;x=1", "password={}<br>",
    "**Password:** {}", "- **Password**: {}\n", "__Password:__ {}", "*password:* {} and more", "**password: {}**",
    "`password`: `{}`", "**`password`**: {}", "| password | {} |", "| host | db |\n| `password`   | `{}` |",
    "| DB Password | {} | prod |", "ENV DB_PASSWORD {}", "FROM x\nENV DB_PASSWORD {}\nRUN y", "setenv API_TOKEN {}",
    "machine h login me password {}", "machine h.org\n  login me\n  password {}\n", "default login me password {}",
    "ibm_cloud_iam_key = '{}'", "cloud-iam-key: {}", "softlayer_key={}",
    "Passwort: {}", "Das Passwort ist {}", "Das Passwort lautet: {}", "Kennwort = '{}'", "DB_PASSWORT={}",
    "Mot de passe : {}", "le mot de passe est {}", "contraseña: {}", "La contraseña es {}", "senha={}",
    "wachtwoord: {}", "Пароль: {}", "hasło: {}", "密码:{}", "密码：{}", "密码是 {}", "密码是{}，请勿外传。",
    "口令为{}", "パスワードは「{}」です", "비밀번호: {}",
    "user=me pass={}", "?user=me&pass={}&x=1",
    "the password {}", "The password {} works.", "Log in as me with password {}.", "my password {}, as always",
    "Use the admin password {} for staging.", "password {}", "das Passwort {}", "user me, password {}",
    "The password for staging is {}.", "the password of the second admin account was {}", "Password for root: {}",
    "the password is now {}", "password changed to {}", "set the password to {}, then go on",
    "the password was reset to {}",
    "password -> {}", "password – {}", "(the password {})", "**the password {}**",
    "pw: {}", "the db pw is {}", "DB_PW={}", "dbPw = '{}'", "sudo pw {} for now", "pw for the box: {}",
    "- name: DB_PASSWORD\n  value: {}\n", '- name: DB_PASSWORD\n  value: "{}"',
    '{"name":"API_TOKEN","value":"{}"}',
    '<property name="password" value="{}"/>', r'{\"name\": \"API_TOKEN\", \"value\": \"{}\"}',
    'new Client({user: "ci", pass: "{}"})', '"pass": "{}",', "user: ci pass: {}", "username: ci\npass: {}",
    "as user ci, pass: {}", "login: ci\npass: {}",
    'The password for staging is "{}"', "password for the test user \"qa\" is '{}'.", "the password (qa): `{}`",
    'the password was changed to "{}"', r'\"the password for staging is \\\"{}\\\"\"',
    "password for qa (staging) = {}", "pw for prod → {}",
    "root pw on the build box = {}", "gpg passphrase for the release key = {}",
    "vpn psk: {}", "WPA2_PSK={}", "the pre-shared key is {}", "PreSharedKey = '{}'", "PresharedKey: {}",
    "bindpw {}", "base dc=acme\nbindpw {}\nuri ldap://h", "ldap bind user cn=svc,dc=acme bindpw {}", "bindpw: {}",
]  # fmt: skip


@pytest.mark.parametrize("frame", ASSIGNED)
def test_the_value_given_to_the_name_of_a_secret_is_masked(frame: str) -> None:
    found = redact(frame.replace("{}", "hunter2hunter2"))
    assert found.text == frame.replace("{}", "[masked:assigned]")
    assert found.kinds == ("assigned",)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("DB_PASSWORD=a(b),c;d1", "DB_PASSWORD=[masked:assigned]"),
        ("db:\n  password: correcthorse\n  user: x", "db:\n  password: [masked:assigned]\n  user: x"),
        ("password=letmein", "password=[masked:assigned]"),
        ("passphrase: 'correct horse battery'", "passphrase: '[masked:assigned]'"),
        ("token: " + chars(500), "token: [masked:assigned]"),
        ("token: " + chars(40, HEX), "token: [masked:assigned]"),
        ('password="see token=hunter2hunter2"', 'password="see token=[masked:assigned]"'),
        ("DB_TOKEN=get_token(user)", "DB_TOKEN=get_token(user)"),
        ("password: p@ss,w0rd123", "password: [masked:assigned]"),
        ("password: p@ss,w0rd123, user: x", "password: [masked:assigned], user: x"),
        ("password: aB3(xY9z!Qw", "password: [masked:assigned]"),
        ("password: aB3(xY9)z!Qw", "password: [masked:assigned]"),
        ("password=Tr0ub4dor&3", "password=[masked:assigned]"),
        ("Server=db;Password=Sup3rS3cret!;Database=x", "Server=db;Password=[masked:assigned];Database=x"),
        ("Password=Sup3rS3cret!;", "Password=[masked:assigned];"),
        ("the password is Sup3rS3cret!", "the password is [masked:assigned]"),
        ("the password is Sup3rS3cret.", "the password is [masked:assigned]."),
        ("The password for staging is Winter2024!", "The password for staging is [masked:assigned]"),
        ("The password for staging is Winter2024!.", "The password for staging is [masked:assigned]."),
        (
            "The password for staging is Winter2024*, is it?",
            "The password for staging is [masked:assigned], is it?",
        ),
        ("**the password for staging is Winter2024**", "**the password for staging is [masked:assigned]**"),
        ("the vpn psk is correct-horse-battery!", "the vpn psk is [masked:assigned]"),
        ("gpg passphrase for release key = tango-Foxtrot-9", "gpg passphrase for release key = [masked:assigned]"),
        ('the passphrase for it is "correct horse 9 staple"', 'the passphrase for it is "[masked:assigned]"'),
        ("the api key (prod) is " + chars(32, HEX), "the api key (prod) is [masked:assigned]"),
        ("VPN pre-shared key: correct-horse-battery", "VPN pre-shared key: [masked:assigned]"),
        ("<password>a&amp;b1cd</password>", "<password>[masked:assigned]</password>"),
        ('DB_PASSWORD="correct horse 42 staple"', 'DB_PASSWORD="[masked:assigned]"'),
        ("DB_PASSWORD='correct horse battery staple'", "DB_PASSWORD='[masked:assigned]'"),
        ('password: "correct horse 42 staple"', 'password: "[masked:assigned]"'),
        ('password = "it\'s-s3cret-X"', 'password = "[masked:assigned]"'),
        ("password = 'say-\"x1\"-now'", "password = '[masked:assigned]'"),
        ('{"password": "a1\\"b2-c3", "x": 1}', '{"password": "[masked:assigned]", "x": 1}'),
        ("db:\n  password: ab,cd12ef\n", "db:\n  password: [masked:assigned]\n"),
        (
            "stringData:\n  password: |-\n    hunter2x\n  user: x",
            "stringData:\n  password: |-\n    [masked:assigned]\n  user: x",
        ),
        ("TOKEN: >\r\n  " + chars(40), "TOKEN: >\r\n  [masked:assigned]"),
        ("ssh://deploy@host/a", "ssh://deploy@host/a"),
        ("https://release-user-of-the-year@host", "https://release-user-of-the-year@host"),
        ('"auth": "ldap/kerberos"', '"auth": "ldap/kerberos"'),
        ("certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1J" + chars(40),) * 2,
        ("awk '{print $1$2$3}' and $6$ of it", "awk '{print $1$2$3}' and $6$ of it"),
        ("token = b'hunter2hunter2'", "token = b'[masked:assigned]'"),
        ('key = "' + chars(44) + '"', 'key = "[masked:assigned]"'),
        ("password: it's-s3cret-X", "password: [masked:assigned]"),
        ("**Password:** swordfish", "**Password:** [masked:assigned]"),
        ("ENV DB_PASSWORD swordfish", "ENV DB_PASSWORD [masked:assigned]"),
        ("- name: DB_PASSWORD\n  value: swordfish\n", "- name: DB_PASSWORD\n  value: [masked:assigned]\n"),
        ("REDIS_PW=swordfish", "REDIS_PW=[masked:assigned]"),
        ("Pass: Winter!2023", "Pass: [masked:assigned]"),
        ("API key " + chars(32, HEX) + " is theirs", "API key [masked:assigned] is theirs"),
        ("the token " + chars(40, HEX) + ".", "the token [masked:assigned]."),
        ("the TOTP secret JBSWY3DPEHPK3PXP works", "the TOTP secret [masked:assigned] works"),
    ],
)
def test_odd_values_are_masked_whole_and_code_is_not(text: str, masked: str) -> None:
    assert redact(text).text == masked


JUMBLED = "q8Zr2LkP0" + "xVb77"
SPOKEN = [
    ("npm ERR! 401 Unauthorized: token {} is not valid", JUMBLED),
    ("Publishing failed because the token {} has expired.", JUMBLED),
    ("the access token ({}) was revoked", JUMBLED),
    ("token {}: 403 Forbidden", "x7k2m9" + "qp41zt"),
    ("invalid api key: {}", JUMBLED),
    ("Incorrect API key provided: {}. See the docs.", JUMBLED),
    ("the client secret {} is rejected", JUMBLED),
    ("The API token for the staging server is {}.", JUMBLED),
    ("Login failed because of password {} being wrong", JUMBLED),
    ("the password {} being wrong, we are locked out", "hunter2"),
    ("wrong password {} for root", "hunter2"),
    ("The wifi password of the office is {}, remember that", "correct-horse-battery"),
    ("the password is {}", "correct-horse-battery-staple"),
    ("the vpn psk is {}", "correct-horse-battery"),
    ("the wifi password: {}", "correct-horse-battery"),
    ("the token (prod) is {}", JUMBLED),
    ('The API token for the staging server is "{}".', JUMBLED),
    ("the password was changed to {}.", "correct-horse-battery"),
    ("Remember: the pin of the test phone is {}", "4711"),
    ("the PIN is {}.", "471108"),
    ("PIN {} unlocks it", "4711"),
    ("SIM_PIN={}", "4711"),
    ('{{"pin": "{}"}}', "12345678"),
    ("the pin code for the door: {}", "4711"),
    ("the passcode of the second phone is {}", "4711"),
    ("the pin was changed to {}", "4711"),
]


@pytest.mark.parametrize(("frame", "secret"), SPOKEN)
def test_a_secret_that_is_said_is_masked(frame: str, secret: str) -> None:
    assert redact(frame.format(secret)).text == frame.format("[masked:assigned]")


@pytest.mark.parametrize(
    ("frame", "secret", "kind"),
    [
        ("npm publish --token={0}\nnpm ERR! 401: {0} is not valid", JUMBLED, "assigned"),
        ("make deploy TOKEN={0}\nthe server refused {0}, see {0}.", JUMBLED, "assigned"),
        ("log in as {0}, the password is {0}", "hunter2", "assigned"),
        ("'{0}' worked in curl -u ci:{0} https://host", "hunter2", "url"),
        ('"password": "{0}", "log": "a\\n{0} b%3D{0}"', "hunter2", "assigned"),
        ("passphrase: {0}\ntry {0}", "correct-horse-battery", "assigned"),
        ("DB_PASSWORD={0}\n{0}-old, ({0}) and {0}.", "p4ss,w0rd", "assigned"),
    ],
)
def test_a_secret_is_masked_wherever_else_it_stands(frame: str, secret: str, kind: str) -> None:
    found = redact(frame.replace("{0}", secret))
    assert found.text == frame.replace("{0}", f"[masked:{kind}]")
    assert found.kinds == (kind,)


def test_a_secret_is_found_again_without_the_signs_that_were_masked_with_it() -> None:
    assert redact(f"TOKEN={JUMBLED}; use {JUMBLED}").text == "TOKEN=[masked:assigned] use [masked:assigned]"


@pytest.mark.parametrize(
    ("setting", "talk"),
    [
        ("password=postgres", "postgres listens on 5432"),
        ("password=test", "run test, then test again"),
        ("PASSWORD=administrator", "the administrator may log in"),
        ("PASSWORD=47110815", "order 47110815 is late"),
        ("POSTGRES_PASSWORD=postgres16", "the image postgres16"),
        ("PASSWORD=replica-2", "restart replica-2"),
        ("PASSWORD=release-2.4.1", "tag v2.4.1"),
        ("PASSWORD=hunter2", "hunter2x, xhunter2, my_hunter2 and hunter22 are others"),
    ],
)
def test_a_word_that_is_a_password_elsewhere_goes_on_to_mean_what_it_means(setting: str, talk: str) -> None:
    name, _, _value = setting.partition("=")
    assert redact(f"{setting}\n{talk}").text == f"{name}=[masked:assigned]\n{talk}"


def test_of_texts_that_belong_together_each_lacks_what_was_masked_in_another() -> None:
    told = (f"deploy {JUMBLED} --to shop", f"refused: {JUMBLED}", f"TOKEN={JUMBLED}", "nothing of it")
    masked = redact_together(told)
    assert [one.text for one in masked] == [
        "deploy [masked:assigned] --to shop",
        "refused: [masked:assigned]",
        "TOKEN=[masked:assigned]",
        "nothing of it",
    ]
    assert [one.kinds for one in masked] == [("assigned",), ("assigned",), ("assigned",), ()]


def test_texts_that_belong_together_are_not_read_as_one() -> None:
    masked = redact_together(["the password:", "hunter2hunter2", "a<private>b", "c</private>d"])
    assert [one.text for one in masked] == ["the password:", "hunter2hunter2", "a", "d"]
    assert [one.private_spans for one in masked] == [0, 0, 1, 1]


def test_an_account_ends_where_its_country_says_and_the_next_word_stays() -> None:
    assert redact("BE68 5390 0754 7034 CODE 1234").text == "[masked:iban] CODE 1234"


def test_a_random_string_is_masked_only_in_suspicious_company() -> None:
    assert redact("the new api key (prod) " + MIXED).text == "the new api key (prod) [masked:random]"
    assert redact(MIXED + " is the token").text == "[masked:random] is the token"
    assert redact("the build " + MIXED + " is green").kinds == ()


CLEAN = [
    "observer token 0x600003a1c2d0 removed", "cancellation token 0x00007f8a1c2b3d4e was cancelled twice",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b fixes the token refresh",
    "request 123e4567-e89b-12d3-a456-426614174000 had no token",
    "sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 of the secret file",
    "the token file has integrity sha512-" + chars(86) + "==",
    "mem_01j8xk2v9q0r3s4t5v6w7x8y9z mentions the secret store",
    "test_recall_never_returns_another_orgs_memory_for_a_token and AbstractTokenFactoryProviderBean",
    "the password is rotated weekly", "the password is required", "password reset flow",
    "a token budget of 2000",
    "max_tokens=4096", "token_count: 123456789", "tokens: 12345678", "token: 12345678",
    "tokenizer = load('x')",
    "password=${DB_PASSWORD}", "password: $PASSWORD", "api_key=<your-key>", "api_key: xxxxxxxxxxxx",
    "password: changeme", "password: '********'", "secret: None", "token = None", "token: True",
    "password: null",
    "token = os.environ['API_TOKEN']", "token = os.getenv('API_TOKEN')", "token: process.env.API_TOKEN",
    "password: {{ vault_password }}", "password: %(password)s", "token = get_token(user)",
    "token = tokens[0]",
    "self.password = password", "connect(password=password)", "api_key=settings.api_key", "password: str",
    "token: Optional[str] = None", "password: string;", "api_key: 'your-api-key-here'",
    '"token": "access_token"',
    "secret: op://vault/item/field", "token_file: /run/secrets/api_token", "token: /run/secrets/api_token",
    "bypass = something", "the sort key: created_at_utc", "primary_key = identifier", "keyboard: qwertyuiop",
    "author = somebody", "Authorization: Bearer $TOKEN", "Bearer authentication is used", "Bearer <token>",
    "https://host:8080/path@v2", "git@github.com:org/repo.git", "postgres://user:${PASS}@host/db",
    "https://user@host/path", "http://localhost:3000", "npm_config_registry", "hf_hub_download(repo)",
    "sk-learn-contrib-some-long-package-name", "task-ghp-board", "pypi-publish-action-for-trusted-publishing",
    "key-value-store", "SG.internal", "AC and SK are states", "AIza is a prefix", "eyJ is how they start",
    "the -----BEGIN CERTIFICATE----- block", "-----BEGIN PUBLIC KEY-----", "<privateer>ship</privateer>",
    "dapi_response_handler_for_the_gateway", "tskey-rotation-for-all-tailnet-nodes", "r8_load_unsigned_texture",
    "secret_manager_client_of_the_payment_gateway_service", "sb_secret_rotation_in_all_environments",
    "sbp_policies",
    "xai-explainability-toolkit-for-tabular-models", "nvapi-wrapper-for-the-settings-of-every-display-driver",
    "figd_export_of_every_component_in_the_library", "glagent-configuration-for-the-cluster", "rubygems_mirror_url",
    "dckr_pat_is_how_they_begin", "udp.port.of.the.resolver.in.the.test.network", "sntrys_prefix_of_org_tokens",
    "at 12:34:56.789012:ABSOLUTE_PATH_OF_THE_CONFIGURATION",
    "def f(sig=signature_of_the_wrapped_callable_object_here):",
    "https://host/v1//0/reports/of/the/last/quarter", "EAAAA is how base64 of small numbers begins",
    "the password policy, see docs", "password: see 1Password", "**Password:** see 1Password", "token budget: 4000",
    "| password | see 1Password |", "| password | string | the secret |", "| password | varchar(255) |",
    "| password | argon2id |", "| token | int32 |", "| access_token | 2026-01-31 |", "cat password | base64 -d1",
    "get_password | tee file1234", "ENV DB_PASSWORD must be set", "the ENV DB_PASSWORD variable1 is read",
    "the machine has a login form password field", "a login page with password boxes", "password: that's fine",
    "password = f(x1, y)", "password = hash_it(raw1,", "password: make(a1)", "login(password=db.pw,x1)",
    '"password": "Must be at least 8 characters"', 'ERROR_PASSWORD="Wrong password, try again"',
    'PASSWORD="Please choose 12 letters"', "x = \"password: '\"+pw1+\"'\"", "password: argon2id", "password: ****",
    "public_key = '" + chars(44) + "'", "token = r'(?:[a-z]{8})'", "passphrase: &lt;string1&gt;",
    "re_use", "re_use_of_the_connection_in_every_worker", "re_compile_a_regular_expression",
    "pre_Commit1_hookRunner2Of24Letters1",
    "ops_team", "ops_eyJ is how they begin", "ops_team_of_the_second_region_on_call",
    "pul-request-template-for-contributors",
    "pathological_names_of_every_single_module", "patterns.of.the.second.kind.in.the.registry",
    "us-east-us12-gateway",
    "NORMALISED_NAMES_OF_ALL_FIELDS.second.and_the_names_of_the_others", "APACHE_CONFIGURATION_DIRECTORY",
    "MyOrganizationFactoryOfThings1.create.with_all_of_the_options_that_are_known",
    "sk-container-id-1-of-the-estimator-diagram", "lsv2_pt_is_how_they_begin_these_days", "AKCp is how they begin",
    "mysql -p prompts for it", "mysql -u root -p asks", "mysql -p$PASS", "mysql -p<password>",
    "mysql -u root -pPASSWORD",
    "find / -name mysql -print", "docker run --name mysql -p3306:3306 x", "mysql and mkdir -pv /var/lib",
    "sshpass -p takes it from the command line", "sshpass -p $PASS ssh x", "sshpass -p \"$PASS\" ssh x",
    "sshpass -f file",
    "docker login -p takes the password from the command line", "docker login -u bob -p $REGISTRY_PASS",
    "docker login -p \"$PASS\" r.io", "docker login r.io and docker run -p 8080:80 web2",
    "redis-cli -p 6379 ping", "redis-cli -a $PASS", "mongo -p asks for it", "mongo --port 27017",
    "ldapsearch -W asks for it", "ldap -w is for passwords", "sqlcmd -P $PASS", "SQLCMD -p 1",
    "keytool -storepass $PASS", "the storepass option", "git config user.password",
    "git config --get user.password", "git config user.name hunter2",
    "openssl rsa -passin pass:$PASS", "openssl rsa -passin env:PASS", "-passin pass:password",
    "gh secret set TOKEN --body $VALUE", "gh secret set TOKEN2 and then go on", "gh secret set TOKEN < file1",
    "the secret set by bob-b2",
    "unzip -p a1.zip", "unzip a1.zip -d out2", "zip -P asks for it", "gzip -9 a1", 'ssh-keygen -N "" -f id_ed25519',
    "ssh-keygen -t ed25519 -f k1", "htpasswd -c .htpasswd user1", "htpasswd -b takes it from the command line",
    "sqlplus / as sysdba", "sqlplus /nolog", "sqlplus scott/$PASS@db", "sqlplus client/server", "sqlplus scott@db1",
    "smbclient -U user1 //host/share", "smbclient -N //host/a1", "smbclient -U user%$PASS",
    "Set-Cookie: theme=dark; Path=/", "Cookie: session=<id>", "Cookie: name=value; name2=value2",
    "the cookie: SameSite=Strict; Secure", "Set-Cookie: sid=$SID; Path=/", "cookie = request.cookies",
    "sqlplus docs/setup2.md", "sqlplus user/project1 docs", "Set-Cookie: locale=en_US.UTF-8; Path=/",
    "cookie=plan=pro-2024", "Cookie: cookieconsent=accepted2024", "document.cookie = 'v=2.1.0-beta3'",
    "Cookie: seen=1700000000000000; plan=pro-2024",
    "git config --global user.signingkey 3AA5C34371567BD2", "git config user.signingKey 3AA5C34371567BD2",
    "[user]\n\tsigningkey = 3AA5C34371567BD2",
    "s.methodNameOf24Characters", "cls.x9Kq2LmZ7RtYbNw4VcPd6HgJ", "s.update(everything_of_24_letters)",
    "curl -u user: asks", "curl -u $USER:$PASS x", "curl x | docker run -u 1000:1000 y",
    "curl -u me https://host:80",
    "Passwörter müssen 12 Zeichen haben.", "Das Passwort ist abgelaufen.",
    "Passwort: siehe 1Password, Kennwort: wie immer",
    "密码不能为空", "密码为8到16位字符", "密码是8位", "パスワードは8文字以上", "la contraseña es obligatoria",
    "le mot de passe est trop court", "passengers: 12ab34", "bypass=cache1234", "5 pass=12", "tests pass=120/120",
    "the password policy", "password rotation", "the password reset page", "The password policy2 is strict",
    "the password v2.1.0 works", "the password 90-day rotation", "the password PROJ-1234 is about", "password 2FA",
    "set the password to argon2id", "the password hasher2 module", "reset password alice1",
    "hash password rounds12", "password float64", "password VARCHAR2(30) NOT NULL", "(the password hunter2)field",
    "the password for prod is in 1Password", "the password for prod is pbkdf2-sha256",
    "password of user42 is rotated",
    "the password is now 12-characters long", "the password oauth2-proxy asks for", "password to python3.12",
    "the password for the vault: see wiki", "the password $NEWPASS1 is read", "the password <pass1234> is read",
    "moved the password to config1.yaml", "rename password to password_v2", "move the password to SecretsManager2",
    "the password is now SHA256-hashed", "the password for staging: secrets/staging2.env",
    "password for s3: AWS_KEY_2",
    "the password for sign-in is min12chars", "password -> password2 rename", "password on line 42: missing",
    "the password hunter2 field", "the password mysql8 wants", "we set the password to expire",
    "DE88370400440532013000", "DE89 3704 0044 0532 0130 0", "DE89 37 04 0044 0532 0130 00",
    "xDE89370400440532013000",
    "ZZ89370400440532013000", "DE893704004405320130001", "build AT61 of the 1904 series", "CH93 0076 2011",
    "pw: 1.44.0", "pw = 2500", "pw: see vault", "pw=12.5kW", "run `pw test e2e2`", "if pw != pw2:",
    "pw: str, pw2: str", "const PW = 'chromium-v2'", "login pass: build123", "the user tests pass: build123",
    "db:5432:orders:read:replica-2",
    "an upward: x1y2z3 trend", "pw_hash = hashpw(pw1)", "pw = getpass1()", "pw: $DB_PW1", "power pw: src/rack2.py",
    "pass: 312/314", "pass: test_login2", "pass: 3 of 14a", "first pass: x1y2z3", "one pass: 3ms_per2",
    "- name: TOKEN_TTL\n  value: 3600000000", "- name: DB_PASSWORD\n  valueFrom: secret1x",
    "- name: MAX_TOKENS\n  value: 40960000",
    '{"name": "token", "value": "string"}', '<input name="password" value="" type="password">',
    "the cache key " + chars(32, HEX) + " collides", "idempotency key " + chars(32, HEX),
    "a GPG signing key " + chars(40, HEX),
    "7z a -p$PASS out.7z src", "7z x release-2.4.1.7z -oout -aoa", "7zip -pPASSWORD is seen in ps",
    "7z a -p out.7z",
    "echo done | sudo tee -S x", "echo $PASS | sudo -S true", 'echo "$REG" | docker login --password-stdin r.io',
    "users are identified by 'email' in it", "IDENTIFIED BY '<password>'", "identified by :password",
    "rows are identified by 'tenant_id2'", "echo hello2 | docker run app --with-tokenizer",
    "127.0.0.1:5432:5432", "db:5432:orders:app", "wheel:*:10:root", "*:*:udp:any:accept", "a.py:5432:def f(x):y",
    "db:5432:orders:app:$PASS",
    "the password policy is strict", "the key insight is that 3 caches help", "pass: 12 fail: 3",
    "basic auth is disabled", "log in with GitHub / Google", "Basic authentication",
    "basic auth: nginx:1.25-alpine",
    "redis-cli -a prompts for a password", "use redis-cli -a instead", "redis-cli -a takes one",
    "Basic information12",
    "log in with Okta / Auth0", "sign in with Google / oauth2", "logged in as admin / replica-2",
    "basic auth host:8080",
    'the password for staging is "rotated"', 'the password for prod is "in 1Password, see page 12"',
    'the password for the user "qa" is 12-characters long', "the token (v2) is cached for 3600 seconds",
    "the api key (prod) is rotated in 90 days", 'password for x = os.environ["DB_PASSWORD1"]',
    "the modem speaks QPSK 3/4",
    "WPA2-PSK (AES256)", "key_mgmt=WPA-PSK", "psk: $WIFI_PSK1", "the pre-shared key is rotated",
    "bindpw is read from file2",
    "jdbc:oracle:thin:@db:1521/ORCL", "jdbc:oracle:thin:app/$PASS@db:1521",
    "jdbc:oracle:thin:app/${PW}@db:1521/ORCL",
    "[masked:aws-id] and the secret of the bucket", "is the password 2FA!", "the password for sign-in is sha256!",
    "the password: ask-your-team-lead", "a Basic Authorization1 header",
    "the password for the vault is 'pbkdf2-sha256'",
    "login with SSO / OAuth2", "creds: see ops/login#L42", "login: app / bob@host1.example.dev",
    "credentials: admin:admin",
    "seed phrase: twelve words from the list which the wallet shows once and never again after that",
    "mnemonic = test test test test test test test test test test test junk", "the mnemonic is shown once",
    "de89370400440532013000 is a build", "iban de88370400440532013000",
    "the token count is 4096", "password field was renamed to secret_hash", "token expired after 15 minutes",
    "the pin is 13", "pin numpy to 2.1.3", "commit q8Zr2Lk is broken", "the key users_2024 is not valid",
    "session token middleware2 is slow", "the pin of the package is 2.1", "the nightly pin is 20240115",
    "GPIO pin was set to 1023", "the ADC pin is 4095", "the pin on the connector is 1204",
    "pin 8192 pages in memory", '"pincode": "560001"', "pin code 560001 is Bengaluru",
    "spinning up 4711 workers, mapping 2024 rows", "the pin was moved to 2024.1", "the pin of pytz is 2024.1",
    "the secret app-config-8mbdf7882g was not found", "the token of OAuth2ClientV3 is cached for 3600 seconds",
    "the token v1alpha1 is not valid in this API group", "token bucket refills 1000 per second",
    "the token parser in lexer2go is slow", "the token sha256Digest is computed twice",
    "token JIRA-1234 tracks the work",
    "the access token TTL is 3600", "the wrong token type oauth2v3 was requested", "invalid token at line 1204:17",
    "the password for staging is case-sensitive and rotated weekly", "the password is machine-generated-daily",
    "the password of the admin is end-to-end encrypted", "the password for prod is long-since-expired",
    "the password is well-known-only-here", "wrong password for user alice42", "due to password rules of 2024",
    "the api key for maps is in settings_2024.yaml", "API key provided: none",
    "secret k8s-worker-2 uses has expired",
    "net use shows the shares, /user: names one", "net use \\\\host\\share /user:x *",
    "net use \\\\h\\s /user:x $PASS",
    "useradd -p expects a hash", "useradd -p $HASH bob", "useradd -G docker bob2",
    "order 1234567890123456", "at 1700000000000000", "4111 1111 1111 1112", "call 5500 0000", "v4.1111.1111",
]  # fmt: skip
NEAR_MISSES = [
    "AKIA" + chars(15, "QRST2345"), "AKIA" + chars(17, "QRST2345"), "xAKIA" + chars(16, "QRST2345"),
    "ghp_" + chars(35), "ghx_" + chars(36), "glpat-" + chars(19), "xoxb-" + chars(9),
    "sk_" + "live_" + chars(15),
    "pk_" + "live_" + chars(24), "AIza" + chars(34), "AIza" + chars(36), "sk-" + chars(19), "hf_" + chars(29),
    "npm_" + chars(35), "pypi-" + "AgE" + chars(39), "SG." + chars(15) + "." + chars(43),
    "SK" + chars(31, HEX),
    "SK" + chars(33, HEX), "key-" + chars(31, HEX), "cache-key-" + chars(32, HEX),
    "dop_" + "v1_" + chars(63, HEX),
    "eyJ" + chars(9) + ".eyJ" + chars(30), "sk-" + "ant-" + chars(15),
    "ATATT" + "3" + chars(39), "dapi" + chars(31, HEX), "dapi" + chars(33, HEX), "wdapi" + chars(32, HEX),
    "1234567890:" + chars(35), "1234567890:AA" + chars(32), "1234567890:AA" + chars(34), "1234:AA" + chars(33),
    "1234567:A-name-that-is-thirty-five-letters", "tskey-auth-" + chars(8), "r8_" + chars(35), "tr8_" + chars(37),
    "sbp_" + chars(39, HEX), "sbp_" + chars(41, HEX), "PMAK-" + chars(24, HEX) + "-" + chars(33, HEX),
    "dp.pt." + chars(39), "dp.xx." + chars(43), "udp.pt." + chars(43), "xai-" + chars(59), "ntn_" + chars(39),
    "secret_" + chars(42), "secret_" + chars(44), "pplx-" + chars(39), "nvapi-" + chars(39),
    "sk-or-" + "v1-" + chars(63, HEX), "sq0atp-" + chars(21), "sq0csp-" + chars(42), "EAAA" + "E" + chars(58),
    "EAAA" + "E" + chars(60), "EAAC" + chars(79), "EAAAQ" + "A" * 59, "data:x;base64,/EAAC" + chars(120),
    "dckr_" + "pat_" + chars(19), "rubygems_" + chars(47, HEX), "figd_" + chars(29), "sntrys_" + chars(39),
    "glsa_" + chars(32) + "_" + chars(7, HEX), "glc_" + chars(60), "v1.0-" + chars(24, HEX) + "-" + chars(40, HEX),
    "1/" + "/0" + chars(29), "v1/" + "/0" + chars(60), "?sig=" + chars(39), "config=" + chars(60),
    "glrt-" + chars(19),
    "sk-" + chars(31, HEX), chars(32, HEX) + "-user", chars(31, HEX) + "-us1", chars(33, HEX) + "-us1",
    "MTk4NjIyNDgzNDcxOTI1MjQ4" + ".Cl2FM." + chars(27), "xMTk4NjIyNDgzNDcxOTI1MjQ4" + ".Cl2FMQ." + chars(27),
    "AKCp" + chars(12), "xAKCp" + chars(68), "NRAK-" + chars(26, "A1B2C3"), "HRKU-" + chars(20),
    "pscale_tkn_" + chars(20), "fo1_" + chars(42), "fm2_" + chars(50), chars(13) + ".atlasv1." + chars(67),
    chars(14) + ".atlasv1." + chars(40), "CCIPAT_" + chars(22) + "_" + chars(39, HEX), "pul-" + chars(39, HEX),
    "pul-" + chars(41, HEX), "pat" + chars(13) + "." + chars(64, HEX), "pat" + chars(14) + "." + chars(63, HEX),
    "xpat" + chars(14) + "." + chars(64, HEX), "lsv2_pt_" + chars(31, HEX) + "_" + chars(10, HEX),
    "CFPAT-" + chars(42), "ops_" + "eyJ" + chars(30), "shpat_" + chars(31, HEX), "shpxx_" + chars(32, HEX),
    "xkeysib-" + chars(63, HEX) + "-" + chars(16), "re_" + chars(8) + "_" + chars(19),
    "pre_" + chars(8) + "_" + chars(24),
]  # fmt: skip


def test_ordinary_text_and_near_misses_come_back_as_the_same_object() -> None:
    found = {text: redact(text) for text in CLEAN + NEAR_MISSES}
    assert [(text, one.text) for text, one in found.items() if one.text is not text] == []
    assert [one for one in found.values() if (one.kinds, one.private_spans) != ((), 0)] == []


@pytest.mark.parametrize(
    ("text", "kept", "spans"),
    [
        ("a<private>b</private>c", "ac", 1),
        ("a<PRIVATE>b</Private >c", "ac", 1),
        ("a< private  reason='x'\n>b</ private>c", "ac", 1),
        ("a<private>b<private>c</private>d</private>e", "ae", 1),
        ("a<private>b</private>c<private>d</private>e", "ace", 2),
        ("a<private>b", "a", 1),
        ("a<private>b<private>c</private>d", "a", 1),
        ("a</private>b", "b", 1),
        ("a<private>b</private>c</private>d", "d", 2),
        ("a</private>b<private>c", "b", 2),
        ("a<private/>b</private>c", "ac", 1),
        ("a<private />b</private>c", "ac", 1),
        ("a<pri\u200bvate>b</private\u2060>c", "ac", 1),
        ("a＜private＞b＜/private＞c", "ac", 1),
        ("a﹤ｐｒｉｖａｔｅ﹥b＜／PRIVATE>c", "ac", 1),
        ("<private></private>", "", 1),
        ("a<pri<private>x</private>vate>secret", "a", 2),
        ("secret</pri<private>x</private>vate>a", "a", 2),
    ],
)
def test_private_spans_are_cut(text: str, kept: str, spans: int) -> None:
    found = redact(text)
    assert (found.text, found.private_spans) == (kept, spans)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a\n<private>b\nc</private>\nd", "a\n\n\nd"),
        ("a<private\n>b\n<private>\nc</private>\n</private>d\n<private>\n</private>e", "a\n\n\n\nd\n\ne"),
        ("a\n<private>b\nc", "a\n"),
        ("a\nb</private>\n</private>\nc\n<private>\n</private>d", "\n\n\nc\n\nd"),
        (
            f"a\n-----BEGIN PRIVATE KEY-----\n{PEM_LINES}\n-----END PRIVATE KEY-----\nb",
            "a\n[masked:pem]\n\n\n\n\nb",
        ),
        ("a\npassword=hunter2hunter2\nb", "a\npassword=[masked:assigned]\nb"),
    ],
)
def test_what_follows_keeps_its_line_number_when_asked(text: str, kept: str) -> None:
    assert redact(text, keep_lines=True).text == kept


def test_a_secret_pieced_together_by_cutting_a_private_span_is_masked() -> None:
    assert redact("gh<private>x</private>p_" + chars(36)).text == "[masked:github]"


def test_all_kinds_found_are_listed_once_and_sorted() -> None:
    text = "npm_" + chars(36) + " ghp_" + chars(36) + " ghp_" + chars(36)
    assert redact(text).kinds == ("github", "npm")


@pytest.mark.parametrize("kind", [*KEYS, "aws", "azure", "url", "bearer", "login", "cookie", "assigned", "random"])
def test_a_marker_is_never_suspicious_itself(kind: str) -> None:
    text = f"[masked:{kind}] = hunter2hunter2, [masked:{kind}]: {MIXED}"
    assert redact(text).text is text


PIECES = [key for _, key in WHOLE] + CLEAN + NEAR_MISSES + [frame.format(s) for frame, s, _ in PARTLY]
PIECES += [frame.replace("{}", "hunter2") for frame in ASSIGNED] + [frame.format(s) for frame, s in SPOKEN]
GLUE = st.sampled_from(
    ["", " ", "\n", "=", ": ", '"', "'", ",", "<private>", "</private>", "<private/>", "＜private＞", "\u200b", "-"]
)
GLUE |= st.sampled_from(["_", "\\n", "@", "İ"])


@given(st.lists(st.tuples(st.sampled_from(PIECES), GLUE) | st.tuples(st.text(max_size=20), GLUE), max_size=8))
def test_redacting_twice_changes_nothing(parts: list[tuple[str, str]]) -> None:
    once = redact("".join(piece + glue for piece, glue in parts))
    again = redact(once.text)
    assert again.text is once.text
    assert (again.kinds, again.private_spans) == ((), 0)


@given(st.text(st.characters(codec=None), max_size=200))
def test_any_text_is_accepted(text: str) -> None:
    assert isinstance(redact(text).text, str)


@given(st.sampled_from(WHOLE), st.text(" .,;\n", max_size=5), st.text(" .,;\n", max_size=5))
def test_no_key_survives_between_punctuation(case: tuple[str, str], before: str, after: str) -> None:
    kind, key = case
    found = redact(f"word {before}{key} {after}word")
    assert key not in found.text
    assert found.kinds == (kind,)


@pytest.mark.parametrize(
    "text",
    ["password=charlie99!", "password=varchar-Sup3r!", "PASSWORD=some-R4ndom-Thing", "password=my_hunter2abc"],
)
def test_a_password_that_begins_like_a_placeholder_is_masked(text: str) -> None:
    assert redact(text).text.partition("=")[2] == "[masked:assigned]"


@pytest.mark.parametrize(
    "text", ["password varchar(255)", "password=my_password", "token=the-token", "key: char(8)"]
)
def test_a_placeholder_stays(text: str) -> None:
    assert redact(text).text == text


def test_the_secret_of_rails_is_masked() -> None:
    assert redact("SECRET_KEY_BASE=6f1ed002ab5595859014ebf0951522d9").kinds == ("assigned",)


HOSTILE = [
    'password for "a" is "', 'password for "a" is "b1 ', "password (a) is ", "password (", "password for a = ",
    "password is 'a1b2c3' ", "psk", "psk: ", "psk is abcd-", "pre-shared key: abcd-efgh-", "preshared", "bindpw ",
    "cn=a bindpw a1 ", "log in with a / ", "log in with ", "sign in as a / b1 / ", " / ", "basic auth ",
    "basic auth a:",
    "basic auth a:b1@", "auth: ", "jdbc:oracle:thin:", "jdbc:oracle:thin:a/", "jdbc:oracle:thin:a/b@", "basic ",
    "basic YTpi",
    "[masked:aws-id] and ", "[masked:aws-id] secret ", "redis-cli -a a ping ", "redis-cli -a a ",
    "token q8Zr2LkP0x ", "token q8Z", "token a1", "token (", "api key provided: ", "token for a is q8Zr2LkP0x ",
    "password=a1b2c3d ", "password=a1b2c3d\na1b2c3d ", "password a1B2c3D4 being ", "password is abcd-",
    "password of a is abcd-efgh-ijkl ", "passphrase: 'abcd-efgh-ijkl' abcd-efgh-ijkl ",
    "pin", "pin ", "pin: ", "pin: 4711 ", "PIN 4711", "pin of a ", "pin of a 4711 ", "pin is ", "pin code ",
    "4711 pin",
    "net use ", "net use \\\\a /user:x ", "net use \\\\a\\b /user:", "/user:", "useradd ", "useradd -p ",
    "useradd -p a1 ",
    "key=", "auth=", "=pass", "key:=", "://1key", "key='", "key=\"a",
    "<private ", "<private>", "< ", "</private>", "<pri<private>", "-----BEGIN RSA PRIVATE KEY-----",
    "-----BEGIN ", "-",
    "-----BEGIN RSA PRIVATE KEY-----\nAbc: d\n", "-----END ", "AKIA", "ghp_", "github_pat_", "glpat-a.",
    "xoxb-", "xoxa.",
    "sk-", "sk-ant-", "sk_live_", "AIza", "pypi-AgE", "SG.", "SG." + chars(20) + ".", "SK0", "key-0",
    "dop_v1_0", "eyJ",
    "eyJ" + chars(12) + ".", "a.", "://", "://a:", "://a:b@", ":a@", "curl -u a:b", "Authorization: ",
    "bearer ", "password",
    "password=", "password='", "token:", "token: a", "secret is ", "--password ", "api_key: 'a ", "key",
    "pass_", "token: a[",
    "password for ", "password for a is ", "password for a.b ", "password is now ", "password set to ",
    "the password a1",
    "password -> ", "set password to ", "password to a1", "password hunter2 ",
    "password is now a-1_", "password is now a.1/", "password a-", "password of a1_",
    "DE89 ", "DE89", "GB29NWBK", "GB29 NWBK 6016 ", "AB12-",
    "passwordkey", "secret_key_", "4111 ", "4111111111111111", "1", " ", "\n", "A1b", "A1b/", "=",
    "[masked:aws-id]", "İtoken=",
    "ATATT3", "dapi", "dapi0", "1:A", "123456:A", "tskey-", "tskey-a-", "r8_", "sbp_", "sbp_v0_", "sb_secret_",
    "PMAK-",
    "PMAK-" + chars(24, HEX) + "-", "dp.st.", "dp.st.a.", "xai-", "ntn_", "secret_", "pplx-", "nvapi-", "sk-or-v1-",
    "sq0atp-", "EAAA", "EAAC", "%3DEAAC", "dckr_pat_", "rubygems_", "figd_", "sntrys_", "glsa_", "glc_eyJ",
    "v1.0-0",
    "1//0", "&sig=", "&sig=%", "glrt-a.", "lin_oauth_",
    "sk-0", "0123456789abcdef", "-us1", "M", "MN-", "MN.", "MTk4NjIyNDgzNDcxOTI1MjQ4.", "AKCp", "AP4", "cmVmd",
    "HRKU-", "NRAK-",
    "pscale_pw_", "fm2_", "fo1_", "a1.atlasv1.", ".atlasv1.", "CCIPAT_", "pul-0", "pat", "pat-", "lsv2_pt_0",
    "CFPAT-",
    "pw ", "pw=", "pw: a1", "pw for ", "pass: a1", "user pass: ", "token value=", "token\n value: ",
    'token", "value": "',
    "token " + chars(32, HEX) + " ", "token " + chars(32, HEX), "api key 0",
    "7z a ", "7z a -p", "echo a | ", "echo a | sudo -S ", "echo a:b | chpasswd", "| docker login --password-stdin",
    "IDENTIFIED BY ", "create identified with a by '", "create ", "grant identified by ",
    ":5432:a", "a:*:*:b:", "*:*:", "login a / ", "creds a:", "login a ",
    "mnemonic: ", "mnemonic abc ", "seed phrase: abc def ", "iban de89 ", "iban gb29nwbk",
    "ops_eyJ", "xkeysib-0", "re_", "re_A1-", "sshpass -p", "sshpass ",
    "docker login -", "docker login -p ", "redis-cli -a ", "redis-cli x ", "mongo -p ", "ldapadd -w '", "sqlcmd -P",
    "mysql -", "mysql -a ", "mysql -p",
    "LS0tLS1CRUdJTiB", "LS0tLS1CRUdJTiBQUklW", "X-Amz-Signature=", "X-Goog-Signature=", "openssl enc -k ",
    '"auth": "a', "ConvertTo-SecureString ", "ConvertTo-SecureString '", "$6$", "$6$a", "$2b$a1", "://aA1_",
    "://a1a1a1a1a1a1a1a1a1a1",
    "password: |", "password: |\n ", "password: >\n  a",
    "-passin pass:", "gh secret set ", "gh secret set -b", "unzip -P ", "zip ", "ssh-keygen -N ", "htpasswd -b ",
    "htpasswd -b a ", "sqlplus ", "sqlplus a/", "sqlplus -a ", "smbclient -U ", "smbclient -U a%", "cookie:",
    "cookie: a=", "cookie: a=1; ", "cookie:a=b;", "s.", "s.A1b", "git config ", "git config password ",
    "npm config set a password ", "storepass ", "-storepass a ", "＜private＞", "<p\u200b", "<\u200b", "＜",
    "</pri</private>",
    "curl -u",
    "passwort ist ", "kennwort:", "пароль: ", "密码", "密码:", "密码是a", "パスワードは", " pass=", " pass=a1",
    "curl -u:", "curl -u'a:", "password='\"", "password=\"'a", "password='a\\'", "password=\"\\", "password: a(",
    "password: a,",
    "password=a1(", "password=a1&", "password**", "**password:** ", "| password | a1 ", "password |", "password   ",
    "ENV password ", "machine a login b password ", "machine a ", "password: a'b", "a'b",
    "token " + MIXED + " ", "\\", "\\n", "token\\\\", "%3D", "hooks.slack.com/services/", "/api/webhooks/1",
]  # fmt: skip


def seconds(text: str) -> float:
    started = time.thread_time()
    redact(text)
    return time.thread_time() - started


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.parametrize("head", ["", "token " + "x" * 20 + " "])
def test_the_cost_grows_with_the_length_and_not_with_its_square(unit: str, head: str) -> None:
    short, long = head + unit * (2_000 // len(unit)), head + unit * (16_000 // len(unit))
    fast = min(seconds(short) for _ in range(3))
    # Eight times the text: 8 is linear, 64 is quadratic; the millisecond forgives the clock's grain.
    assert any(seconds(long) < 24 * fast + 0.001 for _ in range(3))


def calls(text: str) -> int:
    profile = cProfile.Profile()
    profile.runcall(redact, text)
    return sum(entry.callcount for entry in profile.getstats())


@given(
    st.sampled_from(["key", "KEY", "auth", "pw", "token", "api_key", "Password", "secret"]),
    st.sampled_from(["=", ":", ": ", "|", "=(", '="', " is ", "=a1 ", ",", ">"]),
)
@settings(max_examples=40, deadline=None)
def test_a_name_wherever_it_stands_asks_for_as_little_each_time(name: str, sign: str) -> None:
    """Counted, so that no machine is too slow for it: whoever fills a text with names keeps others waiting."""
    unit = name + sign
    redact(unit)  # patterns are compiled once
    few, many = calls(unit * 100), calls(unit * 800)
    assert many <= 10 * few and many <= 800 * 120


@pytest.mark.parametrize("unit", ["key=", "KEY=", "key=(", "auth,"])
def test_everyday_words_that_name_no_secret_cost_next_to_nothing(unit: str) -> None:
    redact(unit * 10)
    assert calls(unit * 1_000) < 1_000 * 16


def many_secrets(count: int) -> str:
    return " ".join(f"password=a{at}b{at}c7 and a{at}b{at}c7 again, xa{at}b{at}c7" for at in range(count))


def test_the_cost_grows_with_the_length_also_where_every_secret_is_another() -> None:
    fast = min(seconds(many_secrets(100)) for _ in range(3))
    assert any(seconds(many_secrets(800)) < 24 * fast + 0.001 for _ in range(3))


def reported_formats(text: str) -> set[str]:
    """Its entropy plug-ins report every word, its keyword plug-in the masked value, the last every address."""
    oracle = pytest.importorskip("detect_secrets.core.plugins.util", reason="a development dependency")
    plugins = oracle.get_mapping_from_secret_type_to_class().values()
    found = {p.__name__ for p in plugins if "Entropy" not in p.__name__ and list(p().analyze_string(text))}
    return found - {"KeywordDetector", "IPPublicDetector"}


@pytest.mark.parametrize(("kind", "key"), WHOLE)
def test_another_detector_finds_no_key_in_what_we_let_through(kind: str, key: str) -> None:
    assert not reported_formats(redact(f"export X={key} # done").text)


# One or two of what each of its plug-ins for a format reports, as they stand in a file.
REPORTED = [
    "AKIA" + chars(16, "QRST2345WXYZ"), "aws_secret_access_key = '" + chars(40) + "'", "key = AKCp5" + chars(68),
    "AP4" + chars(30), "AccountKey=" + chars(86) + "==", "https://me:hunter2@host",
    "cloudant_password = " + chars(64, HEX),
    "clou_key: " + chars(64, HEX), "https://me:" + chars(64, HEX) + "@me.cloudant.com",
    "MTk4NjIyNDgzNDcxOTI1MjQ4" + ".Cl2FMQ." + chars(27), "Nzk5MjgxNDk0NDc2NDU1OTg3" + ".YABS5g." + chars(27),
    "MZ1yGvKTjE0rY0cV8i47CjAa" + ".uRHQPq." + chars(27), "ghp_" + chars(36), "glpat-" + chars(20),
    'ibm_cloud_iam_key = "' + chars(44) + '"', "iam_token: " + chars(44), "cloud-iam-key=" + chars(44),
    "ibm_pwd=" + chars(44), "ibmcloud_api_key: " + chars(44), "cos_hmac_secret_access_key = " + chars(48, HEX),
    "secret_key: " + chars(48, HEX), "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJ" + "zdWIiOiIxIn0" + "." + chars(43),
    chars(32, HEX) + "-us12", "//packages.example.dev/:_authToken=npm_" + chars(36),
    "sk-" + chars(20) + "T3BlbkFJ" + chars(20), "-----BEGIN RSA PRIVATE KEY-----\n" + PEM_LINES,
    "pypi-" + "AgEIcHlwaS5vcmc" + chars(70), "SG." + chars(22) + "." + chars(43),
    "xoxb-" + "1234567890-" + chars(24),
    "https://hooks.slack.com/services/T0123ABCD/B0123ABCD/" + chars(24), "softlayer_key = " + chars(64, HEX),
    "sl-api-key: " + chars(64, HEX), "sq0csp-" + chars(43), "sk_" + "live_" + chars(24),
    "1234567890" + ":AA" + chars(33), "SK" + chars(32, HEX),
]  # fmt: skip


@pytest.mark.parametrize("text", REPORTED)
def test_what_another_detector_reports_is_masked(text: str) -> None:
    assert reported_formats(text)
    assert not reported_formats(redact(text).text)


def test_no_ordinary_random_noise_looks_like_a_key() -> None:
    dice = random.Random(7)
    words = ["".join(dice.choices(string.ascii_lowercase, k=dice.randint(1, 12))) for _ in range(20_000)]
    text = " ".join(words)
    assert redact(text).text is text
