//! Handlers are there, or somebody says which crate is missing and the line that brings it in: whatever the profile,
//! whatever the way to the crate. (B102, B103; traps 11 to 13.)
//!
//! The default run builds `dev` and the profile that drops most; `EVENTO_LONG=1` builds all of them, and a static library.
#![allow(missing_docs, clippy::panic, clippy::unwrap_used, clippy::print_stdout)]

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use evento_tests::fixture::{Fixture, said, workspace};
use evento_tests::{long, skip};

/// What `tests/linkage/handlers.rs` registers, with the number of handlers.
const ALL: &str = "AtTheRoot 1\nInAFunction 1\nInAGenericFunction 1\nInAPrivateModule 1\nInAPublicModule 1\nInAnotherModule 1\nJoined 1\n";

/// A binary: the package it is in, what it says of other crates, and what its launch comes to.
struct Case {
    package: &'static str,
    binary: &'static str,
    says: &'static str,
    comes_to: Launch,
}

enum Launch {
    /// These components, one a line.
    Finds(&'static str),
    /// Refused with this code, and these words in the report.
    Refuses(&'static str, &'static [&'static str]),
}
use Launch::{Finds, Refuses};

const CASES: &[Case] = &[
    Case { package: "app", binary: "linked", says: "evento_runtime::link!(handlers);", comes_to: Finds(ALL) },
    Case { package: "app", binary: "named", says: "use handlers as _;", comes_to: Finds(ALL) },
    Case {
        package: "app",
        binary: "constant",
        says: "pub const ONE: u32 = handlers::public::READ_BY_SOMEBODY;",
        comes_to: Finds(ALL),
    },
    Case {
        package: "app",
        binary: "unnamed",
        says: "",
        comes_to: Refuses("nothing-discovered", &["add `evento_runtime::link!(its_name);`"]),
    },
    // Nothing in the binary knows of the other crate. The compiler does: see the test of the lint.
    Case { package: "app", binary: "beside", says: OWN, comes_to: Finds("Own 1\n") },
    // A crate that says `link!` for the binary.
    Case { package: "app", binary: "through", says: "evento_runtime::link!(middle);", comes_to: Finds(ALL) },
    Case {
        package: "app",
        binary: "silent",
        says: "evento_runtime::link!(silent);",
        comes_to: Refuses(
            "linked-crate-empty",
            &["crate `silent` is linked with `link!`", "write `evento_runtime::link!(..)` in it as well"],
        ),
    },
    Case {
        package: "own",
        binary: "own",
        says: "",
        comes_to: Refuses("nothing-discovered", &["the `lib.rs` beside a `main.rs` included"]),
    },
    Case { package: "own", binary: "own-linked", says: "evento_runtime::link!(own);", comes_to: Finds("Own 1\n") },
    // `Cargo.toml` has another name for the package than it has itself.
    Case {
        package: "renaming",
        binary: "renamed",
        says: "evento_runtime::link!(other = \"handlers\");",
        comes_to: Finds(ALL),
    },
    Case {
        package: "renaming",
        binary: "misnamed",
        says: "evento_runtime::link!(other);",
        comes_to: Refuses(
            "linked-crate-empty",
            &["if `Cargo.toml` renames package `handlers`", "write `link!(other = \"handlers\")`"],
        ),
    },
];

/// What the default run builds in a second profile, where linking is what takes the time.
const SHORT: [&str; 4] = ["linked", "unnamed", "through", "own-linked"];

const OWN: &str = "
    use evento_runtime::prelude::*;
    #[derive(Default)]
    pub struct Own;
    #[projector(version = 1)]
    impl Own {
        #[event_handler]
        async fn on(&self, _event: RawEvent) {}
    }
";

/// Name, what `Cargo.toml` says, whether it belongs to the default run.
const PROFILES: &[(&str, &str, bool)] = &[
    ("dev", "", true),
    ("fat", "inherits = \"release\"\nlto = \"fat\"\ncodegen-units = 1\npanic = \"abort\"\nstrip = true", true),
    ("release", "", false),
    ("thin", "inherits = \"release\"\nlto = \"thin\"", false),
    ("units-1", "inherits = \"release\"\nlto = \"off\"\ncodegen-units = 1", false),
    ("units-256", "inherits = \"release\"\nlto = \"off\"\ncodegen-units = 256", false),
];

const RUNTIME: &str = "evento-runtime = { RUNTIME, features = [\"macros\"] }\n";

fn package(name: &str, dependencies: &str) -> (String, String) {
    let text = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[dependencies]\n{RUNTIME}{dependencies}"
    );
    (format!("{name}/Cargo.toml"), text)
}

fn fixture() -> Fixture {
    let source = |name: &str| fs::read_to_string(workspace().join("tests/linkage").join(name)).unwrap();
    let main = source("main.rs");
    let handlers = "handlers = { path = \"../handlers\" }\n";
    let mut files = vec![
        ("src/lib.rs".to_owned(), String::new()),
        package("handlers", "serde = { version = \"1\", features = [\"derive\"] }\n"),
        ("handlers/src/lib.rs".to_owned(), source("handlers.rs")),
        package("middle", handlers),
        ("middle/src/lib.rs".to_owned(), "evento_runtime::link!(handlers);\n".to_owned()),
        package("silent", handlers),
        ("silent/src/lib.rs".to_owned(), String::new()),
        package(
            "app",
            &format!("{handlers}middle = {{ path = \"../middle\" }}\nsilent = {{ path = \"../silent\" }}\n"),
        ),
        package("own", ""),
        ("own/src/lib.rs".to_owned(), OWN.to_owned()),
        package("renaming", "other = { package = \"handlers\", path = \"../handlers\" }\n"),
    ];
    for Case { package, binary, says, .. } in CASES {
        let lint = if *binary == "beside" { "#![warn(unused_crate_dependencies)]\n" } else { "" };
        files.push((format!("{package}/src/bin/{binary}.rs"), format!("{lint}{says}\n{main}")));
    }
    let mut manifest = "edition = \"2024\"\n[dependencies]\n".to_owned();
    for member in ["app", "own", "renaming"] {
        writeln!(manifest, "{member} = {{ path = {member:?} }}").unwrap();
    }
    for (name, text, _) in PROFILES.iter().filter(|(_, text, _)| !text.is_empty()) {
        writeln!(manifest, "[profile.{name}]\n{text}").unwrap();
    }
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    Fixture::new(env!("CARGO_TARGET_TMPDIR"), "linkage", &manifest, &files).unwrap()
}

#[test]
fn every_handler_is_there_or_the_launch_says_what_is_missing() {
    let fixture = fixture();
    let mut wrong = String::new();
    for (profile, _, always) in PROFILES {
        if !always && !long() {
            println!("linkage: {profile} only with EVENTO_LONG=1");
            continue;
        }
        let cases: Vec<&Case> =
            CASES.iter().filter(|case| long() || *profile == "dev" || SHORT.contains(&case.binary)).collect();
        let mut build = vec!["build", "--workspace", "--profile", profile, "--message-format=json"];
        build.extend(cases.iter().flat_map(|case| ["--bin", case.binary]));
        let output = fixture.cargo(&build, &[]).unwrap();
        assert!(output.status.success(), "{profile}:\n{}", String::from_utf8_lossy(&output.stderr));
        if *profile == "dev" {
            // The remedy where no launch can know: the lint's own help is the line that fixes it.
            let told: Vec<_> = said(&output).into_iter().filter(|said| said.target == "beside").collect();
            assert!(told.iter().any(|said| said.rendered.contains("use handlers as _;")), "{told:#?}");
        }
        for case in &cases {
            let ran = Command::new(fixture.binary(profile, case.binary)).output().unwrap();
            let (printed, told) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
            let right = match case.comes_to {
                Finds(components) => printed == components,
                Refuses(code, words) => {
                    // Not a terminal: nothing but text, and no empty line at the end.
                    assert!(!told.contains('\u{1b}') && !told.ends_with("\n\n"), "{told:?}");
                    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
                    note(code, &told);
                    told.contains(&format!("[{code}]")) && words.iter().all(|word| told.contains(word))
                }
            };
            if !right {
                writeln!(wrong, "{profile}, {}:\n{printed}{told}", case.binary).unwrap();
            }
        }
        println!("linkage: {profile}: {}", cases.iter().map(|case| case.binary).collect::<Vec<_>>().join(", "));
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Takes the report of one problem, without its line breaks, apart for the list of messages.
fn note(code: &str, told: &str) {
    let between = |from: &str, to: &str| {
        let (_, rest) = told.split_once(from).unwrap_or_default();
        rest.split_once(to).map_or(rest, |(text, _)| text).trim().to_owned()
    };
    evento_tests::note_message(code, &between(&format!("[{code}]"), " -->"), &between("help:", "\u{0}"));
}

/// Trap 11: two majors in one binary would each see half of the handlers, silently.
#[test]
fn two_copies_of_the_runtime_do_not_resolve() {
    let fixture = Fixture::new(
        env!("CARGO_TARGET_TMPDIR"),
        "links",
        "edition = \"2024\"\n[dependencies]\nevento-runtime = { RUNTIME }\nnext = { package = \"evento-runtime\", path = \"next\" }\n",
        &[
            ("src/lib.rs", ""),
            (
                "next/Cargo.toml",
                "[package]\nname = \"evento-runtime\"\nversion = \"99.0.0\"\nedition = \"2024\"\nlinks = \"evento-runtime\"\n",
            ),
            ("next/build.rs", "fn main() {}\n"),
            ("next/src/lib.rs", ""),
        ],
    )
    .unwrap();
    let output = fixture.cargo(&["check"], &[]).unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "two copies resolved");
    assert!(told.contains("Only one package in the dependency graph may specify the same links value"), "{told}");
}

/// B105, trap 13: where something else than `rustc` links, discovery finds nothing, and naming the components finds all.
#[test]
fn a_static_library_registers_by_name() {
    if !long() {
        println!("linkage: the static library only with EVENTO_LONG=1");
        return;
    }
    if Command::new("cc").arg("--version").output().is_err() {
        return skip("linking a static library needs a C compiler (cc)");
    }
    let library = "
        use evento_runtime::{Bundle, store::Memory};
        evento_runtime::link!(handlers);
        fn found(builder: evento_runtime::bundle::BundleBuilder) -> i32 {
            builder.store(Memory::new()).build().map_or(0, |bundle| {
                bundle.plan().to_json()[\"components\"].as_array().map_or(0, |all| all.len() as i32)
            })
        }
        #[unsafe(no_mangle)]
        pub extern \"C\" fn discovered() -> i32 { found(Bundle::builder(\"c\").discover()) }
        #[unsafe(no_mangle)]
        pub extern \"C\" fn registered() -> i32 {
            let builder = Bundle::builder(\"c\");
            #[cfg(feature = \"by-name\")]
            let builder = builder
                .register::<handlers::AtTheRoot>()
                .register::<handlers::public::InAPublicModule>();
            found(builder)
        }
    ";
    let program = "
        #include <stdio.h>
        int discovered(void); int registered(void);
        int main(void) { printf(\"%d %d\\n\", discovered(), registered()); return 0; }
    ";
    let handlers = fs::read_to_string(workspace().join("tests/linkage/handlers.rs")).unwrap();
    let (_, manifest) = package("handlers", "serde = { version = \"1\", features = [\"derive\"] }\n");
    let fixture = Fixture::new(
        env!("CARGO_TARGET_TMPDIR"),
        "static",
        &format!(
            "edition = \"2024\"\n[lib]\nname = \"c_library\"\ncrate-type = [\"staticlib\"]\n[features]\nby-name = []\n[dependencies]\n{RUNTIME}handlers = {{ path = \"handlers\" }}\n"
        ),
        &[
            ("src/lib.rs", library),
            ("handlers/Cargo.toml", &manifest),
            ("handlers/src/lib.rs", &handlers),
            ("main.c", program),
        ],
    )
    .unwrap();
    // Naming a component brings in what was compiled beside it, so that discovery then finds that, or all: by chance.
    assert_eq!(run_from_c(&fixture, &[]), "0 0\n", "nothing is discovered");
    assert!(run_from_c(&fixture, &["--features", "by-name"]).ends_with(" 2\n"));
}

/// Builds the library, links it into a C program, and gives what that prints.
fn run_from_c(fixture: &Fixture, features: &[&str]) -> String {
    let output = fixture.cargo(&[&["build"], features].concat(), &[]).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (archive, binary) = (fixture.binary("dev", "libc_library.a"), fixture.binary("dev", "c-program"));
    let main = fixture.folder().join("main.c");
    let cc = Command::new("cc").arg(main).arg(archive).args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&binary).output();
    let cc = cc.unwrap();
    assert!(cc.status.success(), "{}", String::from_utf8_lossy(&cc.stderr));
    String::from_utf8(Command::new(binary).output().unwrap().stdout).unwrap()
}

/// B124: versions below 0.2 could be misused by safe code.
#[test]
fn the_registry_is_a_sound_one() {
    let lock = fs::read_to_string(workspace().join("Cargo.lock")).unwrap();
    let (_, rest) = lock.split_once("name = \"inventory\"\nversion = \"0.").unwrap();
    assert!(rest.chars().next().is_some_and(|minor| minor >= '3'), "{rest:.20}");
}
