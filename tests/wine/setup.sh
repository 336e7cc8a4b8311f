#!/usr/bin/env bash
# Windows' Python 3.11 with xlwings under Wine: bash tests/wine/setup.sh FOLDER
# It leaves FOLDER/python/python.exe and the Wine prefix FOLDER/prefix, and a folder that it has set up stays as it is.
# Needs wine, x86_64-w64-mingw32-gcc, and a Python 3.11 with pip, and with the xlwings whose Windows part is wanted.
set -euo pipefail

PANDA3D=1.10.16 # its wheel for Windows carries python311.dll and the extension modules, so that no installer is needed
PYWIN32=312
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
python=$folder/python
packages=$python/Lib/site-packages
xlwings=$(python3 -c 'from importlib.metadata import version; print(version("xlwings"))')
stamp="xlwings $xlwings, $(cat "$here/setup.sh" "$here/python.c" | sha256sum)"

fetch() {
    python3 -m pip download --quiet --no-deps --only-binary=:all: --platform win_amd64 --python-version 3.11 \
        --implementation cp --abi cp311 --dest "$wheels" "panda3d==$PANDA3D" "pywin32==$PYWIN32" "xlwings==$xlwings"
}

make_interpreter() {
    local library
    python3 -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11) and "Python 3.11 is needed")'
    library=$(python3 -c "import sysconfig; print(sysconfig.get_path('stdlib'))")
    mkdir -p "$packages"
    tar -C "$library" -c --exclude=./{test,site-packages,dist-packages,lib-dynload,'config-*'} --exclude=__pycache__ . |
        tar -C "$python/Lib" -x
    python3 -m zipfile -e "$wheels"/panda3d-*.whl "$wheels/panda3d"
    mv "$wheels"/panda3d/deploy_libs/{python311,VCRUNTIME140,libffi-8}.dll "$wheels"/panda3d/deploy_libs/*.pyd "$python"
    x86_64-w64-mingw32-gcc -municode -O1 -o "$python/python.exe" "$here/python.c"
}

add_packages() {
    python3 -m zipfile -e "$wheels"/pywin32-*.whl "$packages"
    python3 -m zipfile -e "$wheels"/xlwings-*.whl "$packages"
    mv "$packages"/xlwings-*.data/data/xlwings64-*.dll "$python"
}

check() {
    if ! wineboot --init </dev/null >"$wheels/wineboot" 2>&1; then # a pipe would stay open with Wine's services
        echo "wineboot failed: $(cat "$wheels/wineboot")" >&2
        return 1
    fi
    wine "$python/python.exe" -c 'import xlwings.com_server' </dev/null 2>&1 | cat
    wineserver --wait
}

if [ "$(cat "$folder/stamp" 2>/dev/null)" = "$stamp" ]; then
    exit
fi
rm -rf "$folder/stamp" "$python" "$folder/prefix"
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
export WINEPREFIX=$folder/prefix WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml=' DISPLAY=
fetch
make_interpreter
add_packages
check
echo "$stamp" >"$folder/stamp"
