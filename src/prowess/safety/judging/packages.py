"""Names made to be taken for other names: of trusted skills, and of packages that everybody uses.

A name that is itself trusted, or a real package that happens to be near another one, is never
called a look-alike: what is the same is a matter of precedence, not of deceit.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from prowess.safety.intake.confusables import loose

# Longer names are never compared: no trusted name comes near, and a hostile one costs nothing.
_MAX_NAME = 100
# Below this many letters, one letter of difference is another word.
_MIN_LETTERS = 5
# From here on, two slips are looked for, if one of them swaps neighbours.
_LONG_NAME, _LONG_SLIPS = 9, 2
_SEPARATORS = re.compile(r"[\W_]+")
_DIGITS = re.compile("[0-9]+")
_LEET = str.maketrans("01345789|!$@", "oleastbgllsa")
# Letters and pairs that look alike in many fonts; both names go through it.
_SAME_SHAPE = str.maketrans("i", "l")
_SAME_PAIRS = (("rn", "m"), ("vv", "w"))
# Control, format, surrogate, private, unassigned; variation selectors are marks and go later.
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn"))


class Likeness(StrEnum):
    """How a name resembles a trusted one."""

    UNSEEN = "unseen"
    CASE = "case"
    LETTERS = "letters"
    SEPARATORS = "separators"
    DIGITS = "digits"
    SLIP = "slip"

    @property
    def sentence(self) -> str:
        """What was done to the name, in words."""
        return _SENTENCES[self]


_SENTENCES = {
    Likeness.UNSEEN: "the same but for characters that cannot be seen",
    Likeness.CASE: "the same but for capital letters or the form of letters",
    Likeness.LETTERS: "the same but for letters of other alphabets",
    Likeness.SEPARATORS: "the same but for its separators",
    Likeness.DIGITS: "the same but for digits or shapes that look like letters",
    Likeness.SLIP: "a slip of the finger away",
}


@dataclass(frozen=True, slots=True)
class Lookalike:
    """A trusted name that another name could be taken for."""

    name: str
    trusted: str
    how: Likeness

    @property
    def message(self) -> str:
        """Say which name is meant and how it is imitated."""
        return f'"{self.trusted}" is a trusted name, and this one is {self.how.sentence}.'


def normal_name(name: str) -> str:
    """Return the name as a reader takes it: plain lower-case letters, one dash between words."""
    return _SEPARATORS.sub("-", _latin(_folded(_visible(name)))).strip("-")


def lookalike(name: str, trusted: Collection[str]) -> Lookalike | None:
    """Return the trusted name that `name` could be taken for, and how; None where it is one."""
    if name in trusted or len(name) > _MAX_NAME:
        return None
    for (how, reduced), *others in zip(
        _reductions(name), *(_reductions(other) for other in trusted), strict=True
    ):
        for other, (_, against) in zip(trusted, others, strict=True):
            if reduced and reduced == against:
                return Lookalike(name, other, how)
    joined = _joined(name)
    for other in trusted:
        if _is_slip(joined, _joined(other)):
            return Lookalike(name, other, Likeness.SLIP)
    return None


@lru_cache(maxsize=1024)
def _reductions(name: str) -> tuple[tuple[Likeness, str], ...]:
    """Return the name with one more disguise taken off each time; the order is that of blame."""
    visible = _visible(name)
    folded = _folded(visible)
    latin = _latin(folded)
    joined = _SEPARATORS.sub("", latin)
    return (
        (Likeness.UNSEEN, visible),
        (Likeness.CASE, folded),
        (Likeness.LETTERS, latin),
        (Likeness.SEPARATORS, joined),
        (Likeness.DIGITS, _shaped(joined)),
    )


def _joined(name: str) -> str:
    return _SEPARATORS.sub("", _latin(_folded(_visible(name))))


def _shaped(joined: str) -> str:
    text = joined.translate(_LEET).translate(_SAME_SHAPE)
    if len(text) >= _MIN_LETTERS:
        for pair, letter in _SAME_PAIRS:
            text = text.replace(pair, letter)
    return text


def _visible(name: str) -> str:
    if name.isascii() and name.isprintable():
        return name.strip()
    kept = (char for char in name if unicodedata.category(char) not in _UNSEEN)
    return "".join(kept).strip()


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    whole = unicodedata.normalize("NFKC", text).casefold()
    marked = unicodedata.normalize("NFD", whole)
    return "".join(char for char in marked if not unicodedata.category(char).startswith("M"))


def _latin(text: str) -> str:
    """Write each letter of another alphabet as the Latin one that it looks like."""
    if text.isascii():
        return text
    table = loose()
    return "".join(table.get(char, char) for char in text).lower()


def _is_slip(one: str, other: str) -> bool:
    """Return whether one letter was changed, dropped, doubled or swapped with its neighbour."""
    shorter, longer = sorted((len(one), len(other)))
    if shorter < _MIN_LETTERS or longer - shorter > _LONG_SLIPS:
        return False
    # Another number is another version.
    if _DIGITS.sub("0", one).rstrip("0") == _DIGITS.sub("0", other).rstrip("0"):
        return False
    distance = _distance(one, other, swaps=True)
    if distance <= 1:
        return True
    if distance > _LONG_SLIPS or shorter < _LONG_NAME:
        return False
    return _distance(one, other, swaps=False) > distance


def _distance(one: str, other: str, *, swaps: bool) -> int:
    """Return how many letters were changed, dropped or added, or neighbours swapped."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, char in enumerate(one, start=1):
        now = [row]
        for column, against in enumerate(other, start=1):
            cost = min(last[column] + 1, now[column - 1] + 1, last[column - 1] + (char != against))
            if swaps and before and column > 1 and char != against:
                swapped = one[row - 2] == against and other[column - 2] == char
                cost = min(cost, before[column - 2] + 1) if swapped else cost
            now.append(cost)
        before, last = last, now
    return last[-1]


@dataclass(frozen=True, slots=True)
class _Registry:
    """The names of one registry, and what each looks like with letters left out."""

    npm: bool
    # Popular ones, and real ones that are near a popular one.
    real: frozenset[str]
    scopes: frozenset[str]
    by_shape: Mapping[str, str]
    by_gap: Mapping[str, tuple[str, ...]]
    longest: int

    def near(self, name: str) -> str | None:
        """Return the popular package that `name` is made like."""
        joined = _joined(name)
        found = self.by_shape.get(_shaped(joined))
        if found is not None:
            return found
        if len(joined) > self.longest + _LONG_SLIPS:
            return None
        # Two names that differ by a slip are the same once each has lost a letter: so a lookup
        # for each letter replaces a comparison with each package.
        for gap in _gaps(joined):
            for other in self.by_gap.get(gap, ()):
                if _is_slip(joined, _joined(other)):
                    return other
        return None


def package_lookalike(name: str, manager: str) -> str | None:
    """Return the popular package that a dependency could be taken for; None for a real one."""
    npm = manager.lower() in _NPM_MANAGERS
    if not npm and manager.lower() not in _PIP_MANAGERS:
        return None
    bare, known = _package(name, npm=npm), _registry(npm=npm)
    if len(bare) > _MAX_NAME:
        return None
    if npm and bare.startswith("@"):
        scope = bare[1:].partition("/")[0]
        # A scope belongs to its owner: below it, any name is theirs.
        near = None if scope in known.scopes else lookalike(scope, known.scopes)
        return f"@{near.trusted}" if near else None
    return None if bare in known.real else known.near(bare)


def _package(name: str, *, npm: bool) -> str:
    """Return the bare name of a dependency as written: no version, no extras."""
    text = name.strip().lower()
    if npm:
        at = text.find("@", 1)
        return text[:at] if at > 0 else text
    return _PIP_SEPARATORS.sub("-", _PIP_END.split(text, maxsplit=1)[0].strip())


def _gaps(joined: str) -> set[str]:
    """Return the name, and all that is left where one letter is dropped; two from a long one."""
    gaps = {joined, *_dropped(joined)}
    if len(joined) >= _LONG_NAME:
        gaps.update(twice for once in tuple(gaps) for twice in _dropped(once))
    return gaps


def _dropped(text: str) -> Iterator[str]:
    return (text[:index] + text[index + 1 :] for index in range(len(text)))


@lru_cache(maxsize=2)
def _registry(*, npm: bool) -> _Registry:
    popular = (_NPM if npm else _PYPI).split()
    shapes: dict[str, str] = {}
    gaps: dict[str, list[str]] = {}
    for name in popular:
        joined = _joined(name)
        shapes.setdefault(_shaped(joined), name)
        if len(joined) >= _MIN_LETTERS:
            for gap in _gaps(joined):
                gaps.setdefault(gap, []).append(name)
    return _Registry(
        npm=npm,
        real=frozenset((*popular, *(_NPM_REAL if npm else _PYPI_REAL).split())),
        scopes=frozenset(_NPM_SCOPES.split() if npm else ()),
        by_shape=shapes,
        by_gap={gap: tuple(names) for gap, names in gaps.items()},
        longest=max(map(len, gaps)),
    )


_PIP_MANAGERS = frozenset(
    ("pip", "pip3", "pipx", "pipenv", "uv", "uvx", "poetry", "pdm", "rye", "hatch", "pypi")
)
_NPM_MANAGERS = frozenset(("npm", "npx", "yarn", "pnpm", "pnpx", "bun", "bunx"))
_PIP_SEPARATORS = re.compile(r"[-_.]+")
_PIP_END = re.compile(r"[\[\]=<>!~;@,( ]")

# What nearly everybody installs, so what is worth imitating.
_PYPI = """
requests urllib3 boto3 botocore setuptools certifi idna charset-normalizer python-dateutil six wheel
numpy pandas scipy scikit-learn matplotlib seaborn plotly pillow opencv-python torch torchvision
torchaudio tensorflow keras transformers tokenizers datasets accelerate diffusers huggingface-hub
sentence-transformers langchain langchain-core langchain-community langchain-openai langgraph
llama-index openai anthropic google-generativeai google-genai google-cloud-storage google-auth
google-api-python-client tiktoken chromadb pinecone-client faiss-cpu fastapi uvicorn gunicorn
starlette flask django djangorestframework jinja2 markupsafe werkzeug click typer rich tqdm colorama
termcolor pydantic pydantic-core sqlalchemy alembic psycopg2 psycopg2-binary asyncpg pymysql
mysqlclient redis pymongo celery kombu aiohttp httpx httpcore websockets websocket-client paramiko
fabric cryptography pycryptodome pyjwt bcrypt passlib pyyaml toml tomli tomlkit lxml beautifulsoup4
html5lib selenium playwright scrapy pytest pytest-cov pytest-asyncio pytest-mock coverage tox nox
virtualenv pipenv poetry black flake8 ruff mypy isort pylint pre-commit hypothesis sphinx mkdocs
mkdocs-material jupyter jupyterlab notebook ipython ipykernel nbconvert streamlit gradio dash bokeh
altair openpyxl xlsxwriter python-docx python-pptx pypdf pypdf2 pdfplumber pymupdf reportlab
python-dotenv python-telegram-bot discord-py slack-sdk tweepy stripe twilio sendgrid pygithub
gitpython awscli azure-identity azure-storage-blob kubernetes docker ansible protobuf grpcio attrs
marshmallow jsonschema orjson ujson simplejson packaging typing-extensions filelock platformdirs
psutil watchdog loguru structlog sentry-sdk prometheus-client opentelemetry-api tenacity cachetools
nltk spacy gensim networkx sympy statsmodels xgboost lightgbm catboost pyarrow polars duckdb numba
cython markdown tabulate feedparser yt-dlp pydub moviepy ffmpeg-python imageio openai-whisper
soundfile librosa fastmcp web3 eth-account yfinance solana python-multipart python-jose
"""

# Honest packages that stand near one of the above.
_PYPI_REAL = """
request grequests boto colors colours colour psycopg pypdf3 pypdf4 cattrs attr websocket
dataset tokenizer transformer fastai scapy simpy pymssql ngboost openapi scrypt unicorn pyaml
httpie jinja markdown2 fabric2 fabric3 pyenv bpython usort djongo solara docket panda aredis torchx
rjson hjson strip stride beautifulsoup slack pydot tables typed faiss-gpu
"""

_NPM = """
react react-dom react-router react-router-dom react-native next vue nuxt svelte angular preact
solid-js express koa fastify lodash underscore ramda axios node-fetch got request superagent
cross-fetch moment dayjs date-fns luxon chalk colors commander yargs inquirer minimist dotenv
cross-env rimraf mkdirp glob fs-extra chokidar nodemon pm2 concurrently typescript ts-node tsx
esbuild webpack webpack-cli rollup vite vitest parcel babel-core babel-loader eslint prettier jest
mocha chai sinon jasmine cypress playwright puppeteer puppeteer-core selenium-webdriver cheerio
jsdom tailwindcss postcss autoprefixer sass styled-components bootstrap jquery three chart.js
echarts leaflet redux react-redux redux-thunk zustand mobx immer rxjs zod yup joi ajv uuid nanoid
mongoose mongodb mysql mysql2 sqlite3 better-sqlite3 redis ioredis sequelize typeorm prisma knex
graphql apollo-server socket.io socket.io-client body-parser cors helmet morgan multer passport
jsonwebtoken bcrypt bcryptjs crypto-js express-session cookie-parser nodemailer openai langchain
winston pino debug semver async bluebird classnames prop-types framer-motion lucide-react
react-hook-form react-query i18next react-icons formik electron electron-builder ethers web3
discord.js telegraf aws-sdk firebase firebase-admin stripe twilio sharp jimp marked markdown-it
highlight.js prismjs handlebars mustache nunjucks form-data path-to-regexp validator xml2js
fast-xml-parser csv-parse papaparse xlsx exceljs pdf-lib pdfkit pdf-parse mammoth archiver adm-zip
execa shelljs cross-spawn husky lint-staged http-server live-server vercel netlify-cli
firebase-tools wrangler turbo lerna storybook core-js regenerator-runtime tslib pptxgenjs
event-stream ua-parser-js
"""

_NPM_REAL = """
requests color colour colours nest tslint jslint jshint enquirer rambda jsdoc telegram sqlite
globals event scrypt cryptojs socketio chartjs highlightjs discordjs dotenvx dot-env query reactn
reflux server serverless expressjs moustache mongod mongojs momento classname validate archive
immerse market masked stripes strip ether async-es three.js threejs angularjs corejs vuejs parse
parser turf tslog react-dnd csv-parser prism
"""

_NPM_SCOPES = """
babel types angular vue nestjs aws-sdk google-cloud anthropic-ai modelcontextprotocol playwright
typescript-eslint emotion tanstack reduxjs testing-library sveltejs vercel supabase sentry octokit
prisma apollo graphql-tools storybook radix-ui headlessui react-native react-navigation langchain
azure microsoft openai huggingface stripe fortawesome tailwindcss mantine chakra-ui astrojs rollup
remix-run swc esbuild parcel cloudflare shopify discordjs slack firebase ionic capacitor expo nuxt
"""
