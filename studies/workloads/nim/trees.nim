# Search trees, sequences, strings and tables that come and go. Prints the same every time.
#
#     trees ROUNDS
import std/[os, strutils, tables]

type
  Node = ref object
    key: uint32
    name: string
    left, right: Node

var state = 2008'u64

proc chance(bound: uint64): uint64 =
  state = state * 6364136223846793005'u64 + 1442695040888963407'u64
  result = (state shr 33) mod bound

proc insert(node: Node, key: uint32): Node =
  if node == nil:
    return Node(key: key, name: "node number " & $key)
  if key < node.key:
    node.left = insert(node.left, key)
  elif key > node.key:
    node.right = insert(node.right, key)
  node

proc sum(node: Node): uint64 =
  if node == nil: 0'u64
  else: (sum(node.left) * 3 + node.key.uint64 + node.name.len.uint64 + sum(node.right) * 7) and 0xffffffffff'u64

proc main() =
  let rounds = parseInt(paramStr(1))
  var total = 0'u64
  for round in 0 ..< rounds:
    var roots: seq[Node]
    for tree in 0 ..< 6:
      var root: Node
      for n in 0 ..< 9000:
        root = insert(root, chance(1_000_000).uint32)
      roots.add(root)
      total = (total * 31 + sum(root)) and 0xffffffffff'u64
    var counts: Table[string, seq[int]]
    for n in 0 ..< 25000:
      let word = "w" & $chance(4000)
      counts.mgetOrPut(word, @[]).add(n)
    for n in 0 ..< 4000:
      let word = "w" & $n
      if word in counts:
        total = (total * 17 + uint64(counts[word].len * n + counts[word][0])) and 0xffffffffff'u64
    var lines: seq[string]
    for n in 0 ..< 20000:
      lines.add("line " & $chance(99999) & " of " & $n)
    for line in lines:
      for part in line.split(' '):
        total = (total + part.len.uint64 * 13) and 0xffffffffff'u64
  echo rounds, " rounds, checksum ", total.toHex(10)

main()
