"""Sentences we wrote ourselves, with slots: everyday talk between friends, the notes of coding agents, and questions.

A static model adds up words, so what it has to learn is how much each word says beside the others. Templates put one
word into many ordinary frames, and pair a statement with the questions it answers.
"""

# ruff: noqa: E501 (sentences and word lists read best uncut)
from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

NAMES = (
    "Anna Ben Carla David Elena Frank Grace Hassan Ivy Jonas Kate Liam Maria Noah Olga Paul Rosa Sam Tina Victor Wendy Yusuf Zoe "
    "Emma Jack Lucy Oscar Nina Peter Sara Tom Julia Leo Mia Omar Priya Raj Sophie Daniel Chloe Marcus Hannah Felix"
).split()
RELATION = (
    "sister|brother|mother|father|mom|dad|grandma|grandpa|aunt|uncle|cousin|daughter|son|kids|wife|husband|partner|best friend|"
    "neighbor|boss|coworker|teammate|roommate|niece|nephew|parents|girlfriend|boyfriend|teacher|doctor|therapist|coach"
).split("|")
ACTIVITY = (
    "hiking|swimming|running|painting|drawing|knitting|camping|fishing|cooking|baking|gardening|dancing|yoga|climbing|skiing|surfing|"
    "cycling|photography|writing poetry|playing the piano|playing guitar|learning Spanish|reading novels|volunteering|bird watching|"
    "kayaking|meditation|boxing|playing chess|playing video games|singing in a choir|woodworking|sewing|rock climbing|horseback riding|"
    "playing basketball|playing soccer|tennis|martial arts|journaling|sketching|calligraphy|astronomy|coding|blogging|acting|stand-up comedy"
).split("|")
PLACE = (
    "the beach|the mountains|the park|the museum|the library|a new restaurant|the lake|the city|downtown|the zoo|a concert|the theater|"
    "Paris|Rome|Tokyo|New York|London|Barcelona|Canada|Mexico|Italy|Japan|Ireland|Brazil|Boston|Chicago|Seattle|California|Florida|Berlin|"
    "the countryside|a farm|the gym|a coffee shop|an art gallery|the hospital|school|college|church|the airport|a festival|the aquarium|"
    "a bookstore|the national park|a waterfall|the desert|an animal shelter|a conference|a community center|the farmers market"
).split("|")
EVENT = (
    "birthday party|wedding|graduation|job interview|marathon|charity dinner|science fair|book club|family reunion|road trip|camping trip|concert|"
    "dance competition|parade|workshop|conference|school play|fundraiser|funeral|baby shower|housewarming|exam|surgery|performance|"
    "game night|dinner party|team meeting|cooking class|tournament|anniversary|vacation|audition|exhibition|promotion|move"
).split("|")
FEELING = (
    "happy|excited|nervous|proud|grateful|sad|tired|stressed|relieved|inspired|lonely|calm|anxious|worried|amazed|disappointed|"
    "overwhelmed|hopeful|scared|confident|jealous|embarrassed|peaceful|motivated|frustrated"
).split("|")
TIME = (
    "yesterday|last week|last weekend|last month|last year|two days ago|this morning|tomorrow|next week|next month|on Friday|on Sunday|"
    "in March|in July|in December|in 2019|in 2022|a few years ago|when I was young|on 3 October|next summer|over the holidays|"
    "tonight|recently|for three months|for ten years|every Tuesday"
).split("|")
OBJECT = (
    "a backpack|a painting|a guitar|a book|a bike|a car|a house|a puppy|a kitten|a laptop|a camera|a dress|running shoes|a violin|a plant|"
    "flowers|a cake|a bowl|a mug|a photo album|a letter|a ring|a watch|a tattoo|a telescope|a tent|a phone|a sofa|a cookbook|a board game|"
    "a lamp|a kite|a trophy|a certificate|a sweater|a blanket|a record player|a puzzle|a journal|tickets|a drone|a fish tank"
).split("|")
JOB = (
    "nurse|teacher|engineer|lawyer|chef|artist|musician|plumber|writer|photographer|designer|accountant|manager|scientist|carpenter|"
    "social worker|firefighter|police officer|pilot|librarian|dancer|actor|farmer|barista|mechanic|dentist|journalist|student|programmer"
).split("|")
TOPIC = (
    "climate change|mental health|divorce|retirement|immigration|education|politics|religion|nutrition|fitness|money|investing|"
    "parenting|pregnancy|moving house|a new job|starting a business|losing weight|a broken leg|allergies|diabetes|an accident|a storm|"
    "human rights|city life|homework|old friends|music|movies|books|science fiction|history|space|"
    "cars|fashion|interior design|pets|wildlife|the environment|travel plans|family traditions|childhood memories|career goals"
).split("|")

EVERYDAY = [  # statement, then questions that it answers
    (
        "I went {activity} with my {relation} {time}.",
        "When did {name} go {activity}?|Who did {name} go {activity} with?|What did {name} do with {relation}?",
    ),
    (
        "We visited {place} {time} and it was so much fun!",
        "Where did {name} go {time}?|When did {name} visit {place}?|Has {name} been to {place}?",
    ),
    (
        "I bought {object} for my {relation}.",
        "What did {name} buy?|What did {name} get for {relation}?|Who got {object}?",
    ),
    (
        "My {relation} gave me {object} for my birthday.",
        "What gift did {name} receive?|Who gave {name} {object}?|What is special about {object}?",
    ),
    (
        "I work as a {job} and I love it.",
        "What does {name} do for work?|What is {name}'s job?|Is {name} a {job}?",
    ),
    (
        "I'm thinking about becoming a {job}.",
        "What career is {name} considering?|What does {name} want to be?|Would {name} like to be a {job}?",
    ),
    (
        "The {event} is {time}, I'm so {feeling}!",
        "When is the {event}?|How does {name} feel about the {event}?|What is {name} {feeling} about?",
    ),
    (
        "I signed up for a {event} {time}.",
        "When did {name} sign up for the {event}?|What did {name} sign up for?",
    ),
    (
        "{activity} helps me to relax and feel {feeling}.",
        "What does {name} do to relax?|Why does {name} like {activity}?|How does {name} destress?",
    ),
    (
        "I've been into {activity} {time}.",
        "What are {name}'s hobbies?|How long has {name} been {activity}?|What activities does {name} enjoy?",
    ),
    (
        "I'm really passionate about {topic}.",
        "What is {name} passionate about?|What does {name} think about {topic}?|What are {name}'s interests?",
    ),
    (
        "We talked about {topic} at the {event}.",
        "What did they discuss at the {event}?|What was the {event} about?",
    ),
    (
        "I made {food} for dinner {time}.",
        "What did {name} cook?|What did {name} eat {time}?|What is {name}'s favorite food?",
    ),
    (
        "My favorite food is {food}.",
        "What does {name} like to eat?|What is {name}'s favorite dish?|Does {name} like {food}?",
    ),
    (
        "We adopted a {animal} {time} and named it {name}.",
        "What pets does {name} have?|What is the name of the {animal}?|When did {name} adopt the {animal}?",
    ),
    (
        "I'm allergic to {food}, so I never eat it.",
        "What is {name} allergic to?|What food does {name} avoid?",
    ),
    (
        "I moved here from {place} {time}.",
        "Where did {name} move from?|Where is {name} from?|When did {name} move?",
    ),
    ("My {relation} lives near {place}.", "Where does {name}'s {relation} live?|Who lives near {place}?"),
    (
        "I felt {feeling} after the {event}.",
        "How did {name} feel after the {event}?|Why was {name} {feeling}?",
    ),
    (
        "I was {feeling} when I saw my {relation} at the {event}.",
        "Who came to the {event}?|When was {name} {feeling}?",
    ),
    (
        "I just finished reading a great book about {topic}.",
        "What book did {name} read?|What has {name} been reading?",
    ),
    (
        "We are planning a trip to {place} {time}.",
        "What are {name}'s plans for the summer?|Where is {name} traveling?|When is the trip to {place}?",
    ),
    ("Wow, {object}! Where did you get it?", "Who asked about {object}?"),
    ("That sounds great, {name}! Have you tried {activity}?", "Who recommended {activity}?"),
    (
        "Congrats on the {event}, {name}! Your {relation} must be {feeling}.",
        "Who congratulated {name}?|What did {name} achieve?",
    ),
    (
        "I lost my {job} job {time} and now I want to start my own {artifact} business.",
        "When did {name} lose the job?|What business did {name} start?",
    ),
    (
        "The {artifact} broke {time}, so I had to fix the {artifact}.",
        "What did {name} repair?|What happened to the {artifact}?",
    ),
    (
        "My {relation} loves {animal}s and {food}.",
        "What does {name}'s {relation} like?|What do the kids like?",
    ),
    ("I keep a {artifact} next to my {artifact} at home.", "Where does {name} keep the {artifact}?"),
    ("I saw a {animal} at {place} {time}.", "What animal did {name} see?|Where did {name} see a {animal}?"),
    (
        "The {person} at {place} told us about the {act}.",
        "What did the {person} say?|Who told them about the {act}?",
    ),
    ("There was a {event2} in {place} {time}.", "What happened in {place}?|When was the {event2}?"),
    ("I can't stop thinking about {topic} and {topic}.", "What is on {name}'s mind?"),
    (
        "Here's a picture of the {artifact} we saw at {place}.",
        "What did {name} share a photo of?|What did {name} see at {place}?",
    ),
    ("I prefer {food} to {food}.", "Which food does {name} prefer?|What would {name} rather eat?"),
    (
        "My doctor said I should do more {activity} because of {topic}.",
        "What did the doctor advise?|What health problems does {name} have?",
    ),
]

TOOL = (
    "PostgreSQL|MySQL|SQLite|Redis|MongoDB|Kafka|RabbitMQ|Docker|Kubernetes|Terraform|nginx|Celery|Django|Flask|FastAPI|React|Vue|Next.js|"
    "TypeScript|Python|Rust|Go|Java|Node|npm|pnpm|yarn|pip|poetry|uv|pytest|Jest|Playwright|GitHub Actions|GitLab CI|Jenkins|AWS Lambda|S3|"
    "Elasticsearch|GraphQL|gRPC|REST|OAuth|JWT|SAML|Stripe|Sentry|Prometheus|Grafana|OpenTelemetry|ESLint|ruff|mypy|webpack|Vite|Tailwind|"
    "SQLAlchemy|Prisma|Alembic|Pydantic|pandas|NumPy|PyTorch|Airflow|Spark|dbt|Snowflake|BigQuery|Helm|Ansible|Vault|git|tmux|Vim|VS Code"
).split("|")
PART = (
    "auth middleware|login flow|payment service|checkout page|user model|session store|API gateway|rate limiter|cache layer|job queue|"
    "background worker|scheduler|webhook handler|email sender|search index|database schema|migration script|config loader|feature flags|"
    "logging setup|test suite|CI pipeline|deployment script|release process|build step|linter config|type checker|dashboard|admin panel|"
    "file upload|image resizer|report generator|billing module|invoice export|notification service|websocket server|retry logic|error handler|"
    "token refresh|password reset|permission check|audit log|data importer|CSV parser|date parser|connection pool|health check|CLI"
).split("|")
PROBLEM = (
    "times out|leaks memory|deadlocks|returns 500|returns 401|fails on Windows|is flaky|is too slow|loses messages|duplicates rows|"
    "crashes on startup|ignores time zones|drops the connection|breaks with empty input|raises KeyError|does not retry|runs out of disk|"
    "exceeds the rate limit|shows stale data|overflows the stack|rejects valid tokens|blocks the event loop|corrupts the file"
).split("|")
CAUSE = (
    "the pool was exhausted|a missing index|a race condition|clock skew|a wrong environment variable|an expired certificate|a circular import|"
    "an unbounded cache|a missing await|the wrong encoding|an off-by-one error|a stale lock file|a version mismatch|missing permissions|"
    "a null value|a timezone bug|DNS caching|an uncaught exception|the default timeout|floating point rounding|a missing foreign key"
).split("|")
RULE = (
    "never commit secrets|always run the linter before pushing|write tests first|use feature branches|squash commits before merging|"
    "do not use print for logging|keep functions short|use snake_case for columns|prefer composition over inheritance|pin all dependencies|"
    "validate input at the boundary|use UTC everywhere|store money as integer cents|do not mock the database|require two reviewers|"
    "use dependency injection|keep API responses backwards compatible|avoid global state|document public functions|no force pushes to main|"
    "use tabs for indentation|use four spaces|line length is 100|use conventional commits|deploy only on weekdays|rotate keys every month"
).split("|")
CODING = [
    (
        "We decided to use {tool} instead of {tool} for the {part}.",
        "Why did we choose {tool}?|Which technology does the {part} use?|{part} decision|what did we decide about {tool}?",
    ),
    (
        "The {part} {problem} because of {cause}.",
        "Why does the {part} fail?|What causes the {part} problem?|the {part} {problem}|root cause {part}",
    ),
    (
        "Fixed the {part}: it {problem} when {cause}.",
        "How was the {part} bug fixed?|{part} fix|bug in {part}",
    ),
    ("Rule: {rule}.", "What are the coding rules?|{rule}?|project conventions"),
    ("In this project we {rule}.", "What is our convention?|how do we handle this: {rule}"),
    (
        "The user prefers {tool} over {tool}.",
        "What does the user prefer, {tool} or {tool}?|user preference {tool}",
    ),
    (
        "{tool} runs on port {port} in development.",
        "Which port does {tool} use?|{tool} port|how do I connect to {tool} locally?",
    ),
    (
        "To deploy the {part}, run make {verb} and wait for {tool}.",
        "How do I deploy the {part}?|deployment steps for the {part}",
    ),
    (
        "The {part} lives in src/{word}/{word}.py.",
        "Where is the {part}?|which file contains the {part}?|src/{word}/{word}.py",
    ),
    ("{Ident} handles the {part} and calls {Ident}.", "What does {Ident} do?|{Ident}|who calls {Ident}?"),
    (
        "Upgrade {tool} to version {version} because the {part} {problem}.",
        "Which version of {tool} do we need?|{tool} upgrade",
    ),
    (
        "The {part} tests need {tool} running locally.",
        "How do I run the {part} tests?|test setup {part}|what do the tests depend on?",
    ),
    (
        "Set {ENV} to enable the {part}.",
        "Which environment variable enables the {part}?|{ENV}|how to turn on the {part}",
    ),
    (
        "The {part} retries three times with exponential backoff and then {problem}.",
        "How often does the {part} retry?|retry policy of the {part}",
    ),
    (
        "TODO: move the {part} from {tool} to {tool} before the next release.",
        "What is still open for the {part}?|planned migrations|next steps for {tool}",
    ),
    (
        "{tool} needs {gb} GB of memory or the {part} {problem}.",
        "How much memory does {tool} need?|memory limit {tool}",
    ),
]
WORDS = "auth billing core api db cache queue models views utils parser session config worker events search graph users orders store sync".split()
VERBS = "deploy build release migrate test seed start publish backup restore".split()
SUFFIX = "Service Manager Handler Client Factory Repository Controller Provider Adapter Parser Validator Store Queue Error".split()


def _fill(
    pattern: str, slots: Mapping[str, str], words: Mapping[str, Sequence[str]], rng: random.Random
) -> tuple[str, dict[str, str]]:
    """Fill the slots; the first value drawn for a slot is kept, so that a question can speak of the same thing."""
    kept = dict(slots)

    def draw(match: re.Match[str]) -> str:
        slot = match.group(1)
        value = kept[slot] if slot in slots else rng.choice(words[slot])
        kept.setdefault(slot, value)
        return value

    text = re.sub(r"\{(\w+)\}", draw, pattern)
    return text[:1].upper() + text[1:], kept


def _vocabulary(nouns: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    idents = [a.capitalize() + b for a in WORDS for b in SUFFIX] + [f"{v}_{w}" for v in VERBS for w in WORDS]
    return {
        "name": NAMES, "relation": RELATION, "activity": ACTIVITY, "place": PLACE, "event": EVENT, "feeling": FEELING, "time": TIME,
        "object": OBJECT, "job": JOB, "topic": TOPIC, "tool": TOOL, "part": PART, "problem": PROBLEM, "cause": CAUSE, "rule": RULE,
        "word": WORDS, "verb": VERBS, "Ident": idents, "ENV": [f"{a}_{b}".upper() for a in WORDS for b in ("url", "token", "enabled", "timeout")],
        "port": ["5432", "6379", "8080", "3000", "9090", "8000", "443"], "version": ["2.0", "3.11", "16", "18", "1.4.2", "22"],
        "gb": ["2", "4", "8", "16"], "food": nouns["food"], "animal": nouns["animal"], "artifact": nouns["artifact"],
        "person": nouns["person"], "act": nouns["act"], "event2": nouns["event"],
    }  # fmt: skip


def statements_with_questions(
    count: int, nouns: Mapping[str, Sequence[str]], rng: random.Random
) -> list[tuple[str, str]]:
    """`count` (statement, question) pairs, two thirds everyday talk."""
    words = _vocabulary(nouns)
    pairs = []
    for _ in range(count):
        statement, questions = rng.choice(EVERYDAY if rng.random() < 0.67 else CODING)
        text, kept = _fill(statement, {}, words, rng)
        pairs.append((text, _fill(rng.choice(questions.split("|")), kept, words, rng)[0]))
    return pairs
