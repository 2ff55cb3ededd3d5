"""The components we recognise, by ecosystem: a compact table, because only what is known for sure may count.

Written `package` or `package=name` where the component is called otherwise. Names never contain '@', which sets
off a version in a component id.
"""

from __future__ import annotations

from functools import cache

# npm's own names; scopes are dropped in the component's name.
_NPM = {
    "framework": """next react vue nuxt svelte @sveltejs/kit=sveltekit @angular/core=angular solid-js=solid
        preact astro gatsby remix @remix-run/react=remix express fastify koa hono @nestjs/core=nestjs
        @hapi/hapi=hapi electron react-native expo ember-source=ember qwik @builder.io/qwik=qwik alpinejs=alpine
        backbone meteor-node-stubs=meteor @adonisjs/core=adonis @redwoodjs/core=redwood""",
    "lib": """lodash axios zod rxjs redux @reduxjs/toolkit=redux-toolkit zustand mobx jotai recoil immer
        @tanstack/react-query=react-query react-query swr @apollo/client=apollo-client graphql @trpc/server=trpc
        @trpc/client=trpc socket.io ws prisma @prisma/client=prisma typeorm sequelize drizzle-orm=drizzle knex
        mongoose mongodb pg mysql mysql2 sqlite3 better-sqlite3 redis ioredis kafkajs amqplib bullmq tailwindcss
        styled-components @emotion/react=emotion @mui/material=mui antd bootstrap @chakra-ui/react=chakra-ui
        framer-motion three d3 chart.js recharts react-router react-router-dom=react-router
        @tanstack/router=tanstack-router formik react-hook-form yup joi ajv date-fns moment dayjs luxon winston
        pino dotenv jsonwebtoken passport next-auth @clerk/nextjs=clerk stripe openai
        @anthropic-ai/sdk=anthropic langchain ai @modelcontextprotocol/sdk=mcp @aws-sdk/client-s3=aws-sdk
        aws-sdk firebase @supabase/supabase-js=supabase @elastic/elasticsearch=elasticsearch sharp cheerio uuid
        commander yargs chalk inquirer i18next""",
    "tool": """vite webpack rollup esbuild parcel turbo nx lerna jest vitest mocha cypress playwright
        @playwright/test=playwright puppeteer eslint prettier @biomejs/biome=biome babel @babel/core=babel
        @swc/core=swc storybook ts-node tsx tsup husky lint-staged nodemon pm2 wrangler
        @testing-library/react=testing-library""",
}

_PYPI = {
    "framework": """django flask fastapi starlette tornado aiohttp sanic pyramid litestar quart bottle falcon
        djangorestframework=django-rest-framework django-ninja streamlit gradio dash scrapy celery airflow
        apache-airflow=airflow dagster prefect langchain langgraph llama-index pytorch-lightning=lightning
        lightning kivy""",
    "lib": """numpy pandas polars scipy scikit-learn torch tensorflow jax keras transformers datasets matplotlib
        seaborn plotly pillow opencv-python=opencv requests httpx urllib3 pydantic sqlalchemy alembic psycopg
        psycopg2 psycopg2-binary=psycopg2 asyncpg pymysql mysqlclient pymongo motor redis elasticsearch boto3
        botocore google-cloud-storage azure-storage-blob kafka-python confluent-kafka pika grpcio protobuf
        jinja2 click typer rich attrs marshmallow orjson lxml beautifulsoup4 selenium playwright openai
        anthropic mcp tiktoken sentence-transformers faiss-cpu=faiss qdrant-client=qdrant chromadb pyarrow
        duckdb networkx sympy numba cython dask ray spacy nltk structlog loguru sentry-sdk
        opentelemetry-api=opentelemetry cryptography paramiko apsw aiosqlite peewee tortoise-orm sqlmodel
        websockets tenacity stamina trio anyio gevent uvloop""",
    "tool": """pytest hypothesis tox nox mypy pyright ruff black isort flake8 pylint coverage pytest-cov
        pre-commit poetry hatch hatchling setuptools uvicorn gunicorn hypercorn mkdocs sphinx invoke locust
        bandit""",
}

_CARGO = {
    "framework": "actix-web axum rocket warp tide poem tauri bevy leptos yew dioxus tonic",
    "lib": """serde serde_json tokio async-std hyper reqwest tower tracing log anyhow thiserror clap rand regex
        chrono time uuid sqlx diesel sea-orm rusqlite tokio-postgres postgres mongodb redis rdkafka prost rayon
        crossbeam itertools nom syn quote wasm-bindgen pyo3 ndarray nalgebra image bincode bytes futures dashmap
        parking_lot rustls openssl lapin aws-sdk-s3 opentelemetry""",
    "tool": "criterion proptest quickcheck insta mockall bindgen cc tonic-build",
}

_GO = {
    "framework": """github.com/gin-gonic/gin=gin github.com/labstack/echo=echo github.com/gofiber/fiber=fiber
        github.com/go-chi/chi=chi github.com/gorilla/mux=gorilla-mux github.com/beego/beego=beego
        github.com/gobuffalo/buffalo=buffalo github.com/go-kit/kit=go-kit github.com/zeromicro/go-zero=go-zero
        go.temporal.io/sdk=temporal sigs.k8s.io/controller-runtime=controller-runtime""",
    "lib": """google.golang.org/grpc=grpc google.golang.org/protobuf=protobuf gorm.io/gorm=gorm
        github.com/jackc/pgx=pgx github.com/lib/pq=pq github.com/go-sql-driver/mysql=go-sql-driver-mysql
        github.com/mattn/go-sqlite3=go-sqlite3 modernc.org/sqlite=modernc-sqlite
        go.mongodb.org/mongo-driver=mongo-driver github.com/redis/go-redis=go-redis
        github.com/go-redis/redis=go-redis github.com/segmentio/kafka-go=kafka-go github.com/IBM/sarama=sarama
        github.com/nats-io/nats.go=nats github.com/spf13/cobra=cobra github.com/spf13/viper=viper
        go.uber.org/zap=zap github.com/sirupsen/logrus=logrus github.com/rs/zerolog=zerolog
        github.com/prometheus/client_golang=prometheus go.opentelemetry.io/otel=opentelemetry
        github.com/aws/aws-sdk-go=aws-sdk github.com/aws/aws-sdk-go-v2=aws-sdk k8s.io/client-go=client-go
        github.com/hashicorp/consul/api=consul github.com/google/uuid=uuid github.com/golang-jwt/jwt=jwt
        entgo.io/ent=ent github.com/jmoiron/sqlx=sqlx github.com/charmbracelet/bubbletea=bubbletea
        github.com/elastic/go-elasticsearch=elasticsearch github.com/99designs/gqlgen=gqlgen""",
    "tool": """github.com/stretchr/testify=testify github.com/onsi/ginkgo=ginkgo github.com/onsi/gomega=gomega
        github.com/golang/mock=gomock go.uber.org/mock=gomock github.com/google/wire=wire
        github.com/golang-migrate/migrate=golang-migrate""",
}

_GEMS = {
    "framework": "rails sinatra hanami grape roda jekyll",
    "lib": """pg mysql2 sqlite3 mongoid redis sidekiq resque devise pundit cancancan activeadmin graphql faraday
        httparty nokogiri kaminari pagy dry-validation sequel elasticsearch aws-sdk-s3=aws-sdk stripe
        turbo-rails stimulus-rails hotwire-rails importmap-rails carrierwave shrine paper_trail""",
    "tool": """rspec rspec-rails=rspec minitest rubocop capybara factory_bot factory_bot_rails=factory_bot puma
        unicorn webpacker sorbet""",
}

# Which database a driver or mapper speaks to: a view over the same components.
DATABASES = {
    "postgresql": "pg psycopg psycopg2 asyncpg pgx pq tokio-postgres postgres",
    "mysql": "mysql mysql2 pymysql mysqlclient go-sql-driver-mysql",
    "sqlite": "sqlite3 better-sqlite3 rusqlite apsw aiosqlite go-sqlite3 modernc-sqlite",
    "mongodb": "mongodb mongoose pymongo motor mongo-driver mongoid",
    "redis": "redis ioredis go-redis",
    "elasticsearch": "elasticsearch",
    "duckdb": "duckdb",
}

_TABLES = {"npm": _NPM, "pypi": _PYPI, "cargo": _CARGO, "go": _GO, "gem": _GEMS}


@cache
def known(ecosystem: str) -> dict[str, str]:
    """From a package's name to its component id."""
    found = {}
    for group, names in _TABLES[ecosystem].items():
        for entry in names.split():
            package, _is, name = entry.partition("=")
            found[package] = f"{group}:{name or package}"
    return found


@cache
def database_of() -> dict[str, str]:
    """From a driver's component id to the database it speaks to."""
    return {f"lib:{driver}": name for name, drivers in DATABASES.items() for driver in drivers.split()}
