//! The rows of the case table that describe a situation instead of a command: each is built and lived through here,
//! or by the test it names, or it waits for a door that zdx does not have yet. None may be forgotten.

mod doors;
mod project;
mod running;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::guard::TABLE;
use crate::{approvals, guard, mcp};

/// Which test lives through a row.
const LIVED_THROUGH: &[(&str, fn())] = &[
    ("A230", approvals::a_users_own_command_passes_the_same_gate),
    ("A237", doors::a_check_of_the_projects_passes_the_guard),
    ("A238", doors::a_command_in_a_slash_command_passes_the_guard),
    ("A240", guard::one_flag_lifts_the_confirmation_and_nothing_lifts_the_forbidden),
    ("A242", approvals::what_is_dangerous_is_confirmed_every_time),
    ("A243", approvals::what_is_dangerous_is_confirmed_every_time),
    ("A245", guard::with_nobody_to_ask_a_question_is_a_no_that_names_the_way_out),
    ("A274", guard::a_write_through_a_hard_link_leaves_the_outside_alone),
    ("A276", guard::devices_and_magic_links_are_no_files),
    ("A278", doors::a_patch_stays_inside_and_means_what_it_says),
    ("A279", doors::a_patch_stays_inside_and_means_what_it_says),
    ("A281", guard::a_copy_onto_a_link_is_judged_by_where_it_leads),
    ("A283", doors::only_the_user_mentions_files_outside),
    ("A286", project::a_server_of_the_projects_is_asked_about_before_anything_starts),
    ("A288", project::a_configuration_that_a_tool_wrote_is_asked_about_again),
    ("A289", project::a_projects_environment_file_moves_nothing_of_zdxs),
    ("A291", project::a_project_cannot_allow_itself_anything),
    ("A293", project::a_project_cannot_allow_itself_anything),
    ("A294", project::a_project_cannot_allow_itself_anything),
    ("A296", project::a_skill_that_is_a_link_out_of_the_project_is_none),
    ("A298", mcp::tools::a_servers_tools_are_tools_like_any_other),
    ("A299", mcp::trusted::a_tool_that_describes_itself_otherwise_is_asked_about_again),
    ("A301", mcp::tools::no_key_of_ours_is_in_a_servers_environment),
    ("A303", running::values_of_a_repository_reach_no_shell),
    ("A304", running::nothing_of_a_package_manager_starts_with_a_session),
    ("A306", guard::a_session_is_named_by_an_id_and_never_by_a_path),
    ("A308", project::a_configuration_has_a_size_and_a_depth),
    ("A309", project::a_key_given_twice_is_refused),
    ("A311", running::nobody_can_connect_to_a_running_zdx),
    ("A356", approvals::a_command_is_shown_whole_with_every_character_visible),
    ("A358", approvals::what_was_typed_before_the_question_never_answers_it),
];

/// Raced in the engine's own tests: the row's ten thousand tries are too many for whole runs of a binary.
const RACED: (&str, &str) = ("A273", include_str!("../../../tools/tests/it/path_races.rs"));

/// Rows about doors that are not built.
const TO_COME: &[(&str, &str)] = &[
    ("A232", "an Agent Zero server's call"),
    ("A233", "an Agent Zero server's call"),
    ("A235", "a terminal of an ACP agent"),
    ("A284", "a file of an ACP agent"),
];

/// Kinds that are run whole elsewhere: by the policy tables, with the file tools, through the sanitiser.
const RUN_WHOLE: [&str; 3] = ["shell", "write", "output"];

#[test]
fn no_row_is_forgotten() {
    let rows = TABLE.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let situations: BTreeSet<String> = rows
        .filter(|row| !RUN_WHOLE.contains(&row["kind"].as_str().unwrap()))
        .map(|row| row["id"].as_str().unwrap().to_owned())
        .collect();
    let lived = LIVED_THROUGH.iter().map(|(id, _)| *id);
    let known: Vec<&str> = lived.chain(TO_COME.iter().map(|(id, _)| *id)).chain([RACED.0]).collect();
    assert!(RACED.1.contains("fn no_call_leaves_the_workspace_in_a_race"));
    assert_eq!(situations, known.iter().map(|id| (*id).to_owned()).collect());
    assert_eq!(situations.len(), known.len(), "a row is there twice");
}
