//! The command line of `zdx mcp`.

use clap::Subcommand;

const ADD_EXAMPLES: &str = "\
Examples:
  zdx mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  zdx mcp add tracker --env TRACKER_TOKEN -- tracker-mcp --stdio

--env NAME hands that variable of your environment on, without its value in any file.";

const TEST_EXAMPLES: &str = "\
Examples:
  zdx mcp test files                                   start it and list its tools
  zdx mcp test files list_directory '{\"path\":\".\"}'   call one of them";

#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// Start every server and say how it is: state, version, tools, start-up time, size of the schemas
    List,
    /// Start one server and list its tools, or call one of them; nobody is asked
    #[command(after_help = TEST_EXAMPLES)]
    Test {
        /// The server's name
        name: String,
        /// A tool, by the server's own name for it
        tool: Option<String>,
        /// Its arguments, a JSON object
        #[arg(value_name = "JSON")]
        arguments: Option<String>,
    },
    /// Add a server to your configuration
    #[command(after_help = ADD_EXAMPLES)]
    Add {
        /// What to call it
        name: String,
        /// A variable to hand on (NAME), or to set (NAME=VALUE); may be given several times
        #[arg(long = "env", value_name = "VAR")]
        env: Vec<String>,
        /// The program and its arguments
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// Remove a server from your configuration
    Remove {
        /// The server's name
        name: String,
    },
    /// Switch a server on
    Enable {
        /// The server's name
        name: String,
    },
    /// Switch a server off, and keep what is written about it
    Disable {
        /// The server's name
        name: String,
    },
}
