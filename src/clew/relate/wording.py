"""The words that the rules for contradictions go by. Each list is what it is: extend it with a labelled pair that
needs it, in tests/unit/relate/conflict_pairs.jsonl."""

from __future__ import annotations

# Say nothing of what a sentence is about.
EMPTY = frozenset(
    "a an the this that these those there it its our ours we us you your i my me they their he his she her is "
    "are be been being am do does have has having in on of for with by at to from as per via into onto through "
    "and or but so then now currently still today already just here again always must should shall need needs "
    "required can please only all any every each some value set setting equals".split()
)
# How something is used says less than what it is used for.
USAGE = frozenset(
    "use uses using used utilize utilizes utilise utilises run runs running host hosts hosted deploy deploys "
    "deployed store stores stored keep keeps kept live lives write writes written build builds built serve "
    "serves served rely relies depend depends require requires talk talks publish publishes published go goes "
    "pin pins pinned target targets call calls read reads send sends sent handle handles handled default "
    "defaults expose exposes exposed listen listens bind binds bound done make makes put puts".split()
)
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
NEGATIONS = frozenset("not never no nor neither without avoid avoids forbidden prohibited".split())
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
UNITS = {
    "ms": ("s", 0.001), "millisecond": ("s", 0.001), "s": ("s", 1), "sec": ("s", 1), "second": ("s", 1),
    "min": ("s", 60), "minute": ("s", 60), "h": ("s", 3600), "hr": ("s", 3600), "hour": ("s", 3600),
    "d": ("s", 86400), "day": ("s", 86400), "week": ("s", 604800),
    "b": ("b", 1), "byte": ("b", 1), "kb": ("b", 1e3), "kib": ("b", 1024), "mb": ("b", 1e6), "mib": ("b", 1 << 20),
    "gb": ("b", 1e9), "gib": ("b", 1 << 30), "tb": ("b", 1e12), "%": ("%", 1), "percent": ("%", 1),
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
    "test runner": "pytest unittest nose jest vitest mocha jasmine",
    "infrastructure": "terraform pulumi cloudformation",
    "error tracker": "sentry rollbar bugsnag",
    "search": "elasticsearch opensearch typesense solr meilisearch",
    "identity": "auth0 okta cognito keycloak",
    "payment": "stripe adyen braintree",
    "formatter": "black yapf autopep8",
    "chat": "slack teams discord mattermost",
    "orchestrator": "kubernetes nomad ecs docker-swarm",
    "licence": "mit apache-2.0 gpl-3.0 bsd-3-clause mpl-2.0",
}
KIND_OF = {name: kind for kind, names in KINDS.items() for name in names.split()}
EXCLUSIVE = frozenset(("js package manager", "formatter", "bundler", "infrastructure", "ci", "licence"))
ALIASES = {
    "postgresql": "postgres", "golang": "go", "k8s": "kubernetes", "node.js": "node", "nodejs": "node",
    "github actions": "github-actions", "gitlab ci": "gitlab-ci", "cloudflare pages": "cloudflare-pages",
    "github pages": "github-pages", "docker swarm": "docker-swarm", "sql server": "mssql", "licence": "license",
    "in favor of": "in favour of", "anymore": "any more", "time out": "timeout",
}  # fmt: skip
