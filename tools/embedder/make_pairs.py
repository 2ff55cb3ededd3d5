"""Write pairs.jsonl: what agents and people remember, and how they ask for it, labelled same, related or unrelated.

Every line of MEMORIES is written by hand: topic | memory | same | same | related | unrelated with shared words (marked
`shares_words`). The only generated lines are further unrelated pairs: a question beside a memory of another topic.
"""

# ruff: noqa: E501 (sentences and word lists read best uncut)
from __future__ import annotations

import json
import random
from pathlib import Path

MEMORIES = """
db | We use PostgreSQL 16 with row-level security; SQLite is only for local development. | Which database do we run in production? | postgres or sqlite? | How do we back up the database? | Is the meeting room secure at row level seating?
db | Migrations are forward-only and numbered; never edit one that has been merged. | Can I edit an old migration? | migration rules | How long do migrations take on staging? | Bird migration is earlier this year
db | The orders table has no index on customer_id, which made the report query take 40 seconds. | Why was the report query slow? | orders table missing index | What columns does the orders table have? | How do I order a table at the restaurant?
db | Connection pool size is 20 per worker; raising it exhausted Postgres in March. | What is the connection pool limit? | postgres ran out of connections | How do I connect to the staging database? | Which swimming pool is open in March?
auth | AuthService issues JWTs that expire after 15 minutes and a refresh token valid for 30 days. | How long is the access token valid? | AuthService token lifetime | How do users reset their password? | How long is the train ticket valid?
auth | The auth middleware lives in src/auth/mw.py and runs before every route except /health. | Where is the authentication middleware? | src/auth/mw.py | How is logging configured in the middleware? | Where is the nearest health centre?
auth | Login with Google fails when the redirect URI has a trailing slash. | Why does Google sign-in break? | OAuth redirect uri mismatch | Do we support login with GitHub? | Google Maps shows the wrong route
auth | Passwords are hashed with argon2id; bcrypt hashes are upgraded at the next login. | Which password hashing algorithm do we use? | argon2 or bcrypt | Where do we store session cookies? | The hash browns were burnt at breakfast
ci | CI runs on GitHub Actions; the full test suite takes 12 minutes and needs Docker. | How long does the CI pipeline take? | what does CI need to run the tests? | Who maintains the release pipeline? | It takes 12 minutes to walk to the office
ci | test_checkout_retry is flaky because it depends on wall-clock time. | Why is the checkout test flaky? | test_checkout_retry | How do I run a single test? | Pie crust should be flaky and golden
ci | Never merge with a red build, even for documentation changes. | May I merge while the build is failing? | merge policy | How do I build the documentation? | The red building on the corner is for sale
ci | Releases are cut from main every Tuesday and tagged vYYYY.MM.DD. | When do we release? | release schedule and tags | How do I roll back a release? | Every Tuesday we eat tacos
style | The user prefers tabs over spaces and a line length of 100. | Does the user like tabs or spaces? | indentation preference | Which formatter does the project use? | There is no space for another tab at the bar
style | Keep functions under 30 lines and do not add comments that repeat the code. | How long may a function be? | rules for comments and function length | Which linter rules are disabled? | The function starts at eight and there is a comment box
style | Use dataclasses instead of dicts for values that cross module boundaries. | Should I pass dicts between modules? | dataclass convention | How are modules named? | The lunar module crossed the boundary of the crater
style | Error messages must say what went wrong and what the user can do next. | How should error messages be written? | error message guideline | Where are errors logged? | Leave a message on my phone
deploy | Deploy with `make deploy ENV=staging`, wait for the smoke test, then promote to production. | How do I deploy to staging? | deployment steps | Who has access to production? | The smoke alarm test is on Monday
deploy | Production runs in eu-central-1 on three Kubernetes nodes behind an nginx ingress. | Which AWS region is production in? | where is prod hosted? | How much does the cluster cost? | The sailing region has three marinas
deploy | The deployment failed because the Docker image was built for arm64. | Why did the deploy fail? | wrong image architecture | How do I shrink the Docker image? | The image of the arm was blurred
deploy | Do not deploy on Fridays after 14:00. | Can I ship this on Friday afternoon? | deploy freeze rule | Who approves deployments? | On Fridays the bakery closes at 14:00
bug | PROJ-123: invoices show the wrong currency when the customer moved country. | What is PROJ-123 about? | wrong currency on invoices | How are invoices numbered? | Project 123 at school is about moving country dances
bug | Memory leak in ImageResizer: the cache of decoded frames is never cleared. | Why does ImageResizer use more and more memory? | ImageResizer leak | Which image formats do we support? | My memory of the leak in the roof is fading
bug | Uploading files over 2 GB fails because the proxy buffers the whole body. | Large uploads fail, why? | file upload size problem | Where are uploaded files stored? | The body shop keeps whole files of nails
bug | The date parser treats 03/04 as March 4; European customers expect April 3. | Why are dates wrong for European users? | day and month swapped when parsing | Which time zone do we store? | My date arrives on March 4
bug | UnicodeDecodeError in import_csv: the export from Excel is cp1252, not UTF-8. | Why does import_csv raise UnicodeDecodeError? | csv import encoding | How many rows can the importer handle? | I excel at importing wine
bug | Deadlock between the billing worker and the refund job: they lock accounts in different order. | What caused the deadlock? | billing worker and refund job block each other | How are refunds approved? | The lock on the bike was in bad order
api | The public API is versioned in the path (/v1, /v2); breaking changes need a new version. | How do we version the API? | can I make a breaking API change? | What is the rate limit of the API? | The public path by the river has a new bench
api | GET /users returns at most 100 items; use the cursor parameter for more. | How does pagination work on the users endpoint? | page size limit /users | How do I create a user via the API? | Users of the library get 100 items for free
api | Webhooks are retried five times with exponential backoff, then sent to the dead-letter queue. | What happens when a webhook fails? | webhook retry policy | How do we verify webhook signatures? | The dead letter office retired five clerks
api | Rate limiting is 60 requests per minute per key and answers with status 429. | How many API calls are allowed per minute? | 429 too many requests | How do I get an API key? | Her heart rate was 60 beats per minute
front | The frontend is React 19 with Vite; state lives in Zustand, not Redux. | What do we use for state management? | redux or zustand? | How do we style components? | The state frontier was redrawn
front | Dark mode flickers on load because the theme is read after hydration. | Why does dark mode flash at page load? | theme flicker | Which colours belong to the dark theme? | The candle flickers in the dark
front | All dialogs must be reachable by keyboard and have an aria-label. | What are our accessibility rules for dialogs? | keyboard access to modals | How do we translate dialog texts? | The piano keyboard has a label
queue | We chose Redis Streams over Kafka because we send fewer than 500 events per second. | Why not Kafka? | Redis Streams decision | How do consumers acknowledge an event? | The stream behind the house floods every spring
queue | Jobs are idempotent: the upsert key makes a second run harmless. | What happens if a job runs twice? | idempotent jobs | How many workers process jobs? | I applied for a second job
queue | The nightly report job starts at 02:00 UTC and emails finance. | When does the nightly report run? | report job schedule | What does the finance report contain? | Nightly noise was reported to the police
cache | Product pages are cached for five minutes in Redis; purge with `make purge`. | How long are product pages cached? | how to clear the cache | Where is Redis deployed? | The five minute page turner was a product of its time
cache | Cache keys include the tenant id, otherwise customers saw each other's data. | Why is the tenant in the cache key? | cross-tenant cache leak | How are tenants created? | The tenant lost the key to the flat
config | Set CLEW_LOG_LEVEL=debug to see SQL statements. | How do I see the SQL that is executed? | CLEW_LOG_LEVEL | Where are log files written? | The log cabin is on level ground
config | Secrets come from Vault; .env files are for local use and are git-ignored. | Where do secrets come from? | can I commit the .env file? | How are secrets rotated? | The vault of the church is a secret place
config | Feature flag new_checkout is on for 10 percent of users. | Who sees the new checkout? | new_checkout rollout | How do I add a feature flag? | Ten percent of flags are blue
team | Maria owns the billing code; ask her before changing tax rules. | Who is responsible for billing? | whom do I ask about taxes? | How do we calculate VAT? | Maria sings in the choir on Sundays
team | Stand-up is at 9:30 on Zoom; write updates in Slack if you cannot come. | When is the daily stand-up? | what if I miss standup? | Who leads the retrospective? | He likes stand-up comedy at 9:30
team | Jonas is on vacation until the 20th; Priya covers on-call. | Who is on call while Jonas is away? | when does Jonas come back? | How does the on-call rotation work? | The vacation house is on the 20th street
search | Full-text search uses FTS5 with the porter stemmer; vectors are a second source. | How does our search work? | FTS5 stemming | How big is the search index? | The search party found the porter
search | Recall dropped after we removed stop words from phrases. | Why did search quality get worse? | stop words hurt recall | Which languages does the stemmer know? | I cannot recall the stop where we got off
perf | Importing pandas costs 400 ms, so the CLI imports it lazily. | Why is pandas imported inside the function? | CLI startup time | Which version of pandas do we use? | Pandas eat bamboo for 12 hours
perf | p95 of /search went from 80 to 300 ms after adding the reranker. | What made search slower? | search latency regression | How do we measure latency? | The search for the 300 lost hikers
perf | Use orjson for large responses; the json module was the bottleneck. | Which JSON library should I use? | slow json serialization | How do we validate JSON input? | The bottle neck broke in response
docs | Architecture decisions are written as ADRs under docs/adr. | Where are architecture decisions recorded? | docs/adr | Who wrote the user manual? | The architect decided on a red roof
docs | The README example must run as written; a test executes it. | Is the README example tested? | docs tested in CI | How do we publish the docs site? | She ran for example ten miles
life | I went hiking with my sister in the Alps last weekend. | What did you do last weekend? | trip to the mountains with my sister | Which boots are good for hiking? | Last weekend the sister company was sold
life | My daughter is allergic to peanuts. | Can your daughter eat peanut butter? | which allergies do the kids have? | How old is your daughter? | Snoopy is in the Peanuts comic
life | We adopted a gray kitten and named her Luna. | What is your cat called? | do they have pets? | What does a kitten eat? | The luna park opens in summer
life | I started learning the violin two months ago. | Which instrument are you learning? | since when do you play the violin? | Do you like classical concerts? | The violin case was two months old in court
life | Tom works as a nurse at the children's hospital in Boston. | What is Tom's job? | where does Tom work? | How many hospitals are there in Boston? | Tom bought children's books in Boston
life | My favourite dish is mushroom risotto, my husband hates mushrooms. | What food do you like best? | who does not like mushrooms? | How do you cook risotto? | My husband hates traffic
life | Dinner with the Garcias is on Saturday at seven at the Thai place. | When do we meet the Garcias? | Saturday dinner plans | Is Thai food spicy? | On Saturday seven runners met
life | I sold my car and cycle to work now. | How do you get to work? | do you still have a car? | Which bike should I buy? | The washing cycle works now
life | Grandma's surgery went well and she comes home on Monday. | How is grandma doing after the operation? | when does grandma leave the hospital? | How old is your grandma? | The tree surgery firm comes on Monday
life | We are saving for a trip to Japan next spring. | Where do you want to travel? | vacation plans for next year | What is the weather like in Japan? | The spring in the saving box is from Japan
life | Leo passed his driving test on the third attempt. | Did Leo get his licence? | how often did Leo take the driving exam? | Who taught Leo to drive? | The driving rain passed on the third day
graph | GraphStore keeps edges with weight and confidence; an edge without evidence is deleted. | What happens to an edge without evidence? | GraphStore edges | How many nodes may a query visit? | The edge of the cliff has evidence of erosion
graph | Spreading activation stops after two hops because more only added noise. | How many hops does activation take? | limit of graph expansion | How are edge weights learned? | Two hops make a strong beer
""".strip()

MORE_UNRELATED = 16  # generated per memory: most of a store has nothing to do with a question


def rows() -> list[dict[str, str]]:
    rng = random.Random(20261115)
    lines = [[part.strip() for part in line.split(" | ")] for line in MEMORIES.splitlines()]
    labels = ("same", "same", "related", "unrelated")
    found = []
    for topic, memory, *queries in lines:
        found += [_row(q, memory, label) for q, label in zip(queries, labels, strict=True)]
        found[-1]["shares_words"] = "yes"
        others = [other for other in lines if other[0] != topic]
        for other in rng.sample(others, MORE_UNRELATED):
            found.append(_row(other[rng.choice((2, 3, 4))], memory, "unrelated"))
    return found


def _row(query: str, memory: str, label: str) -> dict[str, str]:
    return {"query": query, "memory": memory, "label": label}


if __name__ == "__main__":
    target = Path(__file__).with_name("pairs.jsonl")
    target.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows()))
