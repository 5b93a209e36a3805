fn main() -> evento_runtime::Result {
    let bundle = evento_runtime::Bundle::builder("linkage")
        .discover()
        .store(evento_runtime::store::Memory::new())
        .build()?;
    let plan = bundle.plan().to_json();
    for component in plan["components"].as_array().into_iter().flatten() {
        let handlers = component["handlers"].as_array().map_or(0, Vec::len);
        println!("{} {handlers}", component["name"].as_str().unwrap_or_default());
    }
    Ok(())
}
