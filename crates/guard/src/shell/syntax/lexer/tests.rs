use super::*;

fn texts(source: &str) -> Vec<String> {
    tokens(source).unwrap().iter().map(|token| token.to_str().to_owned()).collect()
}

#[test]
fn words_keep_their_source_and_operators_stand_alone() {
    assert_eq!(texts("ls -l>x 2>&1&&a|&b"), ["ls", "-l", ">", "x", "2", ">&", "1", "&&", "a", "|&", "b"]);
    assert_eq!(texts("echo \"$(echo ')' \"a b\")\" # rm"), ["echo", "\"$(echo ')' \"a b\")\""]);
    assert_eq!(
        texts("echo $(case a in a) x;; (b) y;; esac) z"),
        ["echo", "$(case a in a) x;; (b) y;; esac)", "z"]
    );
    assert_eq!(texts("a $(b # )\n c) d"), ["a", "$(b # )\n c)", "d"]);
    assert_eq!(texts("i\\\nf"), ["if"]);
    assert_eq!(texts("((a<b)) ; ((c) )"), ["(", "(", "a<b", ")", ")", ";", "(", "(", "c", ")", ")"]);
}

#[test]
fn here_documents_end_where_bash_ends_them() {
    assert_eq!(
        texts("cat <<A <<'B'; ls\n1\nA\n$x\nB\nid"),
        ["cat", "<<", "A", "1\n", "A", "<<", "'B'", "$x\n", "'B'", ";", "ls", "\n", "id"]
    );
    assert_eq!(texts("x=$(cat <<'E'\ndon't (\nE\n)"), ["x=$(cat <<'E'\ndon't (\nE\n)"]);
    for unclear in [
        "cat <<E\nE\\\n\nrm x\nE",
        "cat <<E\nEO\\\nF",
        "cat <<EOF\nEO\\\nF\nrm x\nEOF",
        "cat <<$'E'\nE\nrm\n$E",
        "cat <<E",
    ] {
        assert!(tokens(unclear).is_err(), "{unclear}");
    }
}

#[test]
fn nesting_is_bounded_before_anything_recurses() {
    for opener in ["(", "{ ", "$(", "`$(", "((", "$((", "${a:-", "if ", "\"$(", "$(("] {
        let text = opener.repeat(100_000 / opener.len());
        assert!(tokens(&text).is_err(), "{opener}");
    }
}

#[test]
fn a_dollar_cut_off_by_a_line_break_is_refused() {
    assert!(tokens("y=\"$\\\n(rm x)\"").is_err());
}
