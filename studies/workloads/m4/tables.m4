divert(-1)dnl tables.m4: `scale' rounds of lists, sorts, sums and texts; printed are sums that another order would change.
changecom(`/*', `*/')
define(`for', `ifelse(eval($2 > $3), 1, , `define(`$1', $2)_for(`$1', $3, `$4')')')
define(`_for', `$3`'ifelse($1, $2, , `define(`$1', incr($1))$0(`$1', $2, `$3')')')
define(`foreach', `ifelse(`$3', , , `define(`$1', `$3')$2`'foreach(`$1', `$2', shift(shift(shift($@))))')')
define(`seed', 12345)
define(`next', `define(`seed', eval((seed * 1103 + 12345) % 65536))seed')
define(`reversed', `ifelse($#, 0, , $#, 1, ``$1'', `reversed(shift($@)), `$1'')')
define(`joined', `ifelse($#, 1, `$1', `$1+joined(shift($@))')')
define(`sum', 0)
define(`add', `define(`sum', eval((sum * 31 + $1) % 1000003))')
define(`numbers', `next, next, next, next, next, next, next, next, next, next, next, next')
define(`gcd', `ifelse($2, 0, $1, `gcd($2, eval($1 % $2))')')
define(`text', `translit(patsubst(`$1', `[aeiou]', `<&>'), `a-z', `b-za')')
define(`word', `substr(`the quick brown fox jumps over the lazy dog and runs', eval(next % 30), 12)')
define(`round', `dnl
foreach(`x', `add(x)', reversed(numbers))dnl
add(eval(joined(numbers)))dnl
for(`y', 1, 12, `add(gcd(next, y))define(`cell_'y, word)')dnl
for(`z', 1, 12, `add(len(text(indir(`cell_'z))))')dnl
')
for(`i', 1, scale, `for(`j', 1, 50, `round')divert(0)i: sum
divert(-1)')
