# shellcheck shell=bash
# What the setup scripts share: messages, several tries over the network, apt with pinned versions, and checks.

export DEBIAN_FRONTEND=noninteractive

say() { printf '%s: %s\n' "$(basename "$0")" "$*"; }
die() { printf '%s: error: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# Runs a command that uses the network: three times at most, with a pause before each further try, since mirrors and proxies
# fail for a moment. The status is that of the last try.
retry() {
  local pause
  for pause in 5 20; do
    if "$@"; then return 0; fi
    say "'$(basename "$1") ${*:2:3}' failed; trying again in $pause s" >&2
    sleep "$pause"
  done
  "$@"
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo -n true || die "'$*' needs root (sudo without a password)"
    sudo -n "$@"
  else
    die "'$*' needs root, and there is no sudo"
  fi
}

# pip of the Python $1, with the arguments that follow.
pip_of() {
  retry "$1" -m pip "${@:2}" --quiet --disable-pip-version-check --no-input </dev/null
}

# Where Maven keeps what it has fetched; cmake/Jvm.cmake looks there, too.
MAVEN_REPOSITORY=${MAVEN_REPO_LOCAL:-$HOME/.m2/repository}

# -U: Maven remembers what it could not find, and would not ask again.
maven() {
  retry mvn --batch-mode --quiet -U -Dmaven.repo.local="$MAVEN_REPOSITORY" "$@" </dev/null
}

# Prints the installed version of a Debian package, or nothing.
deb_version() {
  dpkg-query -W -f='${db:Status-Abbrev} ${Version}' "$1" 2>/dev/null | sed -n 's/^ii *//p'
}

# Prints how one "package=version[=command]" entry is satisfied, or nothing if it is not.
found() {
  local package version command have
  IFS='=' read -r package version command <<<"$1"
  have=$(deb_version "$package")
  if [ -n "$have" ]; then
    if [ "$have" = "$version" ]; then echo "$have"; else echo "$have (pinned: $version)"; fi
  elif [ -n "$command" ] && command -v "$command" >/dev/null; then
    echo "$(command -v "$command") (not from apt)"
  fi
}

# Installs whatever is missing of the entries given: the pinned version, or, where the archive no longer has it,
# the version it does have.
apt_ensure() {
  local entry package version wanted=() missing=()
  for entry in "$@"; do
    [ -n "$(found "$entry")" ] || missing+=("$entry")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null || die "no apt-get here; install these yourself: ${missing[*]%%=*}"
  say "apt: reading the package lists"
  retry as_root apt-get update -qq </dev/null
  for entry in "${missing[@]}"; do
    IFS='=' read -r package version _ <<<"$entry"
    if apt-cache madison "$package" 2>/dev/null | awk -F' *[|] *' '{print $2}' | grep -qxF "$version"; then
      wanted+=("$package=$version")
    else
      say "apt: $package $version is no longer in the archive; taking what is there"
      wanted+=("$package")
    fi
  done
  if ! apt-get install --simulate -qq --no-install-recommends "${wanted[@]}" </dev/null >/dev/null; then
    say "apt: the pinned set does not install together; taking the archive's versions"
    wanted=("${missing[@]%%=*}")
  fi
  say "apt: installing ${wanted[*]}"
  retry as_root apt-get install -y -qq --no-install-recommends "${wanted[@]}" </dev/null
}

check_sha256() {
  echo "$2  $1" | sha256sum --check --status 2>/dev/null
}

# Whether a Python environment ($1) holds the versions that requirements files (the rest) pin; imports none of them.
venv_complete() {
  local venv=$1
  shift
  [ -x "$venv/bin/python" ] && "$venv/bin/python" - "$@" <<'PYTHON' 2>/dev/null
import sys
from importlib.metadata import version
for line in (line for path in sys.argv[1:] for line in open(path)):
    name, _, wanted = line.split("#")[0].strip().partition("==")
    if name and version(name) != wanted:
        sys.exit(1)
PYTHON
}

# Makes the environment $1 hold what the file $2 pins; $3 says what that is.
ensure_venv() {
  if venv_complete "$1" "$2"; then
    say "$3: in $1"
    return 0
  fi
  apt_ensure "${APT_BUILD[@]}"
  if [ ! -x "$1/bin/python" ]; then
    say "making the Python environment $1"
    mkdir -p "$(dirname "$1")"
    python3 -m venv "$1"
  fi
  say "installing $3"
  pip_of "$1/bin/python" install -r "$2"
  venv_complete "$1" "$2" || die "$1 does not hold what scripts/$2 asks for; delete it and try again"
}

# Copies jars of Maven Central, each named group:name:version, into the folder $1; $2 says what they are.
fetch_jars() {
  local target=$1 what=$2 artifact group name version jar
  shift 2
  for artifact in "$@"; do
    IFS=: read -r group name version <<<"$artifact"
    jar=$MAVEN_REPOSITORY/${group//.//}/$name/$version/$name-$version.jar
    if [ ! -f "$jar" ]; then
      say "$what: fetching $artifact from Maven Central"
      maven "$MAVEN_GET" -Dartifact="$artifact" -Dtransitive=false ||
        die "could not fetch $artifact; maven's message is above"
    fi
    cp "$jar" "$target/"
  done
}
