//! The tape: a region as a list of instructions with explicit slots, for executors that want registers instead of a graph. In: a
//! graph; out: one tape per region.
//! Invariants: a slot is written before it is read and not reused before its last reader; a value of n numbers takes n slots in a
//! row; a value is *uniform* (the same for every lane of a batch) unless it depends on a varying input or is made under a varying
//! test; uniform values, varying values and records have slots of their own; parameters, results and the main region's uniform
//! values keep theirs to the end.

use crate::graph::{Graph, Kind, NodeId, Region, RegionId, Type};
use crate::shape::Shape;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The same for every lane, or one per lane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rate {
    /// Computed once.
    Uniform,
    /// Computed per lane.
    Varying,
}

impl Rate {
    /// `uniform` or `varying`.
    pub fn name(self) -> &'static str {
        match self {
            Rate::Uniform => "uniform",
            Rate::Varying => "varying",
        }
    }
}

/// Where a value lives: a run of slots of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// First slot.
    pub at: u32,
    /// How many numbers; 0 for a record.
    pub len: u32,
    /// Which slots.
    pub rate: Rate,
}

impl Place {
    /// Whether it holds a record.
    pub fn is_record(self) -> bool {
        self.len == 0
    }

    fn text(self) -> String {
        match (self.is_record(), self.rate) {
            (true, _) => format!(" r{}", self.at),
            (false, Rate::Uniform) => format!(" u{}", self.at),
            (false, Rate::Varying) => format!(" s{}", self.at),
        }
    }
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// The node it computes.
    pub node: NodeId,
    /// What it does.
    pub kind: Kind,
    /// The place of each result; one for most instructions.
    pub out: Vec<Place>,
    /// The places of the arguments.
    pub args: Vec<Place>,
    /// Shapes of the results.
    pub shapes: Vec<Shape>,
    /// Shapes of the arguments that are values, for operations.
    pub arg_shapes: Vec<Shape>,
    /// Uniform or varying.
    pub rate: Rate,
    /// Places whose last reader this is.
    pub frees: Vec<Place>,
}

/// A region's instructions.
#[derive(Clone, Debug)]
pub struct RegionTape {
    /// Its name.
    pub name: String,
    /// The places of the parameters.
    pub params: Vec<Place>,
    /// Instructions, in order.
    pub code: Vec<Instruction>,
    /// The places of the results.
    pub results: Vec<Place>,
    /// How many varying slots it needs.
    pub slots: u64,
    /// How many uniform slots it needs.
    pub uniforms: u64,
    /// How many records it holds.
    pub records: u64,
}

/// A program as tapes, one per region, the main region first.
#[derive(Clone, Debug)]
pub struct Tape {
    /// The tapes, numbered like the graph's regions.
    pub regions: Vec<RegionTape>,
    titles: Vec<Vec<String>>,
}

/// Slots that have a number; a tape that needs more cannot be run.
const MOST_SLOTS: u64 = u32::MAX as u64;

impl Tape {
    /// The tape of a graph all of whose inputs vary.
    pub fn new(graph: &Graph) -> Tape {
        Tape::with_uniform(graph, &vec![false; graph.inputs.len()])
    }

    /// The tape of a graph some of whose inputs are the same for every lane.
    pub fn with_uniform(graph: &Graph, uniform: &[bool]) -> Tape {
        let rates = Rates::new(graph, uniform);
        let regions = graph
            .regions
            .iter()
            .enumerate()
            .map(|(r, region)| allocate(graph, RegionId(r as u32), region, &rates.nodes[r]))
            .collect::<Vec<_>>();
        let title = |region: &Region, i: &Instruction| crate::graph::print::title(graph, region, i.node);
        let titles = regions.iter().zip(&graph.regions).map(|(t, region)| t.code.iter().map(|i| title(region, i)).collect()).collect();
        Tape { regions, titles }
    }

    /// Whether every place says where it is: a region with more than 2^32 numbers has none for some of its values, and cannot be run.
    pub fn is_complete(&self) -> bool {
        self.regions.iter().all(|r| r.slots.max(r.uniforms).max(r.records) < MOST_SLOTS)
    }

    /// As text: an instruction a line.
    pub fn to_text(&self) -> String {
        let slots = |s: &[Place]| s.iter().map(|s| s.text()).collect::<String>();
        let mut out = String::new();
        for (r, (region, titles)) in self.regions.iter().zip(&self.titles).enumerate() {
            out.push_str(&format!(
                "tape {}#{r}, {} slots, {} uniforms, parameters in{}\n",
                region.name,
                region.slots,
                region.uniforms,
                slots(&region.params)
            ));
            for (i, title) in region.code.iter().zip(titles) {
                let frees = if i.frees.is_empty() { String::new() } else { format!("  frees{}", slots(&i.frees)) };
                out.push_str(&format!(" {} <- {title}{}  {}{frees}\n", slots(&i.out), slots(&i.args), i.rate.name()));
            }
            out.push_str(&format!("  return{}\n", slots(&region.results)));
        }
        out
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        let names = |places: &[Place]| places.iter().map(|p| p.text().trim().to_string()).collect::<Vec<_>>();
        let instruction = |(i, title): (&Instruction, &String)| {
            json!({
                "op": title, "out": names(&i.out), "args": names(&i.args), "rate": i.rate.name(),
                "shapes": i.shapes.iter().map(|s| s.dims()).collect::<Vec<_>>(),
                "frees": names(&i.frees),
            })
        };
        let regions: Vec<Value> = self
            .regions
            .iter()
            .zip(&self.titles)
            .map(|(r, titles)| {
                json!({
                    "name": r.name, "slots": r.slots, "uniforms": r.uniforms, "params": names(&r.params), "results": names(&r.results),
                    "code": r.code.iter().zip(titles).map(instruction).collect::<Vec<_>>(),
                })
            })
            .collect();
        json!({"regions": regions})
    }
}

/// Which values vary, over all regions.
struct Rates {
    params: Vec<Vec<Rate>>,
    nodes: Vec<Vec<Rate>>,
    /// Rates of the results of each region.
    results: Vec<Vec<Rate>>,
}

impl Rates {
    fn new(graph: &Graph, uniform: &[bool]) -> Rates {
        let all = |n: usize| vec![Rate::Uniform; n];
        let mut rates = Rates {
            params: graph.regions.iter().map(|r| all(r.params.len())).collect(),
            nodes: graph.regions.iter().map(|r| all(r.nodes.len())).collect(),
            results: graph.regions.iter().map(|r| all(r.results.len())).collect(),
        };
        for (p, &u) in rates.params[graph.main.0 as usize].iter_mut().zip(uniform) {
            if !u {
                *p = Rate::Varying;
            }
        }
        // Rates only grow, and there are two, so this ends.
        while (0..graph.regions.len()).fold(false, |changed, r| rates.region(graph, RegionId(r as u32)) | changed) {}
        rates
    }

    fn raise(list: &mut [Rate], with: impl IntoIterator<Item = Rate>) -> bool {
        let mut changed = false;
        for (old, new) in list.iter_mut().zip(with) {
            changed |= new > *old;
            *old = (*old).max(new);
        }
        changed
    }

    fn region(&mut self, graph: &Graph, id: RegionId) -> bool {
        let region = graph.region(id);
        let r = id.0 as usize;
        let mut changed = false;
        for n in region.ids() {
            let args: Vec<Rate> = region.args(n).iter().map(|a| self.nodes[r][a.0 as usize]).collect();
            let most = args.iter().copied().max().unwrap_or(Rate::Uniform);
            let rate = match region.node(n).kind {
                Kind::Param(p) => self.params[r][p as usize],
                Kind::Const(_) => Rate::Uniform,
                Kind::Op(..) | Kind::Pack | Kind::Unpack(_) => most,
                Kind::Proj(i) => {
                    let choice = region.args(n)[0];
                    self.projection(region.node(choice).kind, i as usize).max(self.under(region, r, choice))
                }
                kind @ (Kind::If(..) | Kind::Loop { .. } | Kind::Back { .. } | Kind::Call(_) | Kind::Root { .. }) => {
                    let skip = usize::from(matches!(kind, Kind::If(..) | Kind::Back { .. }));
                    let stored = if let Kind::Back { stored, .. } = kind { vec![args[0]; stored as usize] } else { vec![] };
                    for child in Graph::runs(kind) {
                        changed |=
                            Rates::raise(&mut self.params[child.0 as usize], stored.iter().copied().chain(args[skip..].iter().copied()));
                    }
                    changed |= self.carry(kind);
                    most
                }
            };
            changed |= Rates::raise(&mut self.nodes[r][n.0 as usize..=n.0 as usize], [rate]);
        }
        let results: Vec<Rate> = region.results.iter().map(|x| self.nodes[r][x.0 as usize]).collect();
        changed | Rates::raise(&mut self.results[r], results)
    }

    /// What a loop carries varies once its next value does, or once the number of rounds does.
    fn carry(&mut self, kind: Kind) -> bool {
        let (body, carried, first, from) = match kind {
            Kind::Loop { body, carried, .. } => (body, carried as usize, 0, 1),
            Kind::Back { body, stored, carried } => (body, carried as usize, stored as usize, 0),
            _ => return false,
        };
        let b = body.0 as usize;
        // Walking back, lanes take as many rounds as they took forward, which the record alone knows.
        let flag = if from == 1 { self.results[b][0] } else { Rate::Varying };
        let next: Vec<Rate> = self.results[b][from..from + carried].iter().map(|&x| x.max(flag)).collect();
        Rates::raise(&mut self.params[b][first..first + carried], next)
    }

    fn projection(&self, kind: Kind, i: usize) -> Rate {
        match kind {
            Kind::If(a, b) => self.results[a.0 as usize][i].max(self.results[b.0 as usize][i]),
            Kind::Call(f) | Kind::Root { solve: f, .. } => self.results[f.0 as usize][i],
            Kind::Back { body, .. } => self.results[body.0 as usize][i],
            Kind::Loop { body, carried, .. } => {
                let results = &self.results[body.0 as usize];
                let flag = results[0];
                results.get(1 + carried as usize + i).copied().unwrap_or(Rate::Varying).max(flag)
            }
            Kind::Param(_) | Kind::Const(_) | Kind::Op(..) | Kind::Proj(_) | Kind::Pack | Kind::Unpack(_) => Rate::Varying,
        }
    }

    /// Results of a choice vary when its test does.
    fn under(&self, region: &Region, r: usize, choice: NodeId) -> Rate {
        match region.node(choice).kind {
            Kind::If(..) => self.nodes[r][region.args(choice)[0].0 as usize],
            _ => Rate::Uniform,
        }
    }
}

/// Free runs of slots by length, reused first-fit.
#[derive(Default)]
struct Slots {
    free: BTreeMap<u32, Vec<u32>>,
    used: u64,
}

impl Slots {
    fn take(&mut self, length: u32) -> u32 {
        if let Some(slot) = self.free.get_mut(&length).and_then(Vec::pop) {
            return slot;
        }
        let at = self.used;
        self.used += u64::from(length);
        // Places that do not fit are never used: see `Tape::is_complete`.
        at.min(MOST_SLOTS) as u32
    }
}

/// The three kinds of slots of a region.
#[derive(Default)]
struct Files {
    varying: Slots,
    uniform: Slots,
    records: Slots,
}

impl Files {
    fn of(&mut self, record: bool, rate: Rate) -> &mut Slots {
        match (record, rate) {
            (true, _) => &mut self.records,
            (false, Rate::Uniform) => &mut self.uniform,
            (false, Rate::Varying) => &mut self.varying,
        }
    }

    fn take(&mut self, ty: Type, rate: Rate) -> Place {
        match ty {
            Type::Value(s) => {
                let len = u32::try_from(s.len()).unwrap_or(u32::MAX);
                Place { at: self.of(false, rate).take(len), len, rate }
            }
            Type::Record | Type::Many => Place { at: self.records.take(1), len: 0, rate: Rate::Varying },
        }
    }

    fn give(&mut self, place: Place) {
        self.of(place.is_record(), place.rate).free.entry(place.len.max(1)).or_default().push(place.at);
    }
}

/// The last reader of each node; parameters and results live to the end.
fn last_readers(region: &Region) -> Vec<usize> {
    let mut last: Vec<usize> = (0..region.nodes.len()).collect();
    for id in region.ids().filter(|&id| !matches!(region.node(id).kind, Kind::Proj(_))) {
        region.args(id).iter().for_each(|a| last[a.0 as usize] = id.0 as usize);
    }
    for id in region.ids().filter(|&id| matches!(region.node(id).kind, Kind::Param(_))) {
        last[id.0 as usize] = usize::MAX;
    }
    region.results.iter().for_each(|r| last[r.0 as usize] = usize::MAX);
    last
}

/// Which nodes are read for the last time by which. Uniform values of the main region are computed once, ahead of all others, so they
/// live to the end.
fn dying(region: &Region, rates: &[Rate], main: bool) -> BTreeMap<usize, Vec<NodeId>> {
    let last = last_readers(region);
    let mut dying: BTreeMap<usize, Vec<NodeId>> = BTreeMap::new();
    for id in region.ids() {
        let lasting = main && rates[id.0 as usize] == Rate::Uniform;
        if region.node(id).ty != Type::Many && last[id.0 as usize] != usize::MAX && !lasting {
            dying.entry(last[id.0 as usize]).or_default().push(id);
        }
    }
    dying
}

/// A slot for every result of a node with several, and for the nodes that take one out; what nothing reads is free at once.
fn place_many(types: &[Type], taken: &[(u32, NodeId)], rates: &[Rate], files: &mut Files, place: &mut [Place]) -> Vec<Place> {
    let mut out = Vec::new();
    let mut unread = Vec::new();
    for (i, &ty) in types.iter().enumerate() {
        let proj = taken.iter().find(|(k, _)| *k as usize == i).map(|p| p.1);
        let slot = files.take(ty, proj.map_or(Rate::Varying, |p| rates[p.0 as usize]));
        out.push(slot);
        match proj {
            Some(p) => place[p.0 as usize] = slot,
            None => unread.push(slot),
        }
    }
    unread.into_iter().for_each(|slot| files.give(slot));
    out
}

fn allocate(graph: &Graph, id: RegionId, region: &Region, rates: &[Rate]) -> RegionTape {
    let mut dying = dying(region, rates, id == graph.main);
    let mut files = Files::default();
    let nowhere = Place { at: 0, len: 0, rate: Rate::Uniform };
    let mut place: Vec<Place> = vec![nowhere; region.nodes.len()];
    let mut params = vec![nowhere; region.params.len()];
    let mut projections: BTreeMap<NodeId, Vec<(u32, NodeId)>> = BTreeMap::new();
    for id in region.ids() {
        let n = id.0 as usize;
        match region.node(id).kind {
            Kind::Param(p) => {
                place[n] = files.take(region.node(id).ty, rates[n]);
                params[p as usize] = place[n];
            }
            Kind::Proj(i) => projections.entry(region.args(id)[0]).or_default().push((i, id)),
            Kind::Const(_)
            | Kind::Op(..)
            | Kind::If(..)
            | Kind::Loop { .. }
            | Kind::Back { .. }
            | Kind::Call(_)
            | Kind::Root { .. }
            | Kind::Pack
            | Kind::Unpack(_) => {}
        }
    }
    let mut code = Vec::new();
    for id in region.ids() {
        let node = region.node(id);
        let mut frees = Vec::new();
        let mut release = |files: &mut Files, place: &[Place], at: usize| {
            for n in dying.remove(&at).unwrap_or_default() {
                files.give(place[n.0 as usize]);
                frees.push(place[n.0 as usize]);
            }
        };
        if matches!(node.kind, Kind::Param(_) | Kind::Proj(_)) {
            release(&mut files, &place, id.0 as usize);
            continue;
        }
        let args = region.args(id).iter().map(|a| place[a.0 as usize]).collect();
        let rate = rates[id.0 as usize];
        let (out, shapes) = if node.ty == Type::Many {
            let list = projections.remove(&id).unwrap_or_default();
            let types = graph.result_types(node.kind);
            let out = place_many(&types, &list, rates, &mut files, &mut place);
            (out, types.into_iter().map(Type::shape).collect())
        } else {
            place[id.0 as usize] = files.take(node.ty, rate);
            (vec![place[id.0 as usize]], vec![node.ty.shape()])
        };
        release(&mut files, &place, id.0 as usize);
        let arg_shapes =
            if matches!(node.kind, Kind::Op(..)) { region.args(id).iter().map(|&a| region.shape(a)).collect() } else { Vec::new() };
        code.push(Instruction { node: id, kind: node.kind, out, args, shapes, arg_shapes, rate, frees });
    }
    let results = region.results.iter().map(|r| place[r.0 as usize]).collect();
    let (slots, uniforms, records) = (files.varying.used, files.uniform.used, files.records.used);
    RegionTape { name: region.name.clone(), params, code, results, slots, uniforms, records }
}
