//! Chains, fan-outs and loops without a store, by criterion: for a closer look than the table's.
//! `cargo bench --bench in_memory`.
#![allow(missing_docs, reason = "the macro makes a public function without any")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use graphweft_benches::in_memory::{self, Place};
use graphweft_benches::measure::Contender;
use graphweft_benches::peers::Peers;

fn all(criterion: &mut Criterion) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let nobody = Peers::default();
    let works: [(&str, Vec<Contender<'_>>); 4] = [
        ("chain of 100 nodes", in_memory::chain(&runtime, Place::Main, &nobody)),
        ("fan-out to 100 and join", in_memory::fan_out(&runtime, Place::Main, &nobody)),
        ("loop of 10,000 turns", in_memory::rounds(&runtime, Place::Main, &nobody)),
        ("a short run through an engine", in_memory::awaited(&runtime, Place::Main)),
    ];
    for (name, contenders) in works {
        let mut group = criterion.benchmark_group(name);
        for mut contender in contenders {
            group.throughput(Throughput::Elements(contender.units));
            group.bench_function(contender.name.clone(), |bencher| bencher.iter_custom(|times| (contender.run)(times)));
        }
        group.finish();
    }
}

criterion_group!(benches, all);
criterion_main!(benches);
