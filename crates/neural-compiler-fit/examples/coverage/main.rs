//! Do 95 % intervals cover 95 %? `cargo run --release -p neural-compiler-fit --example coverage [SETS]` simulates so many data sets (500)
//! for six models and for the robust losses, fits each, and prints how often the truth lies within the interval.

mod simulate;

use neural_compiler_fit::Loss;
use simulate::{Coverage, Noise};

fn print(name: &str, found: &Coverage) {
    let share = |n: usize| format!("{:.1} %", 100.0 * n as f64 / found.sets as f64);
    let each: Vec<String> = found.constants.iter().map(|(name, n)| format!("{name} {}", share(*n))).collect();
    println!("| {name} | {} | {:.1} % |", each.join(", "), 100.0 * found.pooled());
}

fn main() {
    let sets = std::env::args().nth(1).map_or(500, |n| n.parse().expect("how many data sets"));
    println!("| model, {sets} data sets | covered | all constants |\n|---|---|---|");
    for model in simulate::models() {
        print(model.name, &model.coverage(sets, None, Noise::Normal));
    }
    for (errors, noise) in [("normal errors", Noise::Normal), ("one error in ten ten times as large", Noise::Contaminated)] {
        for (name, loss) in [("huber", Loss::Huber(0.0)), ("soft-l1", Loss::SoftL1(0.0)), ("cauchy", Loss::Cauchy(0.0))] {
            print(&format!("decay, {name}, {errors}"), &simulate::decay().coverage(sets, Some(loss), noise));
        }
    }
}
