"""Templates rewritten so that every loop, macro, comparison and slice charges the meter."""

from collections import deque
from collections.abc import Sequence
from typing import Final, cast

from jinja2 import nodes
from jinja2.visitor import NodeTransformer

from coterie.dsl.templates.jinja_engine import CHARGE, COMPARE, EACH, KEY, SLICE

MAX_NESTING: Final = 60
"""Maximum nesting of an expression: its code is nested as deeply."""


def weight(tree: Sequence[nodes.Node]) -> int:
    """Return the number of nodes: the steps of running each once."""
    return sum(1 + weight(list(node.iter_child_nodes())) for node in tree)


def nesting(tree: nodes.Node) -> int:
    """Return the depth of the tree, without recursion."""
    deepest = 0
    queue = deque([(tree, 1)])
    while queue:
        node, depth = queue.pop()
        deepest = max(deepest, depth)
        queue.extend((child, depth + 1) for child in node.iter_child_nodes())
    return deepest


def _filter(value: nodes.Node, name: str, *args: nodes.Expr) -> nodes.Filter:
    expression = cast("nodes.Expr", value)
    return nodes.Filter(expression, name, list(args), [], None, None, lineno=value.lineno)


def _charge_filter(steps: int, line: int) -> nodes.Filter:
    return _filter(nodes.Const(steps, lineno=line), CHARGE)


class MeteredCode(NodeTransformer):
    """Rewrites a tree; other nodes are charged as one step each."""

    def visit_TemplateData(self, node: nodes.TemplateData) -> nodes.Node:
        """Charge text as values are charged."""
        return nodes.Const(node.data, lineno=node.lineno)

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        """Join the operands through the filter `join`, which shows each: true and not True."""
        self.generic_visit(node)
        return _filter(nodes.List(node.nodes, lineno=node.lineno), "join")

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:
        """Compare through a filter."""
        self.generic_visit(node)
        operands: list[nodes.Expr] = []
        for operand in node.ops:
            operands += [nodes.Const(operand.op, lineno=node.lineno), operand.expr]
        return _filter(node.expr, COMPARE, *operands)

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        """Slice through a filter."""
        self.generic_visit(node)
        if not isinstance(node.arg, nodes.Slice):
            return node
        ends = (node.arg.start, node.arg.stop, node.arg.step)
        nothing = nodes.Const(None, lineno=node.lineno)
        return _filter(node.node, SLICE, *(nothing if end is None else end for end in ends))

    def visit_Pair(self, node: nodes.Pair) -> nodes.Node:
        """Charge for a key that is computed."""
        self.generic_visit(node)
        if not isinstance(node.key, nodes.Const):
            node.key = _filter(node.key, KEY)
        return node

    def visit_Call(self, node: nodes.Call) -> nodes.Node:
        """Charge for lists of arguments."""
        return self._arguments(node)

    def visit_Filter(self, node: nodes.Filter) -> nodes.Node:
        """Charge for lists of arguments."""
        return self._arguments(node)

    def visit_Test(self, node: nodes.Test) -> nodes.Node:
        """Charge for lists of arguments."""
        return self._arguments(node)

    def _arguments(self, node: nodes.Call | nodes.Filter | nodes.Test) -> nodes.Node:
        self.generic_visit(node)
        if node.dyn_args is not None:
            node.dyn_args = _filter(node.dyn_args, EACH)
        if node.dyn_kwargs is not None:
            node.dyn_kwargs = _filter(node.dyn_kwargs, EACH)
        return node

    def visit_For(self, node: nodes.For) -> nodes.Node:
        """Charge for the items, for each test, and for each round."""
        own, tested = weight(node.body), weight([node.test] if node.test else [])
        self.generic_visit(node)
        node.iter = _filter(node.iter, EACH)
        if node.test is not None:
            charged = _charge_filter(1 + tested, node.lineno)
            node.test = nodes.And(charged, node.test, lineno=node.lineno)
        node.body = self._body(node.body, own, node.lineno)
        return node

    def visit_Macro(self, node: nodes.Macro) -> nodes.Node:
        """Charge for each call."""
        return self._block(node)

    def visit_CallBlock(self, node: nodes.CallBlock) -> nodes.Node:
        """Charge for each call of the caller."""
        return self._block(node)

    def _block(self, node: nodes.Macro | nodes.CallBlock) -> nodes.Node:
        own = weight(node.body)
        self.generic_visit(node)
        node.body = self._body(node.body, own, node.lineno)
        return node

    def _body(self, body: list[nodes.Node], steps: int, line: int) -> list[nodes.Node]:
        charged = nodes.ExprStmt(_charge_filter(2 + steps, line), lineno=line)
        return [charged, *body]


def metered(tree: nodes.Template) -> nodes.Template:
    """Return the rewritten tree."""
    return cast("nodes.Template", MeteredCode().visit(tree))
