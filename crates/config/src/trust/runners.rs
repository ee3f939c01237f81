//! Which files programs run by themselves, in the folder they are started in. A table; looks at no file.

/// Programs that run what a file of the folder says, and the names of such files.
const RUNNERS: [(&str, &[&str]); 29] = [
    (
        "npm pnpm yarn bun npx pnpx bunx",
        &["package.json", ".npmrc", ".yarnrc.yml", ".pnpmfile.cjs", "bunfig.toml"],
    ),
    ("make gmake bmake", &["GNUmakefile", "makefile", "Makefile"]),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("task go-task", &["Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml"]),
    ("rake bundle bundler", &["Rakefile", "rakefile", "Gemfile", ".bundle/config"]),
    ("composer", &["composer.json"]),
    ("deno", &["deno.json", "deno.jsonc"]),
    (
        "cargo cross",
        &[
            "Cargo.toml",
            "build.rs",
            ".cargo/config.toml",
            ".cargo/config",
            "rust-toolchain.toml",
            "rust-toolchain",
        ],
    ),
    (
        "pytest py.test",
        &["pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "conftest.py"],
    ),
    ("uv uvx", &["pyproject.toml", "uv.toml", "setup.py", "setup.cfg"]),
    ("pip pip3 pipx", &["pyproject.toml", "setup.py", "setup.cfg"]),
    ("tox nox", &["tox.ini", "noxfile.py", "pyproject.toml", "setup.cfg"]),
    ("poe pdm hatch poetry", &["pyproject.toml"]),
    ("pre-commit prek", &[".pre-commit-config.yaml", "prek.toml"]),
    ("lefthook", &["lefthook.yml", ".lefthook.yml", "lefthook.toml"]),
    (
        "gradle gradlew",
        &[
            "build.gradle",
            "build.gradle.kts",
            "settings.gradle",
            "settings.gradle.kts",
            "gradle.properties",
            "gradle/wrapper/gradle-wrapper.properties",
            "gradle/wrapper/gradle-wrapper.jar",
        ],
    ),
    (
        "mvn mvnw",
        &[
            "pom.xml",
            ".mvn/extensions.xml",
            ".mvn/jvm.config",
            ".mvn/maven.config",
            ".mvn/wrapper/maven-wrapper.properties",
            ".mvn/wrapper/maven-wrapper.jar",
        ],
    ),
    ("ant", &["build.xml"]),
    ("sbt", &["build.sbt", "project/plugins.sbt", "project/build.properties"]),
    ("lein", &["project.clj"]),
    ("mix", &["mix.exs", ".formatter.exs"]),
    ("swift", &["Package.swift"]),
    ("dotnet", &["Directory.Build.props", "Directory.Build.targets"]),
    (
        "cmake ctest cpack",
        &["CMakeLists.txt", "CMakePresets.json", "CMakeUserPresets.json", "CTestTestfile.cmake"],
    ),
    ("meson", &["meson.build"]),
    ("ninja", &["build.ninja"]),
    ("invoke inv", &["tasks.py"]),
    ("scons", &["SConstruct"]),
    (
        "docker docker-compose podman",
        &["Dockerfile", "compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"],
    ),
];

/// Files that an interpreter runs when it is given their folder.
pub(super) const ENTRY_FILES: [&str; 3] = ["package.json", "index.js", "__main__.py"];

/// Programs that run such a file.
const INTERPRETERS: [&str; 10] =
    ["node", "nodejs", "nodemon", "electron", "bun", "tsx", "ts-node", "python", "python3", "pypy3"];

/// Programs that run all files of a folder they are given.
const FOLDER_RUNNERS: [&str; 3] = ["run-parts", "bats", "prove"];

pub(super) fn manifests(token: &str) -> &'static [&'static str] {
    let program = base_name(token);
    let runner = RUNNERS.iter().find(|(programs, _)| programs.split(' ').any(|name| name == program));
    runner.map_or(&[], |(_, manifests)| manifests)
}

pub(super) fn runs_folder(words: &[String]) -> bool {
    words.first().is_some_and(|program| FOLDER_RUNNERS.contains(&base_name(program)))
}

pub(super) fn runs_entry_file(words: &[String]) -> bool {
    words.iter().any(|word| INTERPRETERS.contains(&base_name(word)))
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
