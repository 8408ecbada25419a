#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# archive is killed at random moments, then run to the end: every row is there once, for our
# reader and for h5py, and nothing had to be mended by hand.  TT_KILLS sets how often.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
[ -x "$ticktail" ] || missing "the program"
cd "$work" || exit 99
kills=${TT_KILLS:-50}
seed=${TT_SEED:-20251}
note "TT_SEED=$seed TT_KILLS=$kills"

"$ticktail" create ring --rolling --dtype ts:i8,sym:i4,qty:i4,px:f8,flags:u1 --capacity 4096 \
	--keep 4
feed() { "$ticktail" gen --rows "$2" --seed "$1" | tee -a fed.all | "$ticktail" append ring -q; }
feed 1 60000 >/dev/null

# how long an undisturbed run takes, in ms
begin=$(date +%s%N)
success "an undisturbed run" "$ticktail" archive ring -o other.h5 --seal
took=$((($(date +%s%N) - begin) / 1000000))
note "an undisturbed run takes $took ms"

died=0
i=0
while [ $i -lt "$kills" ]; do
	i=$((i + 1))
	feed $((i + 1)) 5000 >/dev/null
	io=$([ $((i % 2)) = 0 ] && echo threads || echo auto)
	delay=$(awk -v s="$seed" -v i=$i -v t="$took" \
		'BEGIN { srand(s * 1000 + i); for (k = 0; k < 5; k++) rand(); printf "%.4f", rand() * t * 1.5 / 1000 }')
	# --foreground: it waits for what it kills, and is not killed with it
	timeout --foreground -s KILL "$delay" "$ticktail" archive ring -o a.h5 --seal --io "$io" >out 2>&1
	status=$?
	case $status in
	0 | 124) # 124: it ended as its time was over
		took=$((took * 6 / 7)) ;; # so that about as many are killed as end
	137)
		died=$((died + 1))
		took=$((took * 8 / 7 + 1)) ;;
	*) not_ok "run $i after $died kills, delay $delay" "exit $status: $(cat out)" ;;
	esac
	# what was committed can be read at any time
	if [ $((i % 10)) = 0 ] && [ -f a.h5 ]; then
		"$ticktail" verify a.h5 >out 2>&1 || not_ok "verify after run $i" "$(cat out)"
	fi
done
note "$died of $kills runs were killed"
[ "$died" -gt 0 ] && ok "runs were killed" || not_ok "runs were killed"

success "the last run goes to the end" "$ticktail" archive ring -o a.h5 --seal
"$ticktail" read a.h5 ring/ >back
{ sed -n 1p fed.all; grep -v '^ts' fed.all; } >wanted
same "every row is there once" back wanted
success "verify finds no damage" "$ticktail" verify a.h5
if (need_python h5py) >/dev/null; then
	need_python h5py
	cat >count.py <<'PY'
import h5py
with h5py.File("a.h5", "r") as f:
    versions = f["_version_data/versions"]
    group = versions[versions.attrs["current_version"]]["ring"]
    print(sum(group[name].shape[0] for name in group),
          sum(int(group[name]["sym"].astype("i8").sum()) for name in group))
PY
	is "and for h5py" "$("$python" count.py)" \
		"$(sed 1d wanted | awk -F, '{ n++; s += $2 } END { print n, s }')"
else
	[ -z "${TT_CI:-}" ] && skip "and for h5py" "python3 with h5py is not here" || not_ok "h5py is here"
fi
finish
