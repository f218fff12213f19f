//! Writes a package of drawn programs: `graphweft-programs <directory> <seed> <count>`.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, seed, count] = &arguments[..] else {
        return Err("usage: graphweft-programs <directory> <seed> <count>".into());
    };
    let (seed, count): (u64, u64) = (seed.parse()?, count.parse()?);
    let mut text =
        "#![allow(unused)] // Each program has what some of them need.\n\nuse std::process::ExitCode;\n\n".to_owned();
    let mut calls = String::new();
    for seed in seed..seed.saturating_add(count) {
        let program = graphweft_programs::draw(seed).text.replace('\n', "\n    ");
        writeln!(text, "mod seed_{seed} {{\n    {program}}}\n")?;
        writeln!(calls, "    seed_{seed}::check(&mut checks);")?;
    }
    writeln!(
        text,
        "fn main() -> std::io::Result<ExitCode> {{\n    let mut checks = graphweft_programs::support::Checks::new()?;\n{calls}    Ok(checks.end())\n}}"
    )?;
    let directory = Path::new(directory);
    std::fs::create_dir_all(directory.join("src"))?;
    std::fs::write(directory.join("src/main.rs"), text)?;
    Ok(())
}
