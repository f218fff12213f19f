//! The document of the API in the repository, from which the page has its types.

/// `GRAPHWEFT_WRITE=1 cargo test -p graphweft-inspector --test document` writes it.
#[test]
fn the_document_in_the_repository_is_that_of_the_routes() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.json");
    let text = graphweft_inspector::api::document_text();
    if std::env::var_os("GRAPHWEFT_WRITE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == text, "write it: GRAPHWEFT_WRITE=1 cargo test -p graphweft-inspector --test document");
}
