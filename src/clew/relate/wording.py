"""The words that the rules for contradictions go by, and how a text is cut into them. Pure.

Each list is what it is: extend it with a labelled pair that needs it, in tests/unit/relate/conflict_pairs.jsonl.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from clew.recall import analyse

# Say nothing of what a sentence is about.
EMPTY = frozenset(
    "a an the this that these those there it its our ours we us you your i my me they their he his she her is "
    "are be been being am do does have has having in on of for with by at to from as per via into onto through "
    "and or but so then now currently still yet actually today already just here again always must should shall "
    "need needs required can please only all any every each some value set setting equals let lets".split()
)
# How something is used says less than what it is used for.
USAGE = frozenset(
    "use uses using used utilize utilizes utilise utilises run runs running host hosts hosted deploy deploys "
    "deployed store stores stored keep keeps kept live lives write writes written build builds built serve "
    "serves served rely relies depend depends require requires talk talks publish publishes published go goes "
    "pin pins pinned target targets call calls read reads send sends sent handle handles handled default "
    "defaults expose exposes exposed listen listens bind binds bound done make makes put puts choose chose "
    "chosen pick picked".split()
)
# But these are done each for itself: what may not be written may be read.
ACTS = {
    form: forms.split()[0]
    for forms in (
        "store stores stored keep keeps kept put puts", "write writes written", "read reads", "send sends sent",
        "build builds built", "serve serves served", "publish publishes published", "call calls talk talks",
        "handle handles handled", "expose exposes exposed", "listen listens", "bind binds bound", "make makes",
        "deploy deploys deployed", "host hosts hosted",
    )
    for form in forms.split()
}  # fmt: skip
# More than one of them is no conflict.
ADDITIVE = frozenset(
    "depend depends support supports call calls integrate integrates include includes import imports expose "
    "exposes export exports contain contains accept accepts talk talks mention mentions".split()
)
ADDING = frozenset(
    "also another additional additionally too besides both either plus alternatively sometimes".split()
)
REASONS = frozenset("because since which thanks due".split())  # what follows does not change what is said
# Nothing is stated.
DOUBT = frozenset(
    "if whether maybe might may could would perhaps probably possibly will plan plans planned planning propose "
    "proposes proposed proposal suggest suggests suggested suggestion consider considers considering todo fixme "
    "idea wish hope hopes claim claims claimed says say said ask asks asked think thinks thought want wants "
    "unless except suppose assume assuming wonder unclear unsure believe believes seems rumour rumor "
    "hypothetically example e.g i.e e.g. i.e. going soon eventually".split()
)
PAST = frozenset(
    "was were had did until formerly previously ago yesterday last once earlier originally historically former "
    "removed migrated replaced switched moved upgraded dropped failed stopped changed delayed added introduced "
    "fixed broke ran took went got became grew fell rose lost won made found saw came began reported tried "
    "decided abandoned retired sunset discontinued".split()
)
# Not `without`: it denies a part of what is said, so it is a word of it.
NEGATIONS = frozenset("not never no nor neither avoid avoids forbidden prohibited".split())
INEXACT = frozenset(
    "least most up about around roughly approximately almost nearly over under between than minimum min ~ "
    "typically usually often average".split()
)
PLACES = frozenset(
    "staging stage production prod dev development test testing qa preview sandbox local locally canary beta "
    "macos linux windows ios android mobile desktop weekdays weekends weekend nightly january february march "
    "april june july august september october november december q1 q2 q3 q4 monday tuesday wednesday thursday "
    "friday saturday sunday".split()
)
GENERIC = frozenset(
    "project repo repository codebase everything everywhere team app application code version release".split()
)
# A label, heading or first line of these alone names nothing.
LABELS = frozenset(
    "note notes fact facts rule rules reminder remember decision decisions decided decide final today heads "
    "up fyi update updated tip important attention summary overview config configuration settings convention "
    "conventions policy policies guideline guidelines review reviewed recap gone agreed confirmed talking about "
    "regarding concerning re info details context background tldr tl dr memo learned lesson caveat caution "
    "warning see follows following".split()
)
# Under such a label, heading or title stands what was seen once.
OBSERVED = frozenset(
    "symptom symptoms incident incidents outage postmortem observed observation observations measured measurement "
    "measurements result results repro reproduction bug error problem experiment benchmark history "
    "changelog".split()
)
HISTORY = OBSERVED | frozenset("before after old new previous earlier was then past".split())
POINTING = frozenset("it its they their them this these those he she his her".split())
# Of many things in one project: who gives no more has said elsewhere what it is of.
BARE_WORDS = frozenset(
    "rate limit size timeout length count number batch page queue pool max maximum min minimum retention interval "
    "ttl threshold capacity port chunk buffer delay flush backlog heap request requests connection connections "
    "item items character characters replica replicas window period age depth cpu memory accuracy coverage "
    "latency lifetime expiry".split()
)
# There are many of them: the word alone does not say which.
WEAK = frozenset("service server component module system job app tool library package".split())
UNNAMED_WORDS = WEAK | GENERIC | frozenset(
    "feature features flag flags option options mode check checks rule test tests step field fields parameter "
    "argument plugin extension button user users account name id type value email key input script "
    "command issue ticket".split()
)  # fmt: skip
# How often something is done: that it is never done denies it all the same.
OFTEN = frozenset(
    "nightly hourly daily weekly monthly quarterly yearly annually regularly periodically routinely automatically "
    "constantly continuously".split()
)
OCCASIONS = frozenset(
    "second seconds minute minutes hour hours day days night nights week weeks month months quarter year years "
    "morning evening midnight sprint release deploy commit push build run merge restart reboot".split()
)
# What a number stands in: every 5 minutes is not for 5 minutes.
RELATIONS = {"every": "every", "each": "every", "per": "every", "for": "for", "after": "after", "in": "after",
             "within": "after"}  # fmt: skip
# (of what sort, which of the two): one of them holds at a time.
STATES = {
    "enabled": ("switch", "on"), "on": ("switch", "on"), "activated": ("switch", "on"),
    "disabled": ("switch", "off"), "off": ("switch", "off"), "deactivated": ("switch", "off"),
    "allowed": ("leave", "yes"), "permitted": ("leave", "yes"),
    "forbidden": ("leave", "no"), "prohibited": ("leave", "no"), "disallowed": ("leave", "no"),
    "required": ("need", "yes"), "mandatory": ("need", "yes"), "optional": ("need", "no"),
    "true": ("truth", "yes"), "false": ("truth", "no"),
}  # fmt: skip
# Before the verb they tell that it is no plain statement of what is so, or of how many it is.
CLAUSES = frozenset(
    "when whenever while where who whose how why what after before during with without that as and or some many "
    "most few several various this these those check checks ensure ensures verify verifies confirm show shows "
    "mean means explain explains tell tells sure nothing anything everything".split()
)
# One of several, or what is talked about just now.
EXAMPLES = frozenset(
    "example alternative option candidate choice favourite favorite next step topic focus priority goal question "
    "answer problem culprit blocker reason rest remainder majority other sample template snippet sdk binding "
    "tutorial workshop course talk interview exercise".split()
)
# Somebody's turn: the next has it without contradiction.
TURNS = frozenset("week weeks sprint shift month day tonight turn rotation quarter round".split())
NOBODY = frozenset("nobody noone one someone somebody anyone anybody everyone everybody whoever who which".split())
TEAMS = frozenset("team teams squad group guild department tribe crew".split())
# Too vague to be what an attribute is.
VAGUE = frozenset(
    "generous short long slow fast good bad fine ok okay better worse high low small large big new old same "
    "different important wrong right correct broken missing unknown unclear ready available done empty full "
    "free open closed true false null none great nice hard easy simple complex clear obvious needed useful what "
    "which when where how documented configurable optional mandatory flaky stable unstable safe unsafe".split()
)
# "The default branch is main": there is one at a time.
SINGLE = frozenset(
    "branch license licence region owner timezone encoding indentation database runtime registry hostname host "
    "domain url endpoint codename level engine key deadline provider format charset locale currency shell port "
    "timeout limit ttl retention size length capacity threshold interval".split()
)
# Held by one at a time: those with a title alone, the others with a word that says which.
TITLES = frozenset("ceo cto cfo coo ciso dpo cdn crm cms erp".split())
ROLES = TITLES | frozenset(
    "lead manager maintainer director chair architect tracker scheduler proxy balancer orchestrator warehouse font "
    "typeface registrar".split()
)
NATIONS = frozenset(
    "german french dutch english british irish scottish spanish italian portuguese polish czech swiss austrian "
    "swedish danish norwegian finnish greek turkish russian ukrainian american canadian mexican brazilian european "
    "indian chinese japanese korean israeli australian african asian".split()
)
UNITS = {
    "ms": ("s", 0.001), "millisecond": ("s", 0.001), "s": ("s", 1), "sec": ("s", 1), "second": ("s", 1),
    "min": ("s", 60), "minute": ("s", 60), "h": ("s", 3600), "hr": ("s", 3600), "hour": ("s", 3600),
    "d": ("s", 86400), "day": ("s", 86400), "week": ("s", 604800),
    "b": ("b", 1), "byte": ("b", 1), "kb": ("b", 1e3), "kib": ("b", 1024), "mb": ("b", 1e6), "mib": ("b", 1 << 20),
    "gb": ("b", 1e9), "gib": ("b", 1 << 30), "tb": ("b", 1e12), "tib": ("b", 1 << 40), "ki": ("b", 1024),
    "mi": ("b", 1 << 20), "gi": ("b", 1 << 30), "ti": ("b", 1 << 40), "%": ("%", 1), "percent": ("%", 1),
}  # fmt: skip
# Of each kind one is used for one purpose.
KINDS = {
    "database": "postgres mysql mariadb sqlite oracle mongodb dynamodb cockroachdb mssql cassandra firestore",
    "broker": "kafka rabbitmq sqs nats activemq pulsar",
    "js package manager": "npm yarn pnpm bun",
    "python package manager": "pip poetry pipenv uv conda pdm",
    "ci": "jenkins github-actions gitlab-ci circleci travis buildkite teamcity drone",
    "cloud": "aws gcp azure",
    "hosting": "netlify vercel heroku fly.io render cloudflare-pages github-pages",
    "language": "rust go python java kotlin ruby perl php scala c++ c# typescript javascript elixir swift c",
    "api style": "rest graphql grpc soap",
    "bundler": "webpack vite rollup esbuild parcel",
    "frontend framework": "react vue svelte angular solid",
    "test runner": "pytest unittest nose",
    "js test runner": "jest vitest mocha jasmine",
    "infrastructure": "terraform pulumi cloudformation",
    "error tracker": "sentry rollbar bugsnag",
    "search": "elasticsearch opensearch typesense solr meilisearch",
    "identity": "auth0 okta cognito keycloak",
    "payment": "stripe adyen braintree",
    "formatter": "black yapf autopep8",
    "browser tests": "playwright cypress selenium puppeteer webdriverio",
    "css framework": "tailwind bootstrap bulma",
    "mail": "sendgrid postmark mailgun mailchimp",
    "feature flags": "launchdarkly unleash flagsmith",
    "monitoring": "datadog newrelic dynatrace",
    "orm": "prisma typeorm sequelize drizzle",
    "state of a frontend": "redux mobx zustand",
    "dates": "moment moment.js dayjs date-fns luxon",
    "chat": "slack teams discord mattermost",
    "orchestrator": "kubernetes nomad ecs docker-swarm",
    "wiki": "confluence notion",
    "indentation": "tabs spaces",
    "spelling": "camelcase snake_case kebab-case pascalcase",
    "line end": "lf crlf",
    "licence": "mit apache-2.0 gpl-3.0 bsd-3-clause mpl-2.0",
}
NOT_PINNED = frozenset(
    "support supports later newer least minimum bug since introduced compatible works or >=".split()
)
# One version of each is used in one place; `Rule 3`, `AES 256` and `batch 32` are no versions.
VERSIONED = frozenset(
    "angular ansible bun clang cmake cuda debian deno django docker dotnet elasticsearch elixir expo fastapi flask "
    "gcc go gradle helm java jdk jest kotlin kubernetes laravel llvm mariadb maven mongodb mysql next.js node npm "
    "numpy nuxt openjdk openssl pandas php pip pnpm poetry postgres prisma pydantic pytest python pytorch rails "
    "react redis ruby rust scala spring sqlalchemy sqlite svelte swift symfony tailwind tensorflow terraform "
    "typescript ubuntu uv vite vitest vue webpack xcode yarn".split()
)
STORES = frozenset((*KINDS["database"].split(), *"redis memcached s3 gcs minio etcd vault localstorage".split()))
KIND_OF = {name: kind for kind, names in KINDS.items() for name in names.split()}
# What serves a purpose, whatever it is otherwise: by the words that name the purpose.
_BROKERS = f"{KINDS['broker']} redis valkey beanstalkd"
SERVING = {
    f"for {words.split()[0]}": (frozenset(words.split()), frozenset(names.split()))
    for words, names in (
        ("queue queues", f"{_BROKERS} postgres mysql mongodb"),
        ("jobs tasks", _BROKERS),
        ("cache caches caching", "redis valkey keydb memcached dragonfly hazelcast"),
        ("session sessions", "redis valkey memcached postgres mysql mongodb dynamodb"),
        ("lock locks locking", "redis valkey postgres etcd zookeeper consul"),
    )
}
EXCLUSIVE = frozenset((
    "js package manager", "formatter", "bundler", "infrastructure", "ci", "licence", "indentation", "spelling",
))  # fmt: skip
# Of these a project has one. Not of all kinds: two languages, databases or chats go together well.
_ONE_OF = (
    *(KINDS[kind] for kind in (
        "js package manager", "python package manager", "bundler", "ci", "infrastructure", "error tracker",
        "formatter", "browser tests", "css framework", "orm", "state of a frontend", "dates", "indentation",
        "spelling", "line end", "js test runner",
    )),
    "eslint biome oxlint",
)  # fmt: skip
RIVALS = {
    name: tuple(other for other in names.split() if other != name) for names in _ONE_OF for name in names.split()
}
ALIASES = {
    "postgresql": "postgres", "golang": "go", "k8s": "kubernetes", "node.js": "node", "nodejs": "node",
    "github actions": "github-actions", "gitlab ci": "gitlab-ci", "cloudflare pages": "cloudflare-pages",
    "github pages": "github-pages", "docker swarm": "docker-swarm", "sql server": "mssql", "licence": "license",
    "in favor of": "in favour of", "anymore": "any more", "time out": "timeout", "by default": "by-default",
}  # fmt: skip
# What is sold, and not what somebody is about to do.
_TIERS = "free basic starter hobby personal standard plus pro premium team business enterprise paid trial developer"
ALIASES |= {f"{verb}nt": f"{verb} not" for verb in "is are was were do does did has have must should".split()}
ALIASES |= {f"{tier} plan": f"{tier}-plan" for tier in _TIERS.split()}
VALUED = frozenset(
    "is are = equals defaults set expire expires lasts limited runs run starts start retains keeps allows listens "
    "takes costs timeout exposes serves ends end has have gets includes include".split()
)
# Which of them is the verb: `build`, `reads` and their like stand for things as often.
PREDICATES = (USAGE | VALUED) - frozenset(
    "build builds deploy deploys read reads write writes call calls host hosts store target targets default "
    "defaults pin pins handle handles timeout set pick".split()
)
# A number of these is how it was when somebody counted.
DRIFTING = frozenset(
    "warning warnings error errors failure failures bug bugs issue issues test tests commit commits pr prs line "
    "lines file files user users customer customers member members row rows record records order orders star "
    "stars item items open todo todos dependencies vulnerabilities".split()
)
VERBS = USAGE | ADDITIVE | PAST | NEGATIONS | VALUED - {"timeout", "set"} | frozenset(
    "always prefer prefers has have do does must should shall can need needs comes come works work means "
    "fails fail lets let gives give owns owned".split()
)  # fmt: skip

# -- words -----------------------------------------------------------------------------------------

_WORD = re.compile(r"[a-z0-9_~%+#.][a-z0-9_.+#/:%@'-]*|=")
_CONTRACTED = re.compile(r"\b(is|are|was|were|do|does|did|has|have|had|must|should|could|would|need)n't\b")
_PHRASES = tuple(name for name in ALIASES if not name.isalnum())
_PHRASE = re.compile(r"\b(" + "|".join(re.escape(name) for name in _PHRASES) + r")\b")
_ALIASED = frozenset(ALIASES)
_NO_MEANING = EMPTY | USAGE | NEGATIONS
_NAMES_NOTHING = _NO_MEANING | LABELS | GENERIC
_EDGES = ".:'/-,"

stem = lru_cache(1 << 14)(analyse.stem)


def words_of(text: str) -> tuple[str, ...]:
    flat = text.lower().replace("’", "'").replace("`", " ").replace("*", " ")
    if "n't" in flat:
        flat = _CONTRACTED.sub(r"\1 not", flat).replace("can't", "can not").replace("won't", "will not")
    flat = flat.replace("cannot", "can not")
    if "'" in flat:
        flat = flat.replace("'re ", " are ").replace("'ve ", " have ")
    for name in _PHRASES:
        if name in flat:
            flat = _PHRASE.sub(lambda match: ALIASES[match[0]], flat)
            break
    found = [word.rstrip(_EDGES).removesuffix("'s") for word in _WORD.findall(flat)]
    if not _ALIASED.isdisjoint(found):
        found = [one for word in found for one in ALIASES.get(word, word).split()]
    return tuple(filter(None, found))


def meaning(words: Iterable[str]) -> frozenset[str]:
    """The stems of those that say what a sentence is about, without how it is used."""
    return frozenset([stem(word) for word in words if word not in _NO_MEANING])


def naming(words: Iterable[str]) -> frozenset[str]:
    """The stems of those in a label, heading or title that say what stands under it is about."""
    return frozenset([stem(word) for word in words if word not in _NAMES_NOTHING])


BARE, SEEN_ONCE, NO_LONGER_SO, UNNAMED = (
    frozenset(stem(word) for word in some) for some in (BARE_WORDS, OBSERVED, HISTORY, BARE_WORDS | UNNAMED_WORDS)
)
