//! The code generator's own form of a program: values made of machine-sized operations. In: requests for operations; out: a list
//! of values in which equal ones are shared.
//! Invariants: arguments come before their users; a value stands in the outermost block that knows its arguments, so what does not
//! change in a loop is computed outside it.

use crate::source::Span;
use neural_compiler_math as math;
use rustc_hash::FxHashMap;

/// A value: one number, or one bit, per lane.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(super) struct Value(pub(super) u32);

/// Numbers, or the bits that comparisons give.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    Number,
    Mask,
}

/// A comparison, numbered as the instruction's operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub(super) enum Test {
    Equal = 0x00,
    Less = 0x11,
    LessEqual = 0x12,
    Unordered = 0x03,
    /// Or not a number.
    NotEqual = 0x04,
    /// Or not a number.
    NotLess = 0x15,
    /// Or not a number.
    NotLessEqual = 0x16,
    /// Neither is NaN.
    OrderedNotEqual = 0x0c,
}

impl Test {
    /// The test that holds just where this one does not, if there is an instruction for it.
    pub(super) fn inverse(self) -> Option<Test> {
        match self {
            Test::Equal => Some(Test::NotEqual),
            Test::NotEqual => Some(Test::Equal),
            Test::Less => Some(Test::NotLess),
            Test::NotLess => Some(Test::Less),
            Test::LessEqual => Some(Test::NotLessEqual),
            Test::NotLessEqual => Some(Test::LessEqual),
            Test::Unordered | Test::OrderedNotEqual => None,
        }
    }
}

/// Which lanes of a vector.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Half {
    First,
    Second,
}

/// An operation of the machine, lane by lane.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Prim {
    Add,
    Sub,
    Mul,
    Div,
    /// `a < b ? a : b`: the second where they are equal or one is NaN.
    Lower,
    /// `a > b ? a : b`: the second where they are equal or one is NaN.
    Upper,
    /// The larger one as the language has it: NaN wins, -0 < +0.
    Max,
    And,
    Or,
    Xor,
    /// `a b + c`, rounded once, for kernels that are written so.
    MulAdd,
    /// `a b - c`, rounded once.
    MulSub,
    /// `c - a b`, rounded once.
    NegMulAdd,
    /// `a 2^b`, rounded once.
    Scale,
    /// The sum of the bits, as whole numbers.
    AddBits,
    ShiftLeft(u8),
    ShiftRight(u8),
    Sqrt,
    /// To a whole number: 0 nearest, 1 down, 2 up, 3 towards zero.
    Round(u8),
    /// Every NaN of the first becomes the second.
    Quiet,
    /// The number, computed by the function itself where the mask holds, which is rare. Arguments: mask, number, the function's
    /// argument.
    Mend(Function<math::Unary>),
    /// The same for a function of two arguments, which come last.
    MendPair(Function<math::Binary>),
    /// The number; where the mask holds, the code gives up and the lane engine must run the batch. Arguments: mask, number.
    Refuse,
    /// `a / b` with the bits of a division, from `c = 1 / b` and `d = b b`; see `quotients`.
    Quotient,
    /// Half of the lanes of an f32 as f64, the first half or the second.
    Widen(Half),
    /// Both halves, rounded to f32.
    Narrow,
    Compare(Test),
    /// Whether the highest bit is set.
    HighBit,
    /// The first where the mask holds, else the second. Arguments: mask, yes, no.
    Blend,
    /// The number where the mask holds, else +0. Arguments: mask, number.
    Keep,
    Not,
    Both,
    Either,
    /// The first without the second.
    Without,
    /// All lanes.
    Always,
}

impl Prim {
    pub(super) fn class(self) -> Class {
        match self {
            Prim::Compare(_) | Prim::HighBit | Prim::Not | Prim::Both | Prim::Either | Prim::Without | Prim::Always => Class::Mask,
            Prim::Add
            | Prim::Sub
            | Prim::Mul
            | Prim::Div
            | Prim::Lower
            | Prim::Upper
            | Prim::Max
            | Prim::And
            | Prim::Or
            | Prim::Xor
            | Prim::MulAdd
            | Prim::MulSub
            | Prim::NegMulAdd
            | Prim::Scale
            | Prim::AddBits
            | Prim::ShiftLeft(_)
            | Prim::ShiftRight(_)
            | Prim::Mend(_)
            | Prim::MendPair(_)
            | Prim::Refuse
            | Prim::Widen(_)
            | Prim::Narrow
            | Prim::Quotient
            | Prim::Sqrt
            | Prim::Round(_)
            | Prim::Quiet
            | Prim::Blend
            | Prim::Keep => Class::Number,
        }
    }

    pub(super) fn commutes(self) -> bool {
        matches!(self, Prim::Add | Prim::Mul | Prim::AddBits | Prim::And | Prim::Or | Prim::Xor | Prim::Both | Prim::Either)
    }
}

/// A function of the math crate; equal when it is the same one.
#[derive(Debug)]
pub(super) struct Function<F: 'static>(pub(super) &'static F);

impl<F> Clone for Function<F> {
    fn clone(&self) -> Function<F> {
        *self
    }
}

impl<F> Copy for Function<F> {}

impl<F> PartialEq for Function<F> {
    fn eq(&self, other: &Function<F>) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl<F> Eq for Function<F> {}

impl<F> std::hash::Hash for Function<F> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::ptr::hash(self.0, state);
    }
}

/// The values a value is made of, as many as count.
pub(super) type Args = [Value; 4];

/// What a value is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Def {
    /// A number of an input that varies from lane to lane.
    Input(u32),
    /// A number of an input all lanes share.
    Shared(u32),
    /// The bits of a number of the program's type, in the low bits.
    Constant(u64),
    /// The bits of an f64 in an f32 program.
    WideConstant(u64),
    Op(Prim, Args, u8),
    Unary(Function<math::Unary>, Value),
    Binary(Function<math::Binary>, Value, Value),
    /// A function of three arguments, called.
    Ternary(Function<math::Ternary>, [Value; 3]),
    /// What a loop carries, at the start of a round.
    Carried(u32, u32),
    /// What a loop carried, after its last round.
    Out(u32, u32),
}

/// Where a value stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Item {
    Value(Value),
    Loop(u32),
}

/// A loop: rounds of the body until no lane is left.
#[derive(Clone, Debug, Default)]
pub(super) struct Loop {
    /// The block it stands in.
    pub(super) parent: u32,
    /// What is carried into the first round.
    pub(super) init: Vec<Value>,
    /// The same inside a round.
    pub(super) carried: Vec<Value>,
    /// What is carried into the next round; of one class with `init`.
    pub(super) next: Vec<Value>,
    /// Which of the carried masks says that a lane goes on.
    pub(super) active: usize,
    /// The body, in order.
    pub(super) body: Vec<Item>,
}

/// A program of values. Block 0 is the program, block `l + 1` the body of loop `l`.
#[derive(Default)]
pub(super) struct Code {
    pub(super) defs: Vec<Def>,
    pub(super) classes: Vec<Class>,
    wide: Vec<bool>,
    pub(super) blocks: Vec<u32>,
    pub(super) spans: Vec<Span>,
    pub(super) loops: Vec<Loop>,
    /// The results, all of class `Number`, element by element.
    pub(super) outputs: Vec<Value>,
    known: FxHashMap<Def, Value>,
    /// Where the values made next come from.
    pub(super) span: Span,
    /// How deep each block is nested.
    depths: Vec<u32>,
}

impl Code {
    pub(super) fn new() -> Code {
        Code { depths: vec![0], ..Code::default() }
    }

    pub(super) fn def(&self, v: Value) -> Def {
        self.defs[v.0 as usize]
    }

    pub(super) fn class(&self, v: Value) -> Class {
        self.classes[v.0 as usize]
    }

    pub(super) fn block(&self, v: Value) -> u32 {
        self.blocks[v.0 as usize]
    }

    /// The values a value is made of; for a result of a loop, see `loop_needs`.
    pub(super) fn args(&self, v: Value) -> (Args, usize) {
        match self.def(v) {
            Def::Op(_, args, n) => (args, n as usize),
            Def::Unary(_, x) => ([x; 4], 1),
            Def::Binary(_, x, y) => ([x, y, y, y], 2),
            Def::Ternary(_, [x, y, z]) => ([x, y, z, z], 3),
            Def::Input(_) | Def::Shared(_) | Def::Constant(_) | Def::WideConstant(_) | Def::Carried(..) | Def::Out(..) => ([v; 4], 0),
        }
    }

    /// Whether a value is half of the lanes of an f32 program, in f64.
    pub(super) fn is_wide(&self, v: Value) -> bool {
        self.wide[v.0 as usize]
    }

    pub(super) fn constant_bits(&self, v: Value) -> Option<u64> {
        if let Def::Constant(bits) = self.def(v) { Some(bits) } else { None }
    }

    /// The deeper of two blocks; of two blocks one always holds the other.
    fn inner(&self, a: u32, b: u32) -> u32 {
        if self.depths[b as usize] > self.depths[a as usize] { b } else { a }
    }

    /// The value with this definition, if it was made.
    pub(super) fn known(&self, def: Def) -> Option<Value> {
        self.known.get(&def).copied()
    }

    pub(super) fn make(&mut self, def: Def, class: Class) -> Value {
        if let Some(&v) = self.known.get(&def) {
            return v;
        }
        let v = Value(self.defs.len() as u32);
        self.known.insert(def, v);
        self.defs.push(def);
        self.classes.push(class);
        self.spans.push(self.span);
        let wide = match def {
            Def::WideConstant(_) | Def::Op(Prim::Widen(_), ..) => true,
            Def::Op(Prim::Narrow, ..) => false,
            Def::Op(_, args, n) => args[..n as usize].iter().any(|&a| self.is_wide(a)),
            Def::Input(_)
            | Def::Shared(_)
            | Def::Constant(_)
            | Def::Unary(..)
            | Def::Binary(..)
            | Def::Ternary(..)
            | Def::Carried(..)
            | Def::Out(..) => false,
        };
        self.wide.push(wide);
        let block = match def {
            Def::Carried(l, _) => l + 1,
            Def::Out(l, _) => self.loops[l as usize].parent,
            _ => {
                let (args, n) = self.args(v);
                args[..n].iter().fold(0, |block, a| self.inner(block, self.block(*a)))
            }
        };
        self.blocks.push(block);
        if block > 0 && !matches!(def, Def::Carried(..) | Def::Out(..)) {
            self.loops[block as usize - 1].body.push(Item::Value(v));
        }
        v
    }

    pub(super) fn op(&mut self, prim: Prim, args: &[Value]) -> Value {
        let mut list = [Value(0); 4];
        list[..args.len()].copy_from_slice(args);
        self.make(Def::Op(prim, list, args.len() as u8), prim.class())
    }

    /// Begins a loop; its carried values can be used until `close`.
    pub(super) fn open(&mut self, init: Vec<Value>, within: u32) -> u32 {
        let l = self.loops.len() as u32;
        self.depths.push(self.depths[within as usize] + 1);
        self.loops.push(Loop { parent: within, init: init.clone(), ..Loop::default() });
        for (k, v) in init.into_iter().enumerate() {
            let class = self.class(v);
            let carried = self.make(Def::Carried(l, k as u32), class);
            self.loops[l as usize].carried.push(carried);
        }
        l
    }

    /// Ends a loop; what it carried, after its last round.
    pub(super) fn close(&mut self, l: u32, next: Vec<Value>, active: usize) -> Vec<Value> {
        let carried = self.loops[l as usize].carried.clone();
        let it = &mut self.loops[l as usize];
        (it.next, it.active) = (next, active);
        let parent = it.parent;
        if parent > 0 {
            self.loops[parent as usize - 1].body.push(Item::Loop(l));
        }
        (0..carried.len()).map(|k| self.make(Def::Out(l, k as u32), self.class(carried[k]))).collect()
    }

    /// Whether `block` is `outer` or stands inside it.
    fn inside(&self, mut block: u32, outer: u32) -> bool {
        loop {
            if block == outer {
                return true;
            }
            if block == 0 {
                return false;
            }
            block = self.loops[block as usize - 1].parent;
        }
    }

    /// The values from outside that a loop reads, first values included; with repetitions.
    pub(super) fn loop_needs(&self, l: u32) -> Vec<Value> {
        let it = &self.loops[l as usize];
        let mut needs = it.init.clone();
        let mut read = |v: Value| {
            if !self.inside(self.block(v), l + 1) {
                needs.push(v);
            }
        };
        for item in &it.body {
            match *item {
                Item::Value(v) => {
                    let (args, n) = self.args(v);
                    args[..n].iter().for_each(|&a| read(a));
                }
                Item::Loop(inner) => self.loop_needs(inner).into_iter().for_each(&mut read),
            }
        }
        it.next.iter().for_each(|&v| read(v));
        needs
    }

    /// Which values all lanes share: those made of constants and shared inputs alone.
    pub(super) fn shared(&self) -> Vec<bool> {
        let mut varying = vec![false; self.loops.len()];
        loop {
            let mut shared = vec![true; self.defs.len()];
            for i in 0..self.defs.len() {
                shared[i] = match self.defs[i] {
                    Def::Input(_) => false,
                    Def::Shared(_) | Def::Constant(_) | Def::WideConstant(_) => true,
                    Def::Carried(l, _) | Def::Out(l, _) => !varying[l as usize],
                    Def::Op(..) | Def::Unary(..) | Def::Binary(..) | Def::Ternary(..) => {
                        let (args, n) = self.args(Value(i as u32));
                        args[..n].iter().all(|a| shared[a.0 as usize])
                    }
                };
            }
            let before = varying.clone();
            for (l, it) in self.loops.iter().enumerate() {
                let all = it.init.iter().chain(&it.next).all(|v| shared[v.0 as usize])
                    && self.loop_needs(l as u32).iter().all(|v| shared[v.0 as usize]);
                varying[l] |= !all;
            }
            if varying == before {
                return shared;
            }
        }
    }
}
