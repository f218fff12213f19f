//! The files of the page, as it was built. Written by `GRAPHWEFT_WRITE=1 cargo test -p graphweft-inspector --test page_files`.

/// Their paths below the page, and their contents.
pub static FILES: &[(&str, &[u8])] = &[
    ("assets/ValueForm.js", include_bytes!("../../page/dist/assets/ValueForm.js")),
    ("assets/index.css", include_bytes!("../../page/dist/assets/index.css")),
    ("assets/index.js", include_bytes!("../../page/dist/assets/index.js")),
    ("icon.svg", include_bytes!("../../page/dist/icon.svg")),
    ("index.html", include_bytes!("../../page/dist/index.html")),
];
