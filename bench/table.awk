# SPDX-License-Identifier: Apache-2.0
# The JSON lines of bench.c, one object a line, no blanks outside strings.  mode: text, markdown,
# or curves (into dir).

# The value of a key of the outermost object, "" without one; strings without their quotes.
function get(key,	at, rest) {
	at = index($0, "\"" key "\":")
	if (!at)
		return ""
	rest = substr($0, at + length(key) + 3)
	if (substr(rest, 1, 1) == "\"")
		return substr(rest, 2, index(substr(rest, 2), "\"") - 1)
	if (substr(rest, 1, 1) == "{")
		return substr(rest, 1, index(rest, "}"))
	if (substr(rest, 1, 2) == "[[")
		return substr(rest, 2, index(rest, "]]") - 1)
	sub(/[,}].*/, "", rest)
	return rest
}

function member(object, key,	at, rest) {
	at = index(object, "\"" key "\":")
	if (!at)
		return ""
	rest = substr(object, at + length(key) + 3)
	sub(/[,}].*/, "", rest)
	return rest
}

function short(v) {
	return v >= 100 ? sprintf("%.0f", v) : v >= 10 ? sprintf("%.1f", v) : sprintf("%.2f", v)
}

function with_unit(v, unit) {
	if (v == "" || v == "null")
		return "-"
	v += 0
	if (unit ~ /^ns/) {
		if (v >= 1e6)
			return short(v / 1e6) " ms"
		if (v >= 1e4)
			return short(v / 1e3) " us"
		return short(v) " ns"
	}
	if (unit == "rows/s")
		return v >= 1e6 ? short(v / 1e6) " M/s" : v >= 1e3 ? short(v / 1e3) " k/s" : short(v) " /s"
	if (unit ~ /^%/)
		return sprintf("%.2f %%", v)
	return short(v) " " unit
}

function goal_of() {
	return get("goal") == "" ? "" : (get("sense") == "at least" ? ">= " : "<= ") get("goal") + 0
}

function verdict() {
	return get("ok") == "" ? "shown" : get("ok") == "true" ? "ok" : "MISS"
}

# [[a,b],[c,d]] to lines "a b"
function write_curve(file, title, curve) {
	if (curve == "")
		return
	gsub(/\],\[/, "\n", curve)
	gsub(/[][]/, "", curve)
	gsub(/,/, " ", curve)
	printf "# %s\n%s\n", title, curve >file
	close(file)
}

function curves(plot, title, other) {
	number++
	write_curve(sprintf("%s/%s.%02da.dat", dir, plot, number), title, get("curve"))
	if (other != "" && !((plot SUBSEP other) in drawn))
		write_curve(sprintf("%s/%s.%02db.dat", dir, plot, number), other, get("other_curve"))
	drawn[plot SUBSEP other] = 1
}

get("skipped") != "" {
	skipped[++skips] = get("bench") ": " get("case") ": " get("skipped")
	next
}

mode == "curves" {
	name = get("case")
	if (get("bench") == "append_rate" && get("curve") != "") {
		title = name
		sub(/^.* rows\/s, /, "", title)
		other = get("against")
		if (other == "the same without helper")
			other = title ", no helper"
		if (other == "the same without archiver")
			other = ""
		curves("append-latency-" get("rate") + 0, title, other)
	} else if (get("bench") == "roll_stall") {
		curves("roll-stall", "prepared, " name, "inline, " name)
	} else if (name ~ /^1 reader sleeps/) {
		curves("wake-latency", substr(name, 18), "bare futex")
	} else if (name ~ /^1 reader (spins|polls)/) {
		curves("spin-latency", substr(name, 10), "a bare cache line")
	}
	next
}

{
	n++
	target[n] = get("target")
	bench[n] = get("bench")
	name_of[n] = get("case")
	ours[n] = with_unit(get("ours"), get("unit"))
	theirs[n] = with_unit(get("other"), get("unit"))
	unit[n] = get("unit")
	against[n] = get("against")
	ratio[n] = get("ratio") == "null" ? "-" : short(get("ratio") + 0)
	goal[n] = goal_of()
	said[n] = verdict()
	if (get("cpu") != "")
		machine = get("cpu") ", " get("cpus") " processors, Linux " get("kernel")
	if (get("load") + 0 > load)
		load = get("load") + 0
	pinned[get("bench")] = get("pinned") != "" ? get("pinned") : pinned[get("bench")]
	fs[get("bench")] = get("fs") != "" ? get("fs") : fs[get("bench")]
	for (k in kinds)
		if (get(kinds[k]) != "") {
			quantiles[n] = get(kinds[k])
			quantiles_other[n] = get("other_" kinds[k])
		}
}

BEGIN {
	split("latency_ns stall_ns", kinds, " ")
	split("p50 p90 p99 p99.9 p99.99 max", parts, " ")
	split("append_latency append_peers append_rate roll_stall reader_latency fanout scan staged", order, " ")
	heading["append_latency"] = "L1: one append over the least it could cost"
	heading["append_peers"] = "L2, L3: single rows, each visible to another process on return"
	heading["append_rate"] = "L4: append latency at a fixed rate"
	heading["roll_stall"] = "L5: the append that finds the file full"
	heading["reader_latency"] = "L6, L7: from the writer to a reader in another process"
	heading["fanout"] = "L8: the writer beside sleeping readers"
	heading["scan"] = "L9: the sum of a column"
	heading["staged"] = "G1, G2: the staged-changes array, in memory"
}

function text(	i) {
	printf "%-3s %-44s %10s %10s %8s %8s %-5s %s\n", "", "case", "ours", "other", "ratio", "goal", "", "against"
	for (i = 1; i <= n; i++)
		printf "%-3s %-44s %10s %10s %8s %8s %-5s %s\n", target[i], name_of[i], ours[i], \
			theirs[i], ratio[i], goal[i], said[i], against[i]
	for (i = 1; i <= skips; i++)
		print "skipped: " skipped[i]
}

function quantile_row(words, object,	k, row) {
	row = "| " words " |"
	for (k = 1; k in parts; k++)
		row = row " " with_unit(member(object, parts[k]), "ns") " |"
	print row
}

function markdown(	b, i, any, done) {
	print "# Measured\n"
	print "Made by `make bench` and `bench/table.sh markdown`. Only the ratios mean something: both sides"
	print "ran in turn in one program on one machine, " machine ". Its load average was"
	print "at most " short(load) " (the programs themselves are about 2 of it). What is measured how, and what"
	print "misleads, is in [bench/README.md](../bench/README.md). A goal says how often better (at least)"
	print "or dearer (at most) ours is to be; a line without one is shown, not judged."
	if (load > 4)
		print "\n**The machine was busy with other work: ratios of this run say little.**"
	for (b = 1; b in order; b++) {
		any = 0
		for (i = 1; i <= n; i++) {
			if (bench[i] != order[b])
				continue
			if (!any++) {
				print "\n## " heading[order[b]] "\n"
				print "| case | unit | ours | other | against | ratio | goal | |"
				print "|---|---|--:|--:|---|--:|--:|---|"
			}
			print "| " name_of[i] " | " unit[i] " | " ours[i] " | " theirs[i] " | " against[i] " | " \
				ratio[i] " | " goal[i] " | " (said[i] == "MISS" ? "**miss**" : said[i]) " |"
		}
		if (!any)
			continue
		if (pinned[order[b]] != "" || fs[order[b]] != "")
			print "\nPinned: " pinned[order[b]] "." (fs[order[b]] != "" ? " File system: " fs[order[b]] "." : "")
		any = 0
		for (i = 1; i <= n; i++) {
			if (bench[i] != order[b] || quantiles[i] == "")
				continue
			if (!any++) {
				print "\n| case, side | p50 | p90 | p99 | p99.9 | p99.99 | max |"
				print "|---|--:|--:|--:|--:|--:|--:|"
			}
			quantile_row(name_of[i] ": ours", quantiles[i])
			if (quantiles_other[i] != "" && !((quantiles_other[i]) in done)) {
				quantile_row(name_of[i] ": other side", quantiles_other[i])
				done[quantiles_other[i]] = 1
			}
		}
		picture(order[b])
	}
	for (i = 1; i <= skips; i++)
		print (i == 1 ? "\n" : "") "Skipped: " skipped[i] "."
}

function picture(name) {
	if (name == "append_rate")
		print "\n![append latency at 100,000 rows/s](img/append-latency-100000.svg)" \
			"\n![append latency at 1,000 rows/s](img/append-latency-1000.svg)"
	else if (name == "roll_stall")
		print "\n![stall at a roll](img/roll-stall.svg)"
	else if (name == "reader_latency")
		print "\n![wake latency](img/wake-latency.svg)\n![spin latency](img/spin-latency.svg)"
}

END {
	if (mode == "text")
		text()
	else if (mode == "markdown")
		markdown()
}
