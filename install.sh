#!/usr/bin/env bash
# Installs svc from this checkout: checks what is needed, installs the packages, builds, links the command.
# Whatever is done already is left alone, so it can be run again at any time.
if [ -z "${BASH_VERSION-}" ]; then
  # Started by another shell, such as `sh install.sh`.
  command -v bash > /dev/null 2>&1 && exec bash "$0" "$@"
  echo "install.sh: bash is missing; install it with the package manager of your system." >&2
  exit 1
fi
set -euo pipefail

usage() {
  cat << 'HELP'
Usage: install.sh [--prefix DIR] [--no-link] [--dev] [--serve | --system]

Installs the packages, builds svc and links the command `svc` into a bin directory.
Running it again is harmless: what is up to date is left alone.

  --prefix DIR  link DIR/bin/svc (default: /usr/local for root, otherwise ~/.local)
  --no-link     do not link the command; bin/svc in this directory works as it is
  --dev         also install the packages for tests and development
  --serve       afterwards run `svc init --yes` and `svc serve` in the current directory
  --system      as root: copy the program to /usr/local/lib/svc and run it as a systemd service of the
                user svc, with /etc/svc/svc.env and /var/lib/svc; an upgrade makes a backup first
  -h, --help    this text

Needed: Node.js 20.19 or newer with npm and its headers, a C++ compiler, make, Python 3.
Exit codes: 0 done, 1 something is missing or failed (the message says what to do), 2 wrong usage.
HELP
}

system_dir=/usr/local/lib/svc
settings=/etc/svc/svc.env

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "install.sh: $1"
  shift
  for line in "$@"; do say "  $line"; done
  exit 1
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
prefix=
link=yes
serve=no
system=no
dev=no

while [ $# -gt 0 ]; do
  case $1 in
    --prefix)
      prefix=${2-}
      if [ -z "$prefix" ]; then
        say "install.sh: --prefix needs a directory"
        exit 2
      fi
      shift
      ;;
    --prefix=?*) prefix=${1#--prefix=} ;;
    --no-link) link=no ;;
    --dev) dev=yes ;;
    --serve) serve=yes ;;
    --system) system=yes ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      say "install.sh: unknown argument: $1; see install.sh --help"
      exit 2
      ;;
  esac
  shift
done

if [ "$system" = yes ]; then
  if [ "$serve" = yes ] || [ "$link" = no ] || [ -n "$prefix" ]; then
    say "install.sh: --system cannot be combined with --serve, --no-link or --prefix"
    exit 2
  fi
  [ "$(id -u)" = 0 ] || fail "--system must be run as root."
  [ ! -e /usr/lib/svc ] || fail "the Debian package svc is installed; --system would be a second installation." "Remove it first: apt-get remove svc. Settings and data stay."
fi

if [ -z "$prefix" ]; then
  if [ "$(id -u)" = 0 ]; then prefix=/usr/local; else prefix=${HOME:?}/.local; fi
fi
command_file=$prefix/bin/svc

# ── What must be there ──────────────────────────────────────────────────────────────────────────────────────────────

missing=()
debian=() fedora=() alpine=() macos=()

lacks() { # what, then its package for Debian, Fedora, Alpine and macOS
  missing+=("$1")
  debian+=("$2") fedora+=("$3") alpine+=("$4") macos+=("$5")
}

found() { command -v "$1" > /dev/null 2>&1; }

check_needs() {
  if ! found node; then
    lacks "Node.js 20.19 or newer (no \`node\` in PATH)" nodejs nodejs nodejs node
  elif ! node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)'; then
    lacks "Node.js 20.19 or newer (this is $(node --version))" nodejs nodejs nodejs node
  fi
  found npm || lacks "npm" npm nodejs-npm npm node
  found "${CXX:-c++}" || found g++ || found clang++ || lacks "a C++ compiler" g++ gcc-c++ g++ xcode
  found make || lacks "make" make make make xcode
  found "${npm_config_python:-python3}" || lacks "Python 3" python3 python3 python3 python3
  [ ${#missing[@]} -eq 0 ] && return

  say "install.sh: this is missing:"
  for what in "${missing[@]}"; do say "  - $what"; done
  say "Install it with the line for your system, then run install.sh again:"
  say "  Debian, Ubuntu  apt-get install -y ${debian[*]}"
  say "  Fedora, RHEL    dnf install -y ${fedora[*]}"
  say "  Alpine          apk add ${alpine[*]}"
  local brew=() name
  for name in "${macos[@]}"; do
    case " ${brew[*]-} " in *" $name "*) ;; *) [ "$name" = xcode ] || brew+=("$name") ;; esac
  done
  case " ${macos[*]} " in *" xcode "*) say "  macOS           xcode-select --install" ;; esac
  [ ${#brew[@]} -eq 0 ] || say "  macOS           brew install ${brew[*]}"
  case "${missing[*]}" in
    *Node.js*) say "If your system's Node.js is older than 20.19, take the current LTS from https://nodejs.org/en/download" ;;
  esac
  exit 1
}

# A link of ours is one that leads to this checkout or to the system's copy, or that leads nowhere because its checkout has moved.
check_link() {
  [ "$link" = yes ] || return 0
  if [ -L "$command_file" ]; then
    if [ "$system" = yes ] && [ "$command_file" -ef "$system_dir/svc" ]; then return; fi
    if [ "$command_file" -ef "$root/bin/svc" ] || [ ! -e "$command_file" ]; then return; fi
  elif [ ! -e "$command_file" ]; then
    return
  fi
  fail "$command_file exists and is not a link to this checkout; it is left as it is." \
    "Remove it, or choose another place with --prefix DIR, or use --no-link."
}

# The native packages are compiled against the headers of exactly this Node.js. Found on this machine, nothing is downloaded.
find_headers() {
  local abi dir
  abi=$(node -p process.versions.modules)
  for dir in "${npm_config_nodedir-}" "$(dirname "$(dirname "$(node -p process.execPath)")")" /usr "$(npm config get nodedir 2> /dev/null)"; do
    # The second form is that of a source tree.
    if grep -qsE "define NODE_MODULE_VERSION $abi\$" "$dir/include/node/node_version.h" "$dir/src/node_version.h"; then
      export npm_config_nodedir=$dir
      return
    fi
  done
  say "The headers of Node.js $(node --version) are not on this machine; if a package must be compiled they are downloaded from nodejs.org."
  say "  To do without: Debian libnode-dev, Fedora nodejs-devel, Alpine nodejs-dev, or set npm_config_nodedir."
}

# ── The steps, each skipped when its result is there ────────────────────────────────────────────────────────────────

# Prints the elapsed seconds of the step that runs, and the packages that it compiles: on a terminal in one line, otherwise every 30 seconds.
watch_step() { # the title of the step, and a file that is as old as the step
  local start=$SECONDS next=30 compiled= makefile name line
  while sleep 1; do
    for makefile in node_modules/*/build/Makefile node_modules/*/*/build/Makefile; do
      name=${makefile#node_modules/}
      name=${name%/build/Makefile}
      case " $compiled " in *" $name "*) continue ;; esac
      [ "$makefile" -nt "$2" ] || continue
      compiled="$compiled $name"
      [ -t 2 ] || say "  compiling $name"
    done
    line="  $1: $((SECONDS - start)) s${compiled:+, compiling$compiled}"
    if [ -t 2 ]; then
      printf '\r\033[K%s' "$line" >&2
    elif [ $((SECONDS - start)) -ge $next ]; then
      say "$line"
      next=$((next + 30))
    fi
  done
}

step() { # its title, then its command
  local title=$1 start=$SECONDS began watcher code=0
  shift
  began=$(mktemp)
  watch_step "$title" "$began" &
  watcher=$!
  # shellcheck disable=SC2064
  trap "kill $watcher 2> /dev/null; rm -f '$began'" EXIT
  "$@" >&2 || code=$?
  kill "$watcher" 2> /dev/null || true
  wait "$watcher" 2> /dev/null || true
  rm -f "$began"
  trap - EXIT
  [ ! -t 2 ] || printf '\r\033[K' >&2
  [ "$code" != 0 ] || say "  $title took $((SECONDS - start)) s"
  return "$code"
}

# npm keeps what it installed in a lockfile of its own; times say nothing after a checkout of another version.
packages_installed() {
  DEV=$dev node -e '
    const read = (file) => JSON.parse(require("fs").readFileSync(file, "utf8")).packages;
    const [wanted, there] = [read("package-lock.json"), read("node_modules/.package-lock.json")];
    const unneeded = ({ dev, optional }, path) => !there[path] && (optional || dev && process.env.DEV === "no");
    const same = ([path, one]) => path === "" || unneeded(one, path) || there[path]?.version === one.version;
    process.exit(Object.entries(wanted).every(same) ? 0 : 1);
  ' 2> /dev/null
}

built() {
  [ -e dist/.complete ] && [ -z "$(find src package.json tsconfig.json esbuild.config.js external-packages.js templates/viewers -newer dist/.complete | head -n 1)" ]
}

# What the build needs are optional packages, so it works without those for development.
install_packages() {
  if packages_installed; then return; fi
  say "Installing the packages (npm ci) …"
  local kinds=(--include=optional --omit=dev)
  [ "$dev" = no ] || kinds=(--include=optional --include=dev)
  step "npm ci" npm ci "${kinds[@]}" --no-audit --no-fund --no-progress ||
    fail "npm ci failed; its output is above." "Behind a proxy? npm config set proxy http://host:port. Then run install.sh again."
}

build() {
  if built; then return; fi
  say "Building …"
  rm -f dist/.complete
  step "the build" npm run --silent build || fail "the build failed; its output is above." "Is the checkout complete and unchanged? git status"
  touch dist/.complete
}

link_command() {
  [ "$link" = yes ] || return 0
  if [ ! "$command_file" -ef "$root/bin/svc" ]; then
    { mkdir -p "$prefix/bin" && rm -f "$command_file" && ln -s "$root/bin/svc" "$command_file"; } ||
      fail "cannot write $command_file." "Run install.sh as root, or choose a place with --prefix DIR, or use --no-link."
    say "Linked $command_file"
  fi
  case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *) say "$prefix/bin is not in PATH; add it: export PATH=\"$prefix/bin:\$PATH\"" ;;
  esac
}

# ── As a service of this machine ────────────────────────────────────────────────────────────────────────────────────

has_systemd() { [ -d /run/systemd/system ]; }

# The installed version backs up while it serves. Then it stops, because a running server still loads files of its version.
prepare_upgrade() {
  if [ -e "$settings" ] && [ -z "${NO_SVC_BACKUP-}" ]; then
    say "Making a backup before the upgrade …"
    (cd /var/lib/svc && runuser -u svc -- env -i "PATH=$PATH" HOME=/var/lib/svc "$system_dir/svc" --config "$settings" backup create) >&2 ||
      { rm -rf "$system_dir.new" && fail "the backup failed, so nothing was upgraded." "To upgrade without one, set NO_SVC_BACKUP=1."; }
    export SVC_SETUP_BACKUP=done
  fi
  if has_systemd; then systemctl stop svc; fi
}

install_system() {
  say "Copying the program to $system_dir …"
  rm -rf "$system_dir.new"
  node release.js --tree "$system_dir.new" > /dev/null || fail "the program could not be copied; the output is above."
  # What the umask of root has removed. Every user can read the program.
  chmod -R u=rwX,go=rX "$system_dir.new"
  [ ! -e "$system_dir" ] || prepare_upgrade
  rm -rf "$system_dir"
  mv "$system_dir.new" "$system_dir"
  mkdir -p "$prefix/bin" /etc/systemd/system
  ln -sfn "$system_dir/svc" "$command_file"
  install -m 0644 "$system_dir/templates/systemd/svc.service" /etc/systemd/system/svc.service
  "$system_dir/templates/systemd/setup" || fail "the service was not set up; the reason is above." "Then run install.sh --system again."
  if has_systemd; then
    systemctl daemon-reload
    systemctl enable --quiet svc
    systemctl restart svc || fail "the server did not start: journalctl -u svc"
  else
    say "There is no systemd here, so the server was not started; the unit is /etc/systemd/system/svc.service."
  fi
}

# ── The end ─────────────────────────────────────────────────────────────────────────────────────────────────────────

port_of() { # a settings file, which can be missing
  local port
  port=${SVC_PORT-}
  [ -n "$port" ] || port=$(grep -s '^SVC_PORT=' "$1" | head -n 1) || true
  printf '%s' "${port#SVC_PORT=}"
}

first_sign_up() { # the command, and the port
  say "  $1 project create Shop --id shop"
  say "  curl -sS http://localhost:${2:-8080}/v1/account -H 'X-Service-Project: shop' -H 'Content-Type: application/json' \\"
  say "    -d '{\"userId\": \"unique()\", \"email\": \"anna@example.com\", \"password\": \"tall-green-bicycle\"}'"
}

check_needs
check_link
find_headers
started_in=$PWD
cd "$root"
install_packages
build

if [ "$system" = yes ]; then
  fresh=no
  [ -e "$settings" ] || fresh=yes
  install_system
  say "svc is installed in $system_dir, with settings in $settings and data in /var/lib/svc."
  if [ "$fresh" = yes ]; then
    say "Keep a copy of $settings, which holds the master key, away from the backups."
    say "Create a project, and sign a first user up:"
    first_sign_up "runuser -u svc -- svc" "$(SVC_PORT='' port_of "$settings")"
  fi
  exit 0
fi

link_command
cd "$started_in"
svc=$root/bin/svc
called=$svc
[ "$link" = no ] || called=svc
if [ "$serve" = yes ]; then
  fresh=no
  [ -e svc.env ] || fresh=yes
  said=$("$svc" init --yes 2>&1) || { code=$?; say "$said"; exit "$code"; }
  # The next step that it names is the one below.
  say "${said%$'\n'next: svc serve}"
  if [ "$fresh" = yes ]; then
    say "In a second terminal, in this directory, create a project and sign a first user up:"
    first_sign_up "$called" "$(port_of svc.env)"
  fi
  exec "$svc" serve
fi
# An installation in this directory gets a new version: the schema of its database may be older.
if [ -e svc.env ]; then
  say "svc is ready. next: $called migrate"
else
  say "svc is ready. next: $called init"
  say "When \`$called serve\` runs, create a project in a second terminal and sign a first user up:"
  first_sign_up "$called"
fi
