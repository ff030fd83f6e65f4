//! Tail calls to loops. In: A-normal form; out: which functions form a loop by calling each other in tail position, which tail
//! calls are jumps inside such a loop, and which functions are truly recursive. Also prints the result.
//! Invariant: a jump never grows the stack; a function is recursive only if it reaches itself through a call that is not a jump.

use crate::anf::{Anf, Arg, Atom, BlockId, Rhs, Tail};
use crate::syntax::ast::{FunId, unique_names};

/// What the tail-call analysis found.
#[derive(Clone, Debug)]
pub struct Tails {
    /// The loop each function belongs to; functions of one loop jump to each other.
    component: Vec<u32>,
    /// Whether the function's loop has any jump.
    looping: Vec<bool>,
    /// Whether the function can call itself otherwise than by a jump.
    recursive: Vec<bool>,
}

impl Tails {
    /// Whether a tail call from `f` to `g` is a jump.
    pub fn is_jump(&self, f: FunId, g: FunId) -> bool {
        self.component[f.0 as usize] == self.component[g.0 as usize] && self.looping[f.0 as usize]
    }

    /// Whether a function is part of a loop.
    pub fn is_loop(&self, f: FunId) -> bool {
        self.looping[f.0 as usize]
    }

    /// The functions of `f`'s loop, in order, `f` among them.
    pub fn members(&self, f: FunId) -> Vec<FunId> {
        let c = self.component[f.0 as usize];
        (0..self.component.len()).filter(|&g| self.component[g] == c).map(|g| FunId(g as u32)).collect()
    }

    /// Whether a function is truly recursive.
    pub fn is_recursive(&self, f: FunId) -> bool {
        self.recursive[f.0 as usize]
    }
}

/// Finds loops and recursion.
pub fn analyse(anf: &Anf) -> Tails {
    let n = anf.funs.len();
    let (mut tail_calls, mut calls) = (vec![Vec::new(); n], vec![Vec::new(); n]);
    if n > 1 {
        for f in 0..n {
            for (id, _) in anf.blocks_of(FunId(f as u32)) {
                let block = anf.block(id);
                for stmt in &block.stmts {
                    if let Rhs::Call(g, _) | Rhs::Derivative(g, _) | Rhs::Root(g, ..) = stmt.rhs {
                        calls[f].push(g.0 as usize);
                    }
                }
                if let Tail::Call(g, ..) = block.tail {
                    tail_calls[f].push(g.0 as usize);
                }
            }
        }
    }
    let component = components(&tail_calls);
    let mut looping = vec![false; n];
    for f in 0..n {
        if tail_calls[f].iter().any(|&g| component[g] == component[f]) {
            looping[f] = true;
        }
    }
    // Contract each loop to one vertex and look for cycles among the calls that remain.
    let loops = component.iter().copied().max().map_or(0, |m| m as usize + 1);
    let mut outer = vec![Vec::new(); loops];
    let mut itself = vec![false; loops];
    for f in 0..n {
        let c = component[f] as usize;
        for &g in &calls[f] {
            outer[c].push(component[g] as usize);
            itself[c] |= component[g] as usize == c;
        }
        for &g in &tail_calls[f] {
            if component[g] as usize != c {
                outer[c].push(component[g] as usize);
            }
        }
    }
    let cycles = components(&outer);
    let mut sizes = vec![0; loops];
    cycles.iter().for_each(|&c| sizes[c as usize] += 1);
    let recursive = (0..n).map(|f| itself[component[f] as usize] || sizes[cycles[component[f] as usize] as usize] > 1).collect();
    Tails { component, looping, recursive }
}

/// Strongly connected components (Tarjan, without recursion): the number of each vertex's component.
fn components(edges: &[Vec<usize>]) -> Vec<u32> {
    const NEW: u32 = u32::MAX;
    let n = edges.len();
    let (mut index, mut low, mut component) = (vec![NEW; n], vec![0u32; n], vec![NEW; n]);
    let (mut next, mut found) = (0, 0);
    let mut open = Vec::new();
    let mut work: Vec<(usize, usize)> = Vec::new();
    for root in 0..n {
        if index[root] != NEW {
            continue;
        }
        work.push((root, 0));
        while let Some(&mut (v, ref mut edge)) = work.last_mut() {
            if *edge == 0 && index[v] == NEW {
                index[v] = next;
                low[v] = next;
                next += 1;
                open.push(v);
            }
            if let Some(&w) = edges[v].get(*edge) {
                *edge += 1;
                if index[w] == NEW {
                    work.push((w, 0));
                } else if component[w] == NEW {
                    low[v] = low[v].min(index[w]);
                }
                continue;
            }
            work.pop();
            if let Some(&(parent, _)) = work.last() {
                low[parent] = low[parent].min(low[v]);
            }
            if low[v] == index[v] {
                while let Some(w) = open.pop() {
                    component[w] = found;
                    if w == v {
                        break;
                    }
                }
                found += 1;
            }
        }
    }
    component
}

/// The program in A-normal form as text; jumps inside a loop are shown as `goto`.
pub fn to_text(anf: &Anf, tails: &Tails) -> String {
    let names = unique_names(anf.funs.iter().map(|f| f.name.as_str()));
    let mut out = String::new();
    for i in (1..anf.funs.len()).chain([0]) {
        let f = FunId(i as u32);
        let fun = anf.fun(f);
        let locals = unique_names(fun.locals.iter().map(|l| if l.is_empty() { "t" } else { l.as_str() }));
        let head = match (i, tails.is_loop(f), tails.is_recursive(f)) {
            (0, ..) => "program",
            (_, true, _) => "loop",
            (_, false, true) => "recursive",
            (_, false, false) => "define",
        };
        out.push_str(&format!("({head} ({}", names[i]));
        for p in &locals[..fun.params] {
            out.push(' ');
            out.push_str(p);
        }
        out.push(')');
        let mut printer = Printer { anf, tails, f, names: &names, locals: &locals, out: &mut out };
        printer.block(fun.body, 1);
        out.push_str(")\n");
    }
    out
}

struct Printer<'a> {
    anf: &'a Anf,
    tails: &'a Tails,
    f: FunId,
    names: &'a [String],
    locals: &'a [String],
    out: &'a mut String,
}

impl Printer<'_> {
    fn newline(&mut self, depth: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n("  ", depth.min(40)));
    }

    fn atom(&self, a: Arg) -> String {
        match a.atom {
            Atom::Number(x) => crate::number_text(x),
            Atom::Local(l) => self.locals[l.0 as usize].clone(),
        }
    }

    fn application(&mut self, head: &str, args: &[Arg]) {
        self.out.push('(');
        self.out.push_str(head);
        for &a in args {
            self.out.push(' ');
            self.out.push_str(&self.atom(a));
        }
        self.out.push(')');
    }

    fn choice(&mut self, test: Arg, t: BlockId, e: BlockId, depth: usize) {
        self.out.push_str(&format!("(if {}", self.atom(test)));
        self.block(t, depth + 1);
        self.block(e, depth + 1);
        self.out.push(')');
    }

    fn block(&mut self, id: BlockId, depth: usize) {
        crate::deep(|| {
            let block = self.anf.block(id);
            let lets = !block.stmts.is_empty();
            self.newline(depth);
            if lets {
                self.out.push_str("(let* (");
                for (i, stmt) in block.stmts.iter().enumerate() {
                    if i > 0 {
                        self.newline(depth + 3);
                    }
                    self.out.push_str(&format!("({} ", self.locals[stmt.local.0 as usize]));
                    match stmt.rhs {
                        Rhs::Op(op, args) => self.application(op.name(), self.anf.args(args)),
                        Rhs::Call(g, args) => self.application(&self.names[g.0 as usize], self.anf.args(args)),
                        Rhs::Derivative(g, args) => self.application(&format!("d {}", self.names[g.0 as usize]), self.anf.args(args)),
                        Rhs::Root(g, args, _) => self.application(&format!("root {}", self.names[g.0 as usize]), self.anf.args(args)),
                        Rhs::If(c, t, e) => self.choice(c, t, e, depth + 3),
                    }
                    self.out.push(')');
                }
                self.out.push(')');
                self.newline(depth + 1);
            }
            match block.tail {
                Tail::Return(a) => {
                    let text = self.atom(a);
                    self.out.push_str(&text);
                }
                Tail::If(c, t, e) => self.choice(c, t, e, depth + 1),
                Tail::Call(g, args, _) => {
                    let name = &self.names[g.0 as usize];
                    let head = if self.tails.is_jump(self.f, g) { format!("goto {name}") } else { name.clone() };
                    self.application(&head, self.anf.args(args));
                }
            }
            if lets {
                self.out.push(')');
            }
        })
    }
}
