#!/usr/bin/env bash
# Windows' Python 3.11 with xlwings under Wine: bash tests/wine/setup.sh FOLDER
# It leaves FOLDER/python/python.exe and the Wine prefix FOLDER/prefix. A folder that this very script has set up stays
# as it is. Needs wine, x86_64-w64-mingw32-gcc, pip and a Python 3.11 (for its standard library).
set -euo pipefail

PANDA3D=1.10.16 # its wheel for Windows carries python311.dll and the extension modules: no installer is needed
PYWIN32=312
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
xlwings=$(sed -n 's/^ *"xlwings>=\([0-9.]*\).*/\1/p' "$here/../../pyproject.toml")
stamp="$(cat "$here/setup.sh" "$here/python.c" | sha256sum) $xlwings"

if [ "$(cat "$folder/stamp" 2>/dev/null)" = "$stamp" ]; then
    exit
fi
rm -rf "$folder/stamp" "$folder/python" "$folder/prefix"
python=$folder/python
packages=$python/Lib/site-packages
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT

fetch() {
    python3 -m pip download --quiet --no-deps --only-binary=:all: --platform win_amd64 --python-version 3.11 \
        --implementation cp --abi cp311 --dest "$wheels" "panda3d==$PANDA3D" "pywin32==$PYWIN32" "xlwings==$xlwings"
}

interpreter() {
    local library
    library=$(python3 -c 'import sys, os; assert sys.version_info[:2] == (3, 11), "Python 3.11 is needed"; print(os.path.dirname(os.__file__))')
    mkdir -p "$python/Lib" "$packages"
    python3 -m zipfile -e "$wheels"/panda3d-*.whl "$wheels/panda3d"
    mv "$wheels"/panda3d/deploy_libs/{python311,VCRUNTIME140,libffi-8}.dll "$wheels"/panda3d/deploy_libs/*.pyd "$python"
    cp -r "$library"/[!_]*.py "$library"/_*.py "$python/Lib"
    (cd "$library" && cp -r asyncio collections concurrent ctypes email encodings html http importlib json logging \
        multiprocessing re sqlite3 tomllib unittest urllib xml zoneinfo "$python/Lib")
    x86_64-w64-mingw32-gcc -municode -O1 -o "$python/python.exe" "$here/python.c"
}

add_packages() {
    python3 -m zipfile -e "$wheels"/pywin32-*.whl "$packages"
    python3 -m zipfile -e "$wheels"/xlwings-*.whl "$packages"
    mv "$packages"/pywin32_system32/*.dll "$packages"/xlwings-*.data/data/xlwings64-*.dll "$python"
    printf '%s\n' "$packages" win32 win32/lib | sed "s|^$packages\$|.|" >"$packages/pywin32.pth"
}

export WINEPREFIX=$folder/prefix WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml=' DISPLAY=
fetch
interpreter
add_packages
wineboot --init </dev/null >/dev/null 2>&1
wine "$python/python.exe" -c 'import pythoncom, win32api, xlwings.com_server' </dev/null 2>&1 | cat
wineserver --wait
printf '%s' "$stamp" >"$folder/stamp"
