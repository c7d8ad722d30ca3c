# Statistics of a server's log: associative arrays, fields, strings put together. Prints the same every time.
{
    hits[$4]++
    bytes[$4] += $7
    status[$6]++
    seen[$1, $4] = NR
    split($1, quad, ".")
    net = quad[1] "." quad[2] "." quad[3]
    last[net] = last[net] substr($4, 2, 1)
    if (length(last[net]) > 40) last[net] = substr(last[net], 20)
    line = $0
    gsub(/[0-9]+/, "#", line)
    shape[line]++
    byday[substr($2, 2, 3)][$6] += $7
}
END {
    n = asorti(hits, order, "@ind_str_asc")
    for (i = 1; i <= n; i++) sum = (sum * 31 + hits[order[i]] * 7 + bytes[order[i]]) % 1000000007
    m = asorti(last, nets, "@ind_str_asc")
    for (i = 1; i <= m; i++) text = text last[nets[i]]
    for (each in seen) total += seen[each]
    for (each in shape) shapes += shape[each] * length(each)
    for (day in byday) for (each in byday[day]) all += byday[day][each]
    printf "%d pages, %d hosts, checksum %d %d %d %d %d\n", n, m, sum, length(text), total, shapes, all
}
