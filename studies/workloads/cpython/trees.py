"""Parses modules, changes their trees, compiles and writes them. Prints the same every time.

trees.py FOLDER
"""

import ast
import sys
import zlib
from pathlib import Path


class Renamed(ast.NodeTransformer):
    """Gives names a suffix, and folds sums of numbers."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.copy_location(ast.Name(id=f"{node.id}_{len(node.id)}", ctx=node.ctx), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant):
            numbers = (node.left.value, node.right.value)
            if all(type(each) is int for each in numbers) and isinstance(node.op, ast.Add):
                return ast.copy_location(ast.Constant(sum(numbers)), node)
        return node


def main() -> None:
    texts = [path.read_text(encoding="ascii") for path in sorted(Path(sys.argv[1]).glob("*.py"))]
    nodes, code, sum_ = 0, 0, 0
    trees = [ast.parse(text) for text in texts]  # all of them live at once
    for tree in trees:
        nodes += sum(1 for _ in ast.walk(tree))
        changed = ast.fix_missing_locations(Renamed().visit(tree))
        code += len(compile(changed, "module", "exec").co_consts)
        sum_ = zlib.crc32(ast.unparse(changed).encode(), sum_)
    print(f"{nodes} nodes, {code} constants, checksum {sum_:08x}")


main()
