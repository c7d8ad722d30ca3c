# Makes words, counts and sorts them, joins and splits lists, and computes: every value is a Tcl_Obj. No value depends on
# the order of a hash table.
proc random {} {
    global state
    set state [expr {($state * 1103515245 + 12345) % 2147483648}]
    return $state
}
proc word {} {
    set made ""
    for {set n [expr {2 + [random] / 65536 % 6}]} {$n > 0} {incr n -1} {
        append made [string index abcdefghijklmnop [expr {[random] / 65536 % 16}]]
    }
    return $made
}
proc tree {depth} {
    if {$depth == 0} {return [list [word] [random]]}
    return [list [tree [expr {$depth - 1}]] [tree [expr {$depth - 1}]]]
}
proc leaves {node depth} {
    if {$depth == 0} {return [list [lindex $node 0]]}
    return [concat [leaves [lindex $node 0] [expr {$depth - 1}]] [leaves [lindex $node 1] [expr {$depth - 1}]]]
}
proc round {} {
    set words {}
    for {set n 0} {$n < 3000} {incr n} {lappend words [word]}
    foreach each $words {dict incr counts $each}
    set sorted [lsort -unique $words]
    foreach each $sorted {dict set index [string reverse $each] [list [dict get $counts $each] [string length $each]]}
    set sum 0
    dict for {key pair} $index {incr sum [expr {[lindex $pair 0] * [lindex $pair 1]}]}
    set found [leaves [tree 9] 9]
    foreach each [split [join [lsort $found] ,] ,] {set seen($each) [incr sum]}
    return "[llength $sorted] $sum [array size seen] [lindex $sorted end]"
}
set state 20261126
for {set n 0} {$n < 10 * [lindex $argv 0]} {incr n} {puts [round]}
