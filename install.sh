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
Usage: install.sh [--prefix DIR] [--no-link] [--serve]

Installs the packages, builds svc and links the command `svc` into a bin directory.
Running it again is harmless: what is up to date is left alone.

  --prefix DIR  link DIR/bin/svc (default: /usr/local for root, otherwise ~/.local)
  --no-link     do not link the command; bin/svc in this directory works as it is
  --serve       afterwards run `svc init --yes` and `svc serve` in the current directory
  -h, --help    this text

Needed: Node.js 20.19 or newer with npm and its headers, a C++ compiler, make, Python 3.
Exit codes: 0 done, 1 something is missing or failed (the message says what to do), 2 wrong usage.
HELP
}

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
    --serve) serve=yes ;;
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

# A link of ours is one that leads to this checkout, or that leads nowhere because its checkout has moved.
check_link() {
  [ "$link" = yes ] || return 0
  if [ -L "$command_file" ]; then
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

# npm keeps what it installed in a lockfile of its own; times say nothing after a checkout of another version.
packages_installed() {
  node -e '
    const read = (file) => JSON.parse(require("fs").readFileSync(file, "utf8")).packages;
    const [wanted, there] = [read("package-lock.json"), read("node_modules/.package-lock.json")];
    const same = ([path, { version }]) => path === "" || wanted[path].optional && !there[path] || there[path]?.version === version;
    process.exit(Object.entries(wanted).every(same) ? 0 : 1);
  ' 2> /dev/null
}

built() {
  [ -e dist/.complete ] && [ -z "$(find src package.json tsconfig.json esbuild.config.js external-packages.js -newer dist/.complete | head -n 1)" ]
}

install_packages() {
  if packages_installed; then return; fi
  say "Installing the packages (npm ci) …"
  # The build needs the development packages, whatever NODE_ENV says.
  npm ci --include=dev --no-audit --no-fund >&2 ||
    fail "npm ci failed; its output is above." "Behind a proxy? npm config set proxy http://host:port. Then run install.sh again."
}

build() {
  if built; then return; fi
  say "Building …"
  rm -f dist/.complete
  npm run --silent build >&2 || fail "the build failed; its output is above." "Is the checkout complete and unchanged? git status"
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

check_needs
check_link
find_headers
started_in=$PWD
cd "$root"
install_packages
build
link_command
cd "$started_in"

svc=$root/bin/svc
if [ "$serve" = yes ]; then
  said=$("$svc" init --yes 2>&1) || { code=$?; say "$said"; exit "$code"; }
  # The next step that it names is the one below.
  say "${said%$'\n'next: svc serve}"
  exec "$svc" serve
fi
# An installation in this directory gets a new version: the schema of its database may be older.
say "svc is ready. next: $([ "$link" = yes ] && echo svc || echo "$svc") $([ -e svc.env ] && echo migrate || echo init)"
