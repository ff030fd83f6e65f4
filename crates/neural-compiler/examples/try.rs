use neural_compiler::*;
fn main() {
    let src = std::env::args().nth(1).unwrap();
    let p = match compile(&src, &Options::default()) {
        Ok(p) => p,
        Err(e) => {
            println!("{e}");
            return;
        }
    };
    println!("{}\n{}", p.ast().to_text(), p.anf_text());
    let g = match p.graph() {
        Ok(g) => g,
        Err(e) => {
            println!("{e}");
            return;
        }
    };
    println!("{}", graph::print::to_text(&g));
    let vals: Vec<f64> = std::env::args().skip(2).map(|s| s.parse().unwrap()).collect();
    let mut it = vals.into_iter();
    let inputs: Vec<Tensor<f64>> =
        g.inputs.iter().map(|i| Tensor::new(i.shape, (0..i.shape.len()).map(|_| it.next().unwrap_or(1.0)).collect()).unwrap()).collect();
    println!("{:?}", exec::interp::run(&g, &inputs, &Default::default()));
}
