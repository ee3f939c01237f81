//! Modes and config options: each is set to something else and back, and takes nothing that it does not have.

use serde_json::{Value, json};
use zdx_acp::shapes::{Choices, Setting, Via};

use super::line::{Answer, Line};
use super::report::{Outcome, Report};

pub(super) async fn set<A>(report: &mut Report, line: &Line<'_, A>, session: &str, answer: &Value) {
    let mut choices = Choices::default();
    choices.take(&json!({"modes": answer["modes"]}));
    let mode = choices.mode().cloned();
    report.add(
        "session/set_mode",
        match &mode {
            Some(mode) => set_and_back(line, session, mode).await,
            None => Outcome::not_advertised(),
        },
    );
    for (name, session, id, what) in [
        ("unknown mode is refused", session, "zdx-no-such-mode", "an unknown mode"),
        ("unknown session: session/set_mode", "zdx-no-such-session-either", "default", "an unknown session"),
    ] {
        let outcome = match mode {
            Some(_) => {
                line.ask("session/set_mode", json!({"sessionId": session, "modeId": id})).await.refused(what)
            }
            None => Outcome::not_advertised(),
        };
        report.add(name, outcome);
    }
    choices.take(&json!({"configOptions": answer["configOptions"]}));
    let mut outcome = Outcome::not_advertised();
    for option in choices.options().to_vec() {
        outcome = set_and_back(line, session, &option).await;
        if outcome != Outcome::Pass {
            break;
        }
    }
    report.add("session/set_config_option", outcome);
}

async fn set_and_back<A>(line: &Line<'_, A>, session: &str, setting: &Setting) -> Outcome {
    let Some(before) = setting.current() else {
        return Outcome::fail(format!("{} does not say what it is set to", setting.id));
    };
    // Another model may want another login.
    let is_model = setting.category.as_deref() == Some("model");
    let mut others = setting.values().into_iter().filter(|value| *value != before && !is_model);
    let other = others.next().unwrap_or(&before);
    for wanted in [other, &before] {
        let Some(value) = setting.find(wanted) else {
            return Outcome::fail(format!("{} is set to {wanted}, which it does not offer", setting.id));
        };
        let (method, params) = setting.set(session, &value);
        let answer = line.ask(method, params).await;
        let outcome = taken(&answer, setting, &value);
        if outcome != Outcome::Pass {
            return outcome;
        }
    }
    Outcome::Pass
}

fn taken(answer: &Answer, setting: &Setting, value: &Value) -> Outcome {
    let result = match answer.good() {
        Ok(result) => result,
        Err(outcome) => return outcome,
    };
    match setting.via {
        Via::SetMode | Via::SetModel => Outcome::Pass,
        Via::ConfigOption => {
            let options = result["configOptions"].as_array().map(Vec::as_slice).unwrap_or_default();
            match options.iter().find(|option| option["id"] == setting.id.as_str()) {
                Some(option) if option["currentValue"] == *value => Outcome::Pass,
                Some(_) => answer.wrong(format!("{} was set, and is not what it was set to", setting.id)),
                None => answer.wrong("the answer lacks the options as they are now"),
            }
        }
    }
}
