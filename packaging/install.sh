#!/bin/sh
# Installs this folder below a prefix: ./install.sh [PREFIX], by default ~/.local.
# ./install.sh --remove [PREFIX] takes it away again.
set -eu
unset CDPATH # with it 'cd' may go elsewhere, and prints
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

# Takes away the files that are named on standard input, and the folders that they leave empty.
remove_files() {
        while IFS= read -r name; do
                case $name in /*) rm -f "$name"; continue ;; esac
                rm -f "$prefix/$name"
                folder=${name%/*} file=${name##*/}
                case $name in
                *.py) # and what Python made of it
                        rm -f "$prefix/$folder/__pycache__/${file%.py}".*.pyc
                        rmdir "$prefix/$folder/__pycache__" 2>/dev/null || :
                        ;;
                esac
                while rmdir "$prefix/$folder" 2>/dev/null; do
                        case $folder in */*) folder=${folder%/*} ;; *) break ;; esac
                done
        done
}

if [ "$remove" = yes ]; then
        [ -f "$list" ] || { echo "install.sh: assay is not installed below '$prefix'" >&2; exit 1; }
        { cat "$list" && echo share/assay/installed; } | remove_files
        echo "removed assay from $prefix"
        exit 0
fi

mkdir -p "$prefix/share/assay"
(cd "$here" && find bin include lib share -type f -o -type l) | grep -v '^share/assay/installed' | LC_ALL=C sort >"$list.new"
# Each file appears whole, in the place of the one before: somebody may be running or starting that.
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
# What the version before had and this one has not.
[ ! -f "$list" ] || grep -vxF -f "$list.new" "$list" | remove_files
mv "$list.new" "$list"

echo "installed: $("$prefix/bin/assay" --version) in $prefix"
case ":$PATH:" in
*":$prefix/bin:"*) ;;
*) echo "add it to your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
[ -f "$site/assay.pth" ] || echo "for Python: export PYTHONPATH=\"$prefix/lib/python\""
