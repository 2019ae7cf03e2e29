"""Files that a trace wrote, and commands that would run one of them.

What a trace wrote is a stranger's text, and running it is running that text. A name without its
folders is enough for the same file: when in doubt, it is. What a command writes in other ways than
these (a program of its own, an archive) is not seen here, but most of them are asked about.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from prowess.experience.gate.destructive_options import SAFE_TARGET, UNKNOWN, operands
from prowess.experience.gate.tables import names

RUNS_WRITTEN = "it runs a file that this trace wrote"
_ALL_OPERANDS = names(
    "tee cp mv ln install rsync scp sponge patch split gunzip unxz dd rename curl wget ed ex "
    "truncate"
)
_OUTPUT_OPTIONS = names(
    "-o -O --output --output-document --output-file --out-file --outfile --outFile --out"
)
_DIRECT = names(
    "sh bash zsh dash ksh mksh ash fish python python3 py node perl ruby php lua Rscript java "
    "deno bun source . tsx ts-node pypy pypy3"
)
_TASKED = names("make gmake just task rake invoke nox tox ninja mvn gradle gradlew mvnw cmake")
_LOADS = names(
    "-c -f -r -p -I -t -C --config --config-file --rcfile --require --file --makefile --justfile "
    "--plugin --import --loader --init-script --bootstrap --env-file --taskfile --globalSetup "
    "--setupFiles --requirement --constraint --rc-file"
)
_COMPILED = (".rs", ".go", ".c", ".cc", ".cpp", ".cxx", ".zig", ".swift", ".java", ".kt", ".cs")
_NODE = names(
    "npm pnpm yarn bun npx node jest vitest mocha eslint prettier vite webpack next rollup esbuild "
    "nx turbo tsx ts-node stylelint markdownlint"
)
_PYTHON = names(
    "pytest py.test python python3 py tox nox uv poetry pip pip3 hatch pdm pipenv rye mypy pylint "
    "coverage invoke sphinx-build mkdocs pre-commit flake8 ruff black isort lint-imports"
)
# Which files decide what a program runs; each line is one kind of file.
_NODE_FILES = r"""package\.json | .*\.config\.[cm]?[jt]s | .*\.config\.json | .*\.setup\.[cm]?[jt]s
| \.(?:eslintrc|babelrc|mocharc|npmrc|prettierrc|yarnrc|huskyrc).* | \.husky
| gulpfile\..* | nx\.json | turbo\.json"""
_PYTHON_FILES = r"""conftest\.py | pytest\.ini | tox\.ini | setup\.(?:py|cfg) | pyproject\.toml
| noxfile\.py | tasks\.py | conf\.py | mkdocs\.yml | mypy\.ini | \.?pylintrc | \.coveragerc
| \.flake8 | \.pre-commit-config\.yaml | sitecustomize\.py | usercustomize\.py | .*\.pth"""
_BUILD_FILES = r"""cmakelists\.txt | .*\.cmake | cmakepresets\.json | .*\.ninja | meson\.build
| build(?:\.bazel)? | workspace | .*\.bzl"""
_OTHER_FILES = r"""mix\.exs | .*\.[cf]sproj | .*\.sln | package\.swift | composer\.json
| phpunit.*\.xml | deno\.jsonc? | directory\.build\..*"""
_CONFIGURED: tuple[tuple[frozenset[str], re.Pattern[str]], ...] = tuple(
    (programs, re.compile(pattern, re.VERBOSE))
    for programs, pattern in (
        (names("make gmake"), r"(?:gnu)?makefile | .*\.ma?k"),
        (_NODE, _NODE_FILES),
        (_PYTHON, _PYTHON_FILES),
        (names("cargo"), r"build\.rs | cargo\.toml | \.cargo"),
        (
            names("gradle gradlew mvn mvnw"),
            r".*\.gradle(?:\.kts)? | gradle.* | gradlew | mvnw | pom\.xml | \.mvn",
        ),
        (names("cmake ctest ninja meson bazel"), _BUILD_FILES),
        (
            names("rake bundle rspec"),
            r"rakefile | gemfile | .*\.rake | \.rspec | spec_helper\.rb | .*\.gemspec",
        ),
        (names("just task"), r"\.?justfile | taskfile\.ya?ml"),
        (
            names("docker podman docker-compose"),
            r"dockerfile.* | .*\.dockerfile | (?:docker-)?compose.*\.ya?ml",
        ),
        (names("mix dotnet swift composer phpunit deno"), _OTHER_FILES),
        (names("git gh pre-commit"), r"\.git(?:attributes|modules|config)? | \.husky"),
        (names("terraform helm kubectl"), r".*\.tf | \.terraformrc | \.kube"),
    )
)


def names_of(path: str) -> set[str]:
    """Return by what a file that was written is known again."""
    if SAFE_TARGET.match(path) or not path.strip("/"):
        return set()
    steps = [step.casefold() for step in path.rstrip("/").split("/")]
    hidden = {step for step in steps[:-1] if step.startswith(".") and step.strip(".")}
    return hidden | {UNKNOWN if UNKNOWN in steps[-1] else steps[-1]}


def written_names(name: str, args: Sequence[str]) -> set[str]:
    """Return the names of the files that a program writes, as far as its arguments tell."""
    paths: list[str] = []
    in_place = any(re.match(r"-[a-zA-Z]*i|--in-place", arg) for arg in args)
    if name in _ALL_OPERANDS or (name in ("sed", "gsed", "perl", "yq") and in_place):
        paths += [arg.removeprefix("of=") for arg in operands(args)]
    for at, arg in enumerate(args):
        option, _, value = arg.partition("=")
        if option in _OUTPUT_OPTIONS:
            paths += [value] if value else list(args[at + 1 : at + 2])
        elif re.match(r"-[oO].", arg):
            paths.append(arg[2:])
    if name == "git" and "clone" in args:
        paths += [arg.removesuffix("/").removesuffix(".git") for arg in operands(args)[-1:]]
    if name in ("patch", "unzip", "tar") or (name == "git" and {"apply", "am"} & set(args)):
        paths.append(UNKNOWN)
    return set[str]().union(*map(names_of, paths))


@dataclass(slots=True)
class Written:
    """The files that were written so far, and which programs they configure."""

    names: set[str] = field(default_factory=set)
    # Names without their endings, for what is run by such a name.
    stems: set[str] = field(default_factory=set)
    programs: set[str] = field(default_factory=set)
    # Whether the source of a program was written that is compiled before it runs.
    is_built: bool = False

    def add(self, found: Iterable[str]) -> None:
        """Take note of more names."""
        for name in found:
            if name in self.names:
                continue
            self.names.add(name)
            self.stems.add(name.rpartition(".")[0])
            self.is_built = self.is_built or name.endswith(_COMPILED)
            for programs, pattern in _CONFIGURED:
                if pattern.fullmatch(name):
                    self.programs |= programs

    def copy(self) -> "Written":
        """Return the same, to be added to by itself."""
        return Written(set(self.names), set(self.stems), set(self.programs), self.is_built)

    def is_run_by(self, args: Sequence[str]) -> bool:
        """Return whether a command line runs one of these files, or is configured by one."""
        if not self.names or not args:
            return False
        name = args[0].rpartition("/")[2]
        if "/" in args[0] and (self._is_among(args[0]) or self.is_built):
            return True
        is_script = name in _DIRECT and "-m" not in args
        if self._is_direct(name, operands(args[1:]), is_script=is_script):
            return True
        return not is_script and (name in self.programs or self._is_loaded(args[1:]))

    def _is_direct(self, name: str, given: Sequence[str], *, is_script: bool) -> bool:
        if is_script:
            at = int(name in ("deno", "bun") and given[:1] == ["run"])
            first = given[at : at + 1]
            by_stem = name == "java" and any(path.casefold() in self.stems for path in first)
            return by_stem or any(map(self._is_among, first))
        if name in _TASKED:
            return any(map(self._is_named, given))
        is_run = name in ("go", "cargo", "dotnet", "swift") and given[:1] in (["run"], ["r"])
        return is_run and self.is_built

    def _is_loaded(self, args: Sequence[str]) -> bool:
        """Return whether an option that names a file to load names one of these."""
        for at, arg in enumerate(args):
            option, _, value = arg.partition("=")
            if option in _LOADS:
                values = [value] if value else list(args[at + 1 : at + 2])
            else:
                values = [arg[2:]] if arg[:2] in _LOADS and len(arg) > len("-f") else []
            if any(map(self._is_named, values)):
                return True
        return False

    def _is_among(self, path: str) -> bool:
        """Return whether a path leads to one of these, or through a folder of that name."""
        steps = path.casefold().split("/")
        return UNKNOWN in self.names or any(step in self.names for step in steps if step.strip("."))

    def _is_named(self, path: str) -> bool:
        return path.casefold().rpartition("/")[2] in self.names
