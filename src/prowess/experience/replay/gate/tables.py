"""Which programs leave things as they are, and which do not: the lists, and nothing else.

A program that is in none of these lists counts as one of which nothing is known, which needs a
confirmation. So a name that is missing costs a question; a name that is wrongly in `HARMLESS` costs
somebody's files. What a program of `HARMLESS` is told does not matter.

Arguments of a program: options, what is left of them, and what a name or a target tells.

An argument is what the shell would pass on; a part that only the shell knows is `UNKNOWN`. Long
options count when they are cut short, since most programs take them so.

Where a command writes: files whose very name, or whose folder, decides how a machine behaves.

The folder in which a trace ran is a stranger's word like any other. So a path is judged together
with that folder and with every folder that a command went to: a harmless name in a folder of keys
is a key.

Files that a trace wrote, and commands that would run one of them.

What a trace wrote is a stranger's text, and running it is running that text. A name without its
folders is enough for the same file: when in doubt, it is. What a command writes in other ways than
these (a program of its own, an archive) is not seen here, but most of them are asked about.
"""

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType


def names(text: str) -> frozenset[str]:
    """Return the words of a text: a list of names that can be read at a glance."""
    return frozenset(text.split())


HARMLESS = names(
    "ls cat head tail wc grep egrep fgrep zgrep zcat eza exa stat du df diff cmp comm cut "
    "tr paste join nl rev tac fold column expand unexpand fmt jq basename dirname realpath "
    "readlink pwd id whoami groups uname ps uptime free lsof pgrep pidof md5sum sha1sum "
    "sha256sum sha512sum shasum md5 cksum sum strings od hexdump seq "
    "cal printenv locale nproc arch tput which whereis "
    "mkdir touch sleep true false yes bc expr numfmt mktemp tty cd pushd popd dirs echo "
    "exit return shift break continue type times umask ulimit lsblk "
    "lscpu lspci vmstat iostat netstat getprop input sw_vers lsb_release"
)
# Programs that look at code, compile or test it, and change none of it unless an option says so.
CHECKERS = names(
    "mypy pyright ruff flake8 pylint tsc eslint prettier jest vitest mocha gofmt goimports javac "
    "ctest rspec phpunit shellcheck yamllint markdownlint codespell bandit lint-imports hadolint "
    "tokei cloc scc black isort rustfmt stylelint"
)
# Those of them that rewrite files unless they are told only to look.
FORMATTERS = names("black isort rustfmt")
# Parts of the shell. What looks like code in their arguments may be run by them.
BUILTINS = names(
    "test [ [[ : printf read unset export local readonly declare typeset set shopt let wait "
    "getopts jobs"
)
# Programs that run tasks which have names: the names tell.
TASK_RUNNERS = names(
    "make gmake just task rake mvn gradle gradlew mvnw ninja meson bazel nx turbo tox nox mix "
    "dotnet swift vite webpack next rollup esbuild coverage pre-commit invoke composer bundle "
    "sphinx-build mkdocs hatch"
)

_DELETES, _DISKS = "it deletes files", "it writes to disks"
_RIGHTS, _AWAY = "it runs with more rights", "it reaches another machine"
_ENDS, _SYSTEM = "it ends programs", "it changes the system"
_BY_REASON = {
    _DELETES: "rm rmdir unlink shred srm wipe trash trash-put",
    "it moves files and may overwrite others": "mv rename install",
    _DISKS: "dd mkfs fdisk sfdisk parted wipefs mkswap blkdiscard badblocks hdparm diskutil",
    _RIGHTS: "sudo doas su pkexec runuser gosu chroot nsenter unshare",
    _ENDS: "kill pkill killall xkill skill fuser",
    "it stops or restarts the machine": "shutdown reboot halt poweroff init telinit",
    _AWAY: "ssh scp sftp rsync nc ncat netcat telnet ftp socat mosh rclone",
    "it runs a text as a command": "eval trap alias coproc mapfile readarray",
    "it changes who may use files": "chown chgrp setfacl chattr xattr",
    "it cuts a file": "truncate fallocate",
    _SYSTEM: "crontab at batch iptables nft ufw mount umount useradd userdel usermod groupadd "
    "passwd chpasswd visudo sysctl modprobe insmod rmmod launchctl service defaults csrutil "
    "setenforce timedatectl hostnamectl ifconfig ip route setprop svc",
    "it changes a database": "dropdb createdb redis-cli mongo mongosh mongorestore pg_restore "
    "cqlsh influx alembic flyway liquibase prisma",
    "it publishes something": "twine vercel netlify firebase fly flyctl heroku wrangler surge",
    "it changes what runs elsewhere": "aws gcloud az ansible ansible-playbook pulumi eksctl doctl",
    "it changes files in a way that is not shown": "patch ed ex vi vim nano emacs sponge split "
    "csplit gzip gunzip bzip2 xz zip rar 7z",
    "it reaches a device": "adb fastboot",
}
BAD: Mapping[str, str] = MappingProxyType(
    {name: reason for reason, names in _BY_REASON.items() for name in names.split()}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A program whose first words say what it does."""

    # What only looks, builds or tests: one word, or two.
    fine: frozenset[str]
    reason: str
    # Options before those words that take a value, and those that do not.
    valued: frozenset[str] = frozenset()
    plain: frozenset[str] = frozenset()
    # Options anywhere that make it something else.
    bad: frozenset[str] = frozenset()


def _tool(fine: str, reason: str, *, valued: str = "", plain: str = "", bad: str = "") -> Tool:
    return Tool(
        fine=frozenset(word.replace("+", " ") for word in fine.split()),
        reason=reason,
        valued=frozenset(valued.split()),
        plain=frozenset([*plain.split(), "--version", "--help", "-h"]),
        bad=frozenset(bad.split()),
    )


_SCRIPTS = (
    "test t run run-script install i ci ls list view info outdated audit why explain pack root "
    "prefix bin start build lint dev typecheck check format config+get config+list add"
)
_CONTAINERS = (
    "ps images logs inspect version info port top stats diff history search pull build "
    + " ".join(
        f"{noun}+{verb}"
        for noun in ("compose", "container", "image", "network", "volume", "context", "system")
        for verb in ("ps", "ls", "list", "logs", "config", "inspect", "images", "top", "port",
                     "version", "df", "build", "pull", "show")
    )
)  # fmt: skip
_PACKAGES = "it installs or removes packages"
_NODE = _tool(
    _SCRIPTS,
    _PACKAGES,
    valued="--prefix --filter -F --dir -C --cwd -w --workspace",
    plain="-s --silent -r --recursive --if-present",
    bad="-g --global --location --script-shell --node-options --userconfig --globalconfig",
)
_DOCKER = _tool(
    _CONTAINERS,
    "it changes containers or what belongs to them",
    valued="-H --host --context -c --log-level -f --file -p --project-name --profile",
    bad="-o --output --iidfile --metadata-file",
)
TOOLS: Mapping[str, Tool] = MappingProxyType(
    {
        "git": _tool(
            "status diff log show blame grep ls-files ls-tree ls-remote rev-parse rev-list "
            "describe shortlog cat-file name-rev merge-base for-each-ref show-ref symbolic-ref "
            "count-objects check-ignore check-attr whatchanged var version help add commit fetch "
            "init clone branch tag switch checkout remote stash+list stash+show config reflog "
            "worktree+list submodule+status notes+list bisect+log diff-tree diff-index "
            "diff-files cherry range-diff verify-commit verify-tag",
            "it changes the repository or another",
            valued="-C --git-dir --work-tree --namespace",
            plain="--no-pager -P --no-optional-locks --literal-pathspecs --bare",
            bad="--output --amend --force --hard --delete --upload-pack --exec --ext-diff "
            "--open-files-in-pager -O --prune --discard-changes --receive-pack --fixup --squash "
            "--template --move --copy --config --orphan",
        ),
        "docker": _DOCKER,
        "podman": _DOCKER,
        "docker-compose": _tool(
            "ps ls logs config images top port version build pull",
            "it changes containers or what belongs to them",
            valued="-f --file -p --project-name --profile",
        ),
        "kubectl": _tool(
            "get describe logs version explain top api-resources api-versions cluster-info diff "
            "config+view config+current-context config+get-contexts auth+can-i rollout+status "
            "rollout+history",
            "it changes what runs in a cluster",
            valued="-n --namespace --context --kubeconfig --cluster -s --server",
        ),
        "helm": _tool(
            "list ls status get template lint show search history version env repo+list "
            "dependency+list",
            "it changes what runs in a cluster",
            valued="-n --namespace --kube-context --kubeconfig",
            bad="--post-renderer --output-dir",
        ),
        "terraform": _tool(
            "plan validate fmt show output init version providers graph state+list state+show "
            "workspace+list workspace+show",
            "it changes what runs elsewhere",
            bad="-destroy -migrate-state -force-copy -out",
        ),
        "gh": _tool(
            "pr+view pr+list pr+status pr+diff pr+checks issue+view issue+list issue+status "
            "run+list run+view run+watch repo+view repo+list release+list release+view "
            "auth+status workflow+list workflow+view search+prs search+issues search+code "
            "search+repos",
            "it changes something on GitHub",
            valued="-R --repo",
        ),
        "npm": _NODE,
        "pnpm": _NODE,
        "yarn": _NODE,
        "bun": _NODE,
        "pip": _tool(
            "install list show freeze check index debug inspect wheel download help",
            _PACKAGES,
            plain="-q --quiet -v --verbose --isolated",
            bad="--break-system-packages --force-reinstall --target -t --prefix --root --src "
            "--python --log --report",
        ),
        "cargo": _tool(
            "build b check c test t run r clippy fmt doc bench tree metadata search add update "
            "fetch version nextest locate-project",
            "it publishes, installs or deletes",
            valued="-C --color",
            plain="-q --quiet -v --verbose --locked --offline --frozen",
            bad="--config --fix --target-dir --out-dir --artifact-dir",
        ),
        "go": _tool(
            "build test vet fmt run list version doc env get install mod+tidy mod+download "
            "mod+graph mod+why mod+verify mod+init",
            "it changes or deletes files of Go",
            bad="-exec -toolexec -w -u -modfile -vettool",
        ),
        "poetry": _tool(
            "install show check lock add build version env+info env+list about config+--list",
            _PACKAGES,
            plain="-q --quiet -v --no-interaction -n",
        ),
        "uv": _tool(
            "sync lock add tree venv version export build pip+install pip+list pip+show pip+freeze "
            "pip+check",
            "it publishes, removes or runs something",
            plain="-q --quiet -v --verbose --offline",
            bad="--break-system-packages --force-reinstall --target -t --prefix --clear -o "
            "--output-file --out-dir --script",
        ),
        "systemctl": _tool(
            "status is-active is-enabled is-failed list-units list-unit-files list-timers show cat",
            "it changes services",
            plain="--user --no-pager --system",
        ),
        "brew": _tool("list info search outdated config doctor deps", _PACKAGES),
        "apt": _tool("list search show policy", _PACKAGES, bad="-o -c --option --config-file"),
        "apt-cache": _tool("search show policy depends rdepends", _PACKAGES, bad="-o -c"),
        "deno": _tool(
            "test check lint fmt info",
            "it runs code of others",
            bad="-A --allow-all --allow-run --allow-write --allow-ffi --fix",
        ),
        # What a phone has.
        "am": _tool("start start-activity get-config", "it starts or ends programs", bad="-S"),
        "pm": _tool(
            "list path dump get-install-location resolve-activity query-activities has-feature",
            "it changes programs of the device or deletes what they keep",
        ),
        "settings": _tool("get list", "it changes settings of the device", valued="--user"),
        "content": _tool("query read", "it changes what programs of the device keep"),
        "uiautomator": _tool("dump", "it runs code of others"),
        "ime": _tool("list", "it changes the keyboard of the device"),
        "cmd": _tool(
            "package+list package+resolve-activity clipboard+get statusbar+expand-notifications "
            "statusbar+expand-settings statusbar+collapse",
            "it changes the device",
        ),
    }
)


# Stands for what only the shell knows when it runs: a variable, the output of a command.
UNKNOWN = "\0"
_TELLING_WORDS = names(
    "deploy publish release delete destroy drop wipe purge clean clear reset uninstall remove rm "
    "prune push upload flush truncate kill nuke rollback migrate migration teardown prod "
    "production force dlx global erase format overwrite unpublish distclean mrproper"
)
_WORDS = re.compile(r"[a-z]+")
SAFE_TARGET = re.compile(r"/dev/(?:null|stdout|stderr|tty|fd/[0-9]+)\Z")
_SHORTEST_CUT = 4


def by_words(args: Sequence[str], what: str) -> str:
    """Judge a task or a script by what its name and its arguments say."""
    for arg in args:
        words = _WORDS.findall(arg.casefold())
        told = next((word for word in words if word in _TELLING_WORDS), "")
        if told:
            return f"{what} is told to {told}"
        if UNKNOWN in arg and not arg.startswith("-"):
            return f"what {what} is told is only known when it runs"
    return ""


def has_option(args: Sequence[str], long: Sequence[str] = (), short: str = "") -> bool:
    """Return whether an option is given, also cut short or among other letters."""
    for arg in args:
        name = arg.partition("=")[0]
        if arg.startswith("--"):
            if name[1:] in long or any(_is_cut(name, wanted) for wanted in long):
                return True
        elif arg.startswith("-") and (name in long or any(letter in arg[1:] for letter in short)):
            return True
    return False


def _is_cut(given: str, whole: str) -> bool:
    return given == whole or (len(given) >= _SHORTEST_CUT and whole.startswith(given))


def operands(args: Sequence[str], valued: Sequence[str] = ()) -> list[str]:
    """Return the arguments that are no options, without the values of those in `valued`."""
    found: list[str] = []
    at = 0
    while at < len(args):
        if args[at] == "--":
            return [*found, *args[at + 1 :]]
        if not args[at].startswith("-") or args[at] == "-":
            found.append(args[at])
        at += 2 if args[at] in valued else 1
    return found


def overwrites(path: str) -> str:
    """Return why writing to a path needs a confirmation."""
    return "" if SAFE_TARGET.match(path) else f"it overwrites {_named(path)}"


def appends(path: str) -> str:
    """Return why adding to a file needs a confirmation: outside the folder, or a hidden file."""
    is_near = re.fullmatch(r"[\w][\w./ -]*", path) and "/." not in path and ".." not in path
    return "" if is_near or SAFE_TARGET.match(path) else f"it adds to {_named(path)}"


def _named(path: str) -> str:
    return "a file that is only known when it runs" if UNKNOWN in path or not path else path


_PLACES_SYSTEM = names(
    "bin boot dev etc lib lib32 lib64 Library opt proc run sbin sys System usr var private"
)
_TEMPORARY = re.compile(r"(?:/private)?/(?:var/(?:folders|tmp)/|tmp/)")
_FOLDERS = names(
    "autostart launchagents launchdaemons startup systemd cron cron.d cron.daily cron.hourly "
    "cron.weekly cron.monthly crontabs sudoers.d profile.d init.d rc.d sites-enabled"
)
_FILES = names(
    "authorized_keys authorized_keys2 known_hosts id_rsa id_dsa id_ecdsa id_ed25519 crontab "
    "sudoers sitecustomize.py usercustomize.py"
)
_HOME_PROGRAMS = re.compile(r"(?:~[^/]*|/root|/(?:home|Users)/[^/]+)/(?:bin|Library)/")


def joined(folder: str, path: str) -> str:
    """Return a path as seen from a folder, without detours."""
    whole = path if path.startswith(("/", "~")) or not folder else f"{folder}/{path}"
    flat = posixpath.normpath(whole)
    return flat[1:] if flat.startswith("//") else flat


def is_delicate(path: str) -> bool:
    """Return whether even a new file of that name changes how a machine or a program behaves."""
    steps = path.split("/")
    if any(step.startswith(".") and step not in (".", "..") for step in steps):
        return True
    lower = [step.casefold() for step in steps]
    if not _FOLDERS.isdisjoint(lower[:-1]) or lower[-1] in _FILES or lower[-1].endswith(".pth"):
        return True
    is_system = path.startswith("/") and steps[1] in _PLACES_SYSTEM and not _TEMPORARY.match(path)
    return is_system or bool(_HOME_PROGRAMS.match(path))


def is_outside(path: str, root: str) -> bool:
    """Return whether a path leads out of the folder of the trace."""
    if root and (path == root or path.startswith(root.rstrip("/") + "/")):
        return False
    return path.startswith(("/", "~", "../")) or path == ".."


def behaviour_danger(path: str, folders: Iterable[str]) -> str:
    """Return why no file of that name may be written, in any of these folders."""
    if SAFE_TARGET.match(path):
        return ""
    found = any(is_delicate(joined(folder, path)) for folder in folders)
    shown = "a file that is only known when it runs" if UNKNOWN in path else path
    return f"it writes {shown}, which sets how programs behave" if found else ""


def nearness_danger(path: str, folders: Iterable[str], root: str) -> str:
    """Return why adding to a file, or making a new one, needs a confirmation."""
    places = tuple(folders)
    found = appends(path.removeprefix("./")) or behaviour_danger(path, places)
    if found or SAFE_TARGET.match(path):
        return found
    wholes = [joined(folder, path) for folder in places]
    if any(UNKNOWN in whole for whole in wholes):
        return "it writes to a folder that is only known when it runs"
    outside = any(is_outside(whole, root) for whole in wholes)
    return f"it writes {path} in another folder" if outside else ""


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
_WRITTEN_NODE = names(
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
        (_WRITTEN_NODE, _NODE_FILES),
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
