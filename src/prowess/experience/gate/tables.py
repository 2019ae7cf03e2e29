"""Which programs leave things as they are, and which do not: the lists, and nothing else.

A program that is in none of these lists counts as one of which nothing is known, which needs a
confirmation. So a name that is missing costs a question; a name that is wrongly in `HARMLESS` costs
somebody's files. What a program of `HARMLESS` is told does not matter.
"""

from collections.abc import Mapping
from dataclasses import dataclass
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
