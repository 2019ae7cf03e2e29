"""Names in Python code: other spellings of the same thing, and modules that everyone knows."""

import sys

from prowess.safety.languages.python.values import words

_ALIASES = {
    "posix": "os",
    "nt": "os",
    "builtins": "",
    "__builtins__": "",
    "__builtin__": "",
    "cPickle": "pickle",
    "_pickle": "pickle",
    "urllib2": "urllib.request",
    "httplib": "http.client",
    "commands": "subprocess",
    "_posixsubprocess": "subprocess",
    "_socket": "socket",
    "subprocess32": "subprocess",
    "pathlib2": "pathlib",
    "simplejson": "json",
    "ujson": "json",
    "orjson": "json",
}
_EXACT = {
    "io.open": "open",
    "os.popen2": "os.popen",
    "os.popen3": "os.popen",
    "os.popen4": "os.popen",
    "urllib.urlopen": "urllib.request.urlopen",
    "urllib.urlretrieve": "urllib.request.urlretrieve",
    "pathlib.PosixPath": "pathlib.Path",
    "pathlib.WindowsPath": "pathlib.Path",
    "pathlib.PurePath": "pathlib.Path",
    "pathlib.PurePosixPath": "pathlib.Path",
    "requests.session": "requests.Session",
    "requests.sessions.Session": "requests.Session",
    "requests.api": "requests",
    "os.environb": "os.environ",
    "asyncio.subprocess.create_subprocess_shell": "asyncio.create_subprocess_shell",
    "os.path.expandvars": "os.path.expanduser",
}

_KNOWN = words(
    """
    aiofiles aiohttp airflow alembic altair anthropic anyio arrow asyncpg attr attrs azure
    bandit beautifulsoup4 black bokeh boto boto3 botocore browser_cookie3 bs4 cachetools celery
    certifi cffi chardet charset_normalizer chromadb click cloudpickle cohere colorama crewai
    crontab cryptography curl_cffi cv2 cython dash dask dateutil dbt diffusers dill discord
    discord_webhook django dns docker docx docx2txt dotenv dropbox duckdb einops elasticsearch
    evaluate faiss fastapi fastmcp feedparser ffmpeg fire fitz flask folium git gensim github
    gitlab google googleapiclient google_auth_oauthlib gradio groq grpc gspread h5py httplib2
    httpx huggingface_hub hypothesis imageio ipywidgets isort jax jinja2 joblib jose jsonpickle
    jsonschema jupyter jwt keras keyboard keyring kubernetes langchain langchain_community
    langchain_core langchain_openai langgraph lightgbm litellm llama_index loguru lxml magic
    markdown markdown_it marshmallow matplotlib mcp mcp_server mistralai moto motor moviepy
    mpmath msgpack mss mutagen mypy mysql neo4j networkx niquests nltk notion_client np numba
    numexpr numpy nbformat oauthlib odf ollama onnx onnxruntime openai openpyxl opentelemetry
    orjson packaging pandas paramiko passlib pdf2image pdfminer pdfplumber peft PIL pika pikepdf
    pinecone pip pkg_resources platformdirs playwright plotly plyer polars pptx prefect
    prometheus_client psutil psycopg psycopg2 pyarrow pyaudio pyautogui pycurl pydantic
    pydantic_settings pydub pygments pyinotify pylint pymongo pymysql pynput pypdf PyPDF2
    pyperclip pyscreenshot pyspark pytesseract pytest pytz pywin32 qdrant_client ray redis regex
    replicate reportlab requests requests_toolbelt rich ruamel ruff s3fs safetensors scapy
    schedule scipy scrapy seaborn selenium send2trash sentence_transformers sentry_sdk serial
    setuptools shapely simplejson six skimage sklearn slack_bolt slack_sdk snowflake socketio
    socks spacy sqlalchemy sqlmodel starlette statsmodels streamlit stripe structlog supabase
    sympy tabulate telebot telegram telethon tenacity tensorflow tiktoken tokenizers toml tomli
    tomli_w tomlkit torch torchvision tornado tox tqdm transformers trafilatura treq trio trl
    tweepy twilio typer typing_extensions tzlocal ujson unsloth urllib3 uvicorn uvloop vllm
    wandb watchdog watchfiles weasyprint websocket websockets werkzeug wget win32api
    win32clipboard win32con win32crypt win32gui wikipedia xgboost xlrd xlsxwriter xlwings yaml
    youtube_transcript_api yt_dlp zeep zmq zstandard
    """
)

# Modules that fragments use without importing them.
_BARE = words(
    """
    os sys subprocess requests httpx aiohttp socket base64 codecs binascii zlib gzip bz2 lzma
    pickle marshal shutil json urllib http smtplib ftplib ctypes pty platform getpass uuid
    importlib pathlib glob tempfile paramiko boto3 keyring pyperclip yaml torch joblib winreg
    ssl runpy code types builtins __builtins__ asyncio threading functools zipfile tarfile
    sqlite3 stat shlex pexpect
    """
)

# What computed access to these modules or functions reaches is worth a fact.
_DANGEROUS = words(
    """
    os subprocess socket ctypes pty builtins marshal pickle runpy code commands posix nt
    """
)
_DANGEROUS_NAMES = words(
    """
    eval exec compile __import__ system popen Popen spawn execv execve execl execvp getoutput
    check_output check_call call run getstatusoutput fork environ dup2 loads import_module
    """
)


def canonical(name: str) -> str:
    """Return the usual spelling of a dotted name."""
    if name in _EXACT:
        return _EXACT[name]
    root, dot, rest = name.partition(".")
    if root in _ALIASES:
        better = _ALIASES[root]
        return better + dot + rest if better else rest or "builtins"
    return name.removeprefix("six.moves.")


def is_known_module(name: str) -> bool:
    """Whether a module belongs to the language or to a well-known package."""
    root = name.partition(".")[0]
    return root in sys.stdlib_module_names or root in _KNOWN


def is_bare_module(name: str) -> bool:
    """Whether an undefined name most likely means the module of that name."""
    return name in _BARE


def is_dangerous_module(name: str) -> bool:
    """Whether a module or anything in it starts code, processes or connections."""
    return name.partition(".")[0] in _DANGEROUS


def is_dangerous(name: str) -> bool:
    """Whether a dotted name starts code, processes or connections."""
    root, _, rest = name.partition(".")
    last = rest.rpartition(".")[2]
    if not rest:
        return is_dangerous_module(root) or root in {"eval", "exec", "compile", "__import__"}
    return root in _DANGEROUS and (last in _DANGEROUS_NAMES or last.startswith(("exec", "spawn")))
