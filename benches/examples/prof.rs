use graphweft_benches::flows;
use std::time::Instant;
fn main() {
    let which = std::env::args().nth(1).unwrap();
    let times: u64 = std::env::args().nth(2).unwrap().parse().unwrap();
    let threads = std::env::args().nth(3).unwrap_or("1".into());
    let runtime = if threads == "1" {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    } else {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
    };
    runtime.block_on(async move {
        tokio::spawn(async move {
            for _ in 0..20 { one(&which).await; }
            let mut best = f64::MAX;
            for _ in 0..10 {
                let at = Instant::now();
                for _ in 0..times { one(&which).await; }
                best = best.min(at.elapsed().as_nanos() as f64 / times as f64 / 100.0);
            }
            println!("{which}: {best:.0} ns");
        }).await.unwrap();
    });
}
async fn one(which: &str) {
    match which {
        "each" => { flows::each(1).await.unwrap(); }
        "fan" => { flows::fan_out(1).await.unwrap(); }
        "chain" => { flows::chain(1).await.unwrap(); }
        _ => panic!(),
    }
}
