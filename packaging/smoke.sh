#!/bin/sh
# Tries an installed assay on a machine without a GPU: smoke.sh PROGRAM TOUR.CSV
# Needs a writable current folder; ends with "smoke: fine".
set -eu
assay=$1
tour=$2
fail() { echo "smoke: $*" >&2; exit 1; }

"$assay" --version | grep -q '^assay [0-9]' || fail "no version"
"$assay" --version --json | grep -q '"program":"assay"' || fail "no version as JSON"
"$assay" tour | grep -q H200 || fail "the tour shows no H200"
"$assay" once "$tour" | grep -q H200 || fail "'once' shows no H200"
"$assay" once "$tour" --json | grep -q '"sm_active"' || fail "'once --json' has no sm_active"
"$assay" record --source "$tour" -o smoke.assay 2>record.log || { cat record.log >&2; fail "'record' failed"; }
"$assay" report smoke.assay --format html -o smoke.html
grep -q '</html>' smoke.html || fail "no HTML report"
"$assay" plot smoke.assay -o smoke.svg
grep -q '</svg>' smoke.svg || fail "no SVG plot"
"$assay" convert smoke.assay smoke.csv
grep -q sm_active smoke.csv || fail "no CSV"
"$assay" doctor >doctor.txt || [ $? -le 3 ] || fail "'doctor' failed"
if "$assay" --version --json | grep -q '"portable":true'; then
        "$assay" serve "$tour" --listen 127.0.0.1:0 2>serve.log &
        pid=$!
        n=0
        until grep -q serving serve.log || [ $n -ge 100 ]; do sleep 0.1; n=$((n + 1)); done
        kill $pid
        wait $pid || :
        grep -q '^assay: serving http://127' serve.log || { cat serve.log >&2; fail "'serve' did not start"; }
fi
echo "smoke: fine"
