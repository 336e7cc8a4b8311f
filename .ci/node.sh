#!/usr/bin/env bash
# Installs what tests run in Node: Pyodide, the Python of xlwings Lite. Once, into the folder LLM_CAPACITY_NODE or the
# user's cache, where the tests look for it.
set -euo pipefail
folder=${LLM_CAPACITY_NODE:-${XDG_CACHE_HOME:-${HOME:-~}/.cache}/llm-capacity/node}
version=314.0.7
least=18
node=$(node --version)
if ! [ "$(cut -d. -f1 <<<"${node#v}")" -ge "$least" ]; then
    echo "Pyodide needs Node $least or later, and node is $node" >&2
    exit 1
fi
if grep -qs "\"version\": \"$version\"" "$folder/node_modules/pyodide/package.json"; then
    exit
fi
mkdir -p "$folder"
npm install --silent --ignore-scripts --no-audit --no-fund --prefix "$folder" "pyodide@$version"
