"""The language, read and evaluated in Python: an independent second opinion on what a program means.

In: program text and input values; out: the value with all first and second derivatives. Nothing here is shared with the
Rust implementation. Arithmetic is that of the context handed in: mpmath's `mp` for references, `noise.Noisy` for conditioning.
"""

import re

import duals

TOKEN = re.compile(r"\s+|;[^\n]*|#\|.*?\|#|([()\[\]]|[^\s()\[\];]+)", re.S)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
SPECIAL = {"+inf.0": float("inf"), "-inf.0": float("-inf"), "+nan.0": float("nan"), "#t": 1.0, "#f": 0.0}


def atom(text):
    """A token that is no parenthesis: a float or a name."""
    if text in SPECIAL:
        return SPECIAL[text]
    if NUMBER.match(text):
        return float(text)
    if re.match(r"[+-]?\d+/\d+$", text):
        top, bottom = text.split("/")
        return int(top) / int(bottom)
    return text


def read(text):
    """All data of a text; `[a b]` becomes `(vec a b)`."""
    stack = [[]]
    for match in TOKEN.finditer(text):
        token = match.group(1)
        if token is None:
            continue
        if token == "(":
            stack.append([])
        elif token == "[":
            stack.append(["vec"])
        elif token in ")]":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(atom(token))
    assert len(stack) == 1, "unbalanced"
    return stack[0]


class Function:
    """A closure."""

    def __init__(self, params, body, env):
        self.params, self.body, self.env = params, body, env


class Env:
    """Names in scope."""

    def __init__(self, parent=None):
        self.names, self.parent = {}, parent

    def find(self, name):
        env = self
        while env is not None:
            if name in env.names:
                return env.names[name]
            env = env.parent
        return None


class Evaluator:
    """Evaluates programs over one kind of numbers."""

    def __init__(self, context):
        self.n = duals.Numbers(context)

    def program(self, text, inputs):
        env = Env()
        env.names.update(inputs)
        data = [d for d in read(text) if not (isinstance(d, list) and d and d[0] == "input")]
        return self.body(data, Env(env), None)

    def body(self, items, env, loop):
        *definitions, last = items
        for d in definitions:
            assert d[0] == "define", d
            if isinstance(d[1], list):
                env.names[d[1][0]] = Function(d[1][1:], d[2:], env)
            else:
                env.names[d[1]] = self.bound(d[2], env)
        return self.eval(last, env, loop)

    def bound(self, value, env):
        """What a name is bound to: a function when the value is a lambda."""
        if isinstance(value, list) and value and value[0] == "lambda" and env.find("lambda") is None:
            return Function(value[1], value[2:], env)
        return self.eval(value, env, None)

    def call(self, function, args):
        env = Env(function.env)
        env.names.update(zip(function.params, args))
        return self.body(function.body, env, None)

    def true(self, value):
        return value.v != 0

    def eval(self, e, env, loop):
        if isinstance(e, float):
            return self.n.constant(e)
        if isinstance(e, str):
            value = env.find(e)
            if value is None and e == "pi":
                return self.n.constant(3.141592653589793)
            assert value is not None, f"unbound {e}"
            return value
        head, args = e[0], e[1:]
        if isinstance(head, list):
            inner = Env(env)
            inner.names.update(zip(head[1], [self.bound(a, env) for a in args]))
            return self.body(head[2:], inner, loop)
        known = env.find(head)
        if isinstance(known, Function):
            return self.call(known, [self.eval(a, env, None) for a in args])
        assert known is None, f"{head} is no function"
        form = getattr(self, "form_" + FORMS.get(head, ""), None)
        if form is not None:
            return form(args, env, loop)
        return self.n.apply(head, [self.eval(a, env, None) for a in args])

    def form_if(self, args, env, loop):
        test = self.eval(args[0], env, None)
        return self.eval(args[1] if self.true(test) else args[2], env, loop)

    def form_cond(self, args, env, loop):
        for clause in args:
            if clause[0] == "else" or self.true(self.eval(clause[0], env, None)):
                return self.body(clause[1:], Env(env), loop)
        raise AssertionError("cond without else")

    def form_and(self, args, env, loop):
        value = self.n.constant(1.0)
        for a in args:
            value = self.eval(a, env, loop)
            if not self.true(value):
                break
        return value

    def form_or(self, args, env, loop):
        value = self.n.constant(0.0)
        for a in args:
            value = self.eval(a, env, loop)
            if self.true(value):
                break
        return value

    def form_let(self, args, env, loop):
        if isinstance(args[0], str):
            inner = Env(env)
            function = Function([b[0] for b in args[1]], args[2:], inner)
            inner.names[args[0]] = function
            return self.call(function, [self.eval(b[1], env, None) for b in args[1]])
        inner = Env(env)
        inner.names.update({name: self.bound(value, env) for name, value in args[0]})
        return self.body(args[1:], inner, loop)

    def form_let_star(self, args, env, loop):
        for name, value in args[0]:
            inner = Env(env)
            inner.names[name] = self.bound(value, env)
            env = inner
        return self.body(args[1:], Env(env), loop)

    def form_letrec(self, args, env, loop):
        inner = Env(env)
        for name, value in args[0]:
            inner.names[name] = self.bound(value, inner)
        return self.body(args[1:], inner, loop)

    def form_loop(self, args, env, _):
        names = [b[0] for b in args[0]]
        values = [self.eval(b[1], env, None) for b in args[0]]
        while True:
            inner = Env(env)
            inner.names.update(zip(names, values))
            result = self.body(args[1:], inner, "loop")
            if not isinstance(result, Again):
                return result
            values = result.values

    def form_recur(self, args, env, loop):
        assert loop == "loop", "recur outside of a loop"
        return Again([self.eval(a, env, None) for a in args])


class Again:
    """What `recur` gives: the values of the next round."""

    def __init__(self, values):
        self.values = values


FORMS = {
    "if": "if", "cond": "cond", "and": "and", "or": "or", "let": "let", "let*": "let_star", "letrec": "letrec",
    "letrec*": "letrec", "loop": "loop", "recur": "recur",
}  # fmt: skip
