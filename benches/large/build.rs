//! Writes a workflow of a thousand nodes: too long for a person to read.

use std::path::Path;

fn main() {
    let lets: String = (0..1000).map(|n| format!("        let n{n} = add_one();\n")).collect();
    let chain: String = (0..1000).map(|n| format!(" => n{n}")).collect();
    let source = format!(
        "workflow! {{\n    /// A thousand nodes, one after the other.\n    pub chain_of_1000(u64) -> u64 {{\n{lets}        \
         START{chain};\n    }}\n}}\n"
    );
    let directory = std::env::var_os("OUT_DIR").expect("cargo says where");
    std::fs::write(Path::new(&directory).join("chain_of_1000.rs"), source).expect("cargo gives room");
    println!("cargo::rerun-if-changed=build.rs");
}
