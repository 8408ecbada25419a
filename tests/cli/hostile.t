#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What others may put into a ring: links, FIFOs, devices, directories, odd names and sizes, in
# the places of our own files too.  Every command ends, by itself and with a status of its own;
# what a link points to stays as it is.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/functions.sh"
cd "$work" || exit 99

printf 'ts,px\n5000,1\n' >one.csv
new_ring() {
	rm -rf r copy a.h5
	cp -a clean r
}
"$ticktail" create clean --rolling --dtype ts:i8,px:f8 --capacity 100 --keep 3 --exact \
	--sync none -q
awk 'BEGIN { print "ts,px"; for (i = 0; i < 1000; i++) print i "," i / 4 }' |
	"$ticktail" append clean -q
newest=$(find clean -name '*.npy' | sort | tail -n 1 | sed 's,.*/,,')
oldest=$(find clean -name '*.npy' | sort | head -n 1 | sed 's,.*/,,')
commands=" $("$ticktail" --help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p' | tr '\n' ' ')"

# every command on ring r; words on what went wrong
run_all() {
	for command in read tail info verify status backup prune merge archive append seal \
		recover verify; do
		case $commands in *" $command "*) ;; *) continue ;; esac
		case $command in
		read) set -- r --tail 3 ;;
		tail) set -- r -n 3 ;;
		backup) set -- r copy ;;
		prune) set -- r --older-than 1w ;;
		archive) set -- r -o a.h5 ;;
		append) set -- r one.csv ;;
		seal) set -- r --timeout 1 ;;
		*) set -- r ;;
		esac
		[ ! -e copy ] || rm -rf copy
		timeout -k 1 20 "$ticktail" $command "$@" >out 2>&1 </dev/null
		status=$?
		[ $status -le 3 ] || printf '%s: exit %s: %s\n' "$command" $status "$(head -c 300 out)"
		# a refusal has words
		[ $status = 0 ] || [ -s out ] || printf '%s: exit %s without a word\n' "$command" $status
	done
}

# with NAME WORDS...: an intruder is made by the words in a clean ring
with() {
	name=$1
	shift
	new_ring
	printf 'treasure of 8 words and more: keep it as it is, whatever comes' >target
	cp target target.was
	(cd r && eval "$*") || { not_ok "$name: made" "$*"; return; }
	is "$name" "$(run_all)" ""
	cmp -s target target.was || not_ok "$name: the target of a link is as it was"
	[ -e made-through-a-link ] && not_ok "$name: nothing is made through a link" && rm -f made-through-a-link
}

# places of our own files
for own in .lock .ticktail .writer .next .merge .ticktail.new "$newest" "$oldest"; do
	with "$own is a link" "rm -f $own && ln -s ../target $own"
	with "$own is a link to nothing" "rm -f $own && ln -s ../made-through-a-link $own"
	with "$own is a link to itself" "rm -f $own && ln -s $own $own"
	with "$own is a FIFO" "rm -f $own && mkfifo $own"
	with "$own is a directory" "rm -f $own && mkdir $own"
	with "$own is empty" ": >$own"
	with "$own is one byte" "printf x >$own"
	if [ "$(id -u)" = 0 ] && mknod device c 1 7 2>/dev/null; then
		rm -f device
		with "$own is a device" "rm -f $own && mknod $own c 1 7"
	fi
done
with ".lock is gone" "rm .lock"
with ".ticktail is gone" "rm .ticktail"
with ".lock is of an odd size" "printf 1234567 >>.lock"
with ".lock is huge" "truncate -s 3G .lock"
with ".lock names files that are not there" \
	"printf '\\001\\0\\0\\0\\0\\0\\0\\0\\002\\0\\0\\0\\0\\0\\0\\0' >.lock"
with ".lock descends" "printf '\\377\\0\\0\\0\\0\\0\\0\\0\\002\\0\\0\\0\\0\\0\\0\\0' >.lock"
with ".lock names the far future" \
	"printf '\\001\\0\\0\\0\\0\\0\\0\\0\\377\\377\\377\\377\\377\\377\\377\\377' >.lock"
with ".ticktail is huge" "truncate -s 3G .ticktail"
with ".ticktail is cut" "truncate -s 5000 .ticktail"
with ".ticktail is of zeros" "truncate -s 0 .ticktail && truncate -s 28672 .ticktail"

# other names
with "leading zeros" "cp $newest 0$newest; ln -s ../target 01.npy"
with "a name above 2^64" "cp $newest 99999999999999999999.npy"
with "a name of 300 digits" "cp $newest \$(printf '%0200d' 7).npy"
with "a file from the far future" "cp $newest 18446744073709551615.npy"
with "files without a digit" "cp $newest .npy; cp $newest x.npy; cp $newest ./-5.npy; cp $newest 1e3.npy"
with "a merged one that is none" "cp $newest 7.npy_; : >8.npy_; ln -s ../target 9.npy_; mkfifo 10.npy_"
with "intruders outside the queue" "ln -s ../target 5.npy; mkfifo 6.npy; mkdir 7.npy; : >8.npy; printf x >9.npy"
with "a mark file" "mkfifo $newest.mark; ln -s ../target $oldest.mark"
with "put-aside files that are none" "mkfifo .1.npy.bad-1; ln -s ../target .lock.bad-1; mkdir .ticktail.bad-1"

# sizes that a header claims
claim() { # FILE EXTENT: the first extent, in its 21 columns
	printf '%21d' "$2" >extent
	at=$(grep -abo "'shape': (" "$1" | head -n 1 | cut -d: -f1)
	dd if=extent of="$1" bs=1 seek=$((at + 10)) conv=notrunc 2>/dev/null
}
new_ring
cp "r/$oldest" huge.npy
claim huge.npy 335544320
with "a file that claims 5 GB" "cp ../huge.npy $oldest"
with "a newest one that does" "cp ../huge.npy $newest"
with "a sparse one of 5 GB that is none" "truncate -s 5G $oldest"
with "a stray one of 5 GB" "truncate -s 5G 12.npy"

# ---- while it runs ----

new_ring
mkfifo feed
"$ticktail" append r feed --batch 1 >fed 2>&1 &
pid=$!
exec 9>feed
printf 'ts,px\n1000,1\n' >&9
wait_for 20 sh -c "[ \$('$ticktail' read r --tail 1 | tail -n 1 | cut -d, -f1) = 1000 ]"
truncate -s 1G r/.ticktail
awk 'BEGIN { for (i = 1001; i < 1500; i++) print i "," i / 4 }' >&9
exec 9>&-
wait $pid
is "a settings file that grows under the writer" $? 0
is "all rows are there" "$("$ticktail" read r --tail 1 | tail -n 1 | cut -d, -f1)" 1499
success "and the ring is whole" "$ticktail" verify r

# ---- the directory ----

odd="a ring
of 'two' lines"
cp -a clean "$odd"
ln -s "$odd" "a link"
mkdir sub
for path in "$odd" "a link" "sub/../$odd" "./$odd/" "a link/."; do
	success "a ring at '$(echo "$path" | tr '\n' '|')'" "$ticktail" append "$path" one.csv
	success "is read" "$ticktail" read "$path" --tail 2
	success "is pruned" "$ticktail" prune "$path" --keep-bytes 1M
	success "is whole" "$ticktail" verify "$path"
done

# the directory is taken away and made again under the writer
new_ring
mkfifo feed2
timeout 60 "$ticktail" append r feed2 --batch 1 >fed 2>&1 &
pid=$!
exec 9>feed2
printf 'ts,px\n1000,1\n' >&9
wait_for 20 sh -c "[ \$('$ticktail' read r --tail 1 | tail -n 1 | cut -d, -f1) = 1000 ]"
mv r gone
cp -a clean r
awk 'BEGIN { for (i = 1001; i < 1050; i++) print i "," i / 4 }' >&9
exec 9>&-
wait $pid
[ $? -le 1 ] && ok "a writer whose directory was moved ends by itself" || not_ok "moved" "$(cat fed)"
is "its rows went where it wrote" "$("$ticktail" read gone --tail 1 | tail -n 1 | cut -d, -f1)" 1049
success "the new directory is another ring" "$ticktail" append r one.csv

# ---- modes: never more than the umask says ----

for mask in 0000 0027 0077 0777; do
	rm -rf m
	(
		umask $mask
		"$ticktail" create m --rolling --dtype ts:i8,px:f8 --capacity 100 --keep 2 -q
	) >"$work/.out" 2>&1
	status=$?
	chmod u+rwx m 2>/dev/null
	if [ $status = 0 ]; then
		wide=$(find m -type f -perm /"$mask" 2>/dev/null | wc -l)
		[ $mask = 0000 ] || is "umask $mask: nothing is wider" "$wide" 0
		is "umask $mask: nobody else can hold the writer's lock" \
			"$(find m -name .writer -perm /077 | wc -l)" 0
		is "umask $mask: nobody else can write" "$(find m -type f -perm /022 | wc -l)" 0
	else
		ok "umask $mask: refused"
		[ -s "$work/.out" ] || not_ok "umask $mask: with words"
	fi
done
finish
