//! The option `--model` of the examples.

use graphweft_agents::Models;

/// The models of an example: those of its script, or the one that `--model` names, for all names of the example.
pub(crate) fn models(names: &[&str], scripted: impl FnOnce() -> Models) -> Result<Models, String> {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next(), arguments.next()) {
        (None, ..) => Ok(scripted()),
        (Some("--model"), Some(name), None) => real(&name, names),
        _ => Err("usage: nothing for the scripted model, or `--model NAME` for a real one".to_owned()),
    }
}

#[cfg(feature = "genai")]
fn real(name: &str, names: &[&str]) -> Result<Models, String> {
    use graphweft_agents::{ChatModel, Constrained, GenaiModel};

    fn for_all(model: impl ChatModel + Clone, names: &[&str]) -> Models {
        names.iter().fold(Models::new(model.clone()), |models, name| models.with(*name, model.clone()))
    }
    if name != "smollm2" {
        return GenaiModel::new(name).map(|model| for_all(model, names)).map_err(|error| error.to_string());
    }
    let url = std::env::var("GRAPHWEFT_SMOLLM2").map_err(|_| {
        "the model `smollm2` is not there: run this by `agents/tests/real/with_model.sh`, which starts it".to_owned()
    })?;
    let model = GenaiModel::new("openai::smollm2").map_err(|error| error.to_string())?.endpoint(url);
    Ok(for_all(Constrained::new(model), names))
}

#[cfg(not(feature = "genai"))]
fn real(name: &str, _names: &[&str]) -> Result<Models, String> {
    Err(format!(
        "`--model {name}` needs the feature `genai`: cargo run -p graphweft-agents --features genai --example .."
    ))
}
