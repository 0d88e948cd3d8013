//! Replays recorded answers of kube-apiserver on the engine, without a server.
//!
//! What a server adds around (field paths, the rule's JSON) is taken off both sides. Where the recordings do not lie beside
//! the checkout there is nothing to replay. The shares that agree must not fall below `FLOORS`.

mod recorded {
    pub mod admission;
    pub mod cases;
    pub mod definition;
    pub mod object;
    pub mod policy;
}

use recorded::cases::{self, Case};
use recorded::{admission, definition, object, policy};
use std::collections::BTreeMap;

/// The least share of cases that agree, in tenths of a percent.
const FLOORS: [(&str, usize); 5] =
    [("compile", 1000), ("eval", 1000), ("update", 1000), ("post", 1000), ("admit", 1000)];

/// What became of a case.
enum Verdict {
    Same,
    /// What was got.
    Differs(String),
    /// A server's answer that the engine has no part in.
    Beyond,
}

fn validate(case: &Case) -> Verdict {
    let Some(want) = case.wanted() else { return Verdict::Beyond };
    let got = match case.kind() {
        "compile" => definition::validate(case),
        "post" => policy::validate(case),
        "admit" => admission::validate(case),
        _ => object::validate(case),
    };
    if got == want { Verdict::Same } else { Verdict::Differs(format!("want {want:#?}\n got {got:#?}")) }
}

#[test]
fn recorded_answers_agree() {
    let only = std::env::var("PINTLE_CEL_CASES").unwrap_or_default();
    for (kind, floor) in FLOORS {
        let Some(cases) = cases::load(kind) else { continue };
        let mut groups: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        let mut beyond = 0;
        for case in cases.iter().filter(|case| case.id().starts_with(&only)) {
            let verdict = validate(case);
            let (same, all) = groups.entry(case.group().to_string()).or_default();
            match verdict {
                Verdict::Same => {
                    *same += 1;
                    *all += 1;
                }
                Verdict::Differs(how) => {
                    *all += 1;
                    if !only.is_empty() {
                        println!("{}: {}\n{how}\n", case.id(), case.shown());
                    }
                }
                Verdict::Beyond => beyond += 1,
            }
        }
        let (mut same, mut all) = (0, 0);
        for (group, (agreed, asked)) in &groups {
            println!("{kind:8} {group:20} {agreed:5} of {asked:5}");
            same += agreed;
            all += asked;
        }
        println!("{kind:8} all {same} of {all}, {beyond} beyond the engine");
        if only.is_empty() && all > 0 {
            assert!(same * 1000 >= floor * all, "{kind}: {same} of {all} agree, less than {floor} of 1000");
        }
    }
}
