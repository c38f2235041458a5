#!/bin/sh
# Installs this folder below a prefix: ./install.sh [PREFIX], by default ~/.local.
# ./install.sh --remove [PREFIX] takes it away again.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
remove=no
case "${1:-}" in
--remove) remove=yes; shift ;;
-h | --help) sed -n 's/^# //p' "$0" | head -2; exit 0 ;;
-*) echo "install.sh: unknown option '$1'; usage: ./install.sh [--remove] [PREFIX]" >&2; exit 2 ;;
esac
[ $# -le 1 ] || { echo "install.sh: one prefix, please: ./install.sh [--remove] [PREFIX]" >&2; exit 2; }
prefix=${1:-${HOME:?set HOME, or give a prefix}/.local}
[ "$remove" = yes ] || mkdir -p "$prefix"
prefix=$(cd "$prefix" && pwd) || exit 1
list=$prefix/share/assay/installed

# Where this user's Python looks, when there is one.
python_site() {
        python3 -c 'import site, sys; print(site.getusersitepackages() if sys.version_info >= (3, 9) else "")' 2>/dev/null || :
}

remove_files() {
        [ -f "$list" ] || return 0
        while IFS= read -r name; do
                case $name in /*) rm -f "$name" ;; *) rm -f "$prefix/$name" ;; esac
                folder=${name%/*}
                while [ "$folder" != "$name" ] && [ -n "$folder" ] && [ "${folder#/}" = "$folder" ]; do
                        rmdir "$prefix/$folder" 2>/dev/null || break
                        case $folder in */*) folder=${folder%/*} ;; *) break ;; esac
                done
        done <"$list"
        rm -f "$list"
        rmdir "$prefix/share/assay" 2>/dev/null || :
}

if [ "$remove" = yes ]; then
        [ -f "$list" ] || { echo "install.sh: assay is not installed below '$prefix'" >&2; exit 1; }
        remove_files
        echo "removed assay from $prefix"
        exit 0
fi

remove_files
mkdir -p "$prefix/share/assay"
(cd "$here" && find bin include lib share -type f -o -type l) | LC_ALL=C sort >"$list.new"
# Each file appears whole, beside what it replaces: a running assay is not disturbed.
while IFS= read -r name; do
        mkdir -p "$prefix/${name%/*}"
        cp -P "$here/$name" "$prefix/$name.new"
        mv -f "$prefix/$name.new" "$prefix/$name"
done <"$list.new"
site=$(python_site)
if [ -n "$site" ] && [ -n "${HOME:-}" ] && [ "$prefix" = "$HOME/.local" ] && mkdir -p "$site" 2>/dev/null; then
        echo "$prefix/lib/python" >"$site/assay.pth"
        echo "$site/assay.pth" >>"$list.new"
fi
mv "$list.new" "$list"

echo "installed: $("$prefix/bin/assay" --version) in $prefix"
case ":$PATH:" in
*":$prefix/bin:"*) ;;
*) echo "add it to your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
[ -f "$site/assay.pth" ] || echo "for Python: export PYTHONPATH=\"$prefix/lib/python\""
