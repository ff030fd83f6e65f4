//! Do 95 % intervals cover 95 %? `cargo run --release -p neural-compiler-fit --example coverage [SETS [NAME]]` simulates so many data sets
//! (500) for eight models, counts, a random effect and for the robust losses, or for those whose names begin with `NAME`, fits each, and
//! prints how often the truth lies within the interval, and how often there is none because the data do not determine the constant.

mod simulate;

use neural_compiler_fit::Loss;
use simulate::{Coverage, Noise};

fn print(name: &str, found: &Coverage) {
    let each: Vec<String> =
        found.constants.iter().map(|c| format!("{} {:.1} %", c.name, 100.0 * c.cover as f64 / c.given as f64)).collect();
    println!("| {name} | {} | {:.1} % | {:.1} % |", each.join(", "), 100.0 * found.pooled(), 100.0 * found.without());
}

fn main() {
    let sets = std::env::args().nth(1).map_or(500, |n| n.parse().expect("how many data sets"));
    let wanted = std::env::args().nth(2).unwrap_or_default();
    println!("| model, {sets} data sets | covered | all constants | no interval |\n|---|---|---|---|");
    for model in simulate::models().into_iter().filter(|m| m.name.starts_with(&wanted)) {
        print(model.name, &model.coverage(sets, None, Noise::Normal));
    }
    if "counts".starts_with(&wanted) {
        print("counts", &simulate::counts().coverage(sets, None, Noise::Poisson));
    }
    if "random effect".starts_with(&wanted) {
        print("random effect", &simulate::effects(sets));
    }
    for (errors, noise) in [("normal errors", Noise::Normal), ("one error in ten ten times as large", Noise::Contaminated)] {
        for (name, loss) in [("huber", Loss::Huber(0.0)), ("soft-l1", Loss::SoftL1(0.0)), ("cauchy", Loss::Cauchy(0.0))] {
            let name = format!("decay, {name}, {errors}");
            if name.starts_with(&wanted) {
                print(&name, &simulate::decay().coverage(sets, Some(loss), noise));
            }
        }
    }
}
