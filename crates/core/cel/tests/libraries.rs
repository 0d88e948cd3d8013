//! Estimated costs of calls of libraries, and what the authorizer is asked.
//!
//! The numbers are those that kube-apiserver's own tests expect.

use pintle_cel::library::authorization::{self, Authorizer, Decision, Question, Subject, Target};
use pintle_cel::library::json_patch;
use pintle_cel::{Environment, Value};
use std::sync::{Arc, Mutex};

/// More than any of the expressions costs.
const LIMIT: u64 = 1_000_000;

fn environment() -> Environment {
    Environment::for_stored_expressions()
        .with_functions(json_patch::functions())
        .with_variable("authorizer", authorization::authorizer_type())
}

#[test]
fn calls_are_estimated() {
    const IP: &str = "ip('192.168.0.1')";
    const IPV6: &str = "ip('2001:db8:3333:4444:5555:6666:7777:8888')";
    const CIDR: &str = "cidr('192.168.0.0/16')";
    const URL: &str = "url('https:://kubernetes.io/')";
    for (expression, min, max) in [
        ("ip.isCanonical('192.168.0.1')", 3, 3),
        ("ip.isCanonical('2001:db8:3333:4444:5555:6666:7777:8888')", 8, 8),
        (IP, 2, 2),
        (IPV6, 4, 4),
        (&format!("{IP}.family()"), 3, 3),
        (&format!("{IP} == {IP}"), 5, 5),
        (CIDR, 2, 2),
        (&format!("{CIDR}.masked()"), 3, 3),
        (&format!("{CIDR}.ip()"), 3, 3),
        (&format!("{CIDR}.containsIP({IP})"), 5, 8),
        (&format!("{CIDR}.containsIP('192.168.0.1')"), 5, 8),
        (&format!("{CIDR}.containsCIDR('192.168.0.0/24')"), 7, 11),
        (URL, 3, 3),
        (&format!("{URL}.getScheme()"), 4, 4),
        ("isURL('https:://kubernetes.io/')", 1, 1),
        ("'ABCDEFGHIJ abcdefghij'.lowerAscii()", 3, 3),
        ("'ABCDEFGHIJ abcdefghij'.lowerAscii() == 'abcdefghij ABCDEFGHIJ'.lowerAscii()", 7, 9),
        ("strings.quote('ABCDEFGHIJ abcdefghij')", 3, 3),
        ("strings.quote('ABCDEFGHIJ abcdefghij') == strings.quote('ABCDEFGHIJ abcdefghij')", 7, 11),
        ("'abc 123 def 123'.replace('123', '456')", 3, 3),
        ("'abc 123 def 123'.replace('', 'x')", 3, 3),
        ("'abc 123 def 123'.split(' ', 1)", 3, 3),
        ("'abc 123 def 123'.substring(5, 8)", 2, 2),
        ("'  abc 123 def 123  '.trim()", 2, 2),
        ("'abc 123 def 123'.find('123')", 2, 2),
        ("'abc 123 def 123'.findAll('123', 1)", 2, 2),
        ("jsonpatch.escapeKey('abc/def~ abc/def~')", 2, 2),
        ("quantity('12Mi')", 1, 1),
        ("isQuantity('20M')", 1, 1),
        ("quantity('200M') == quantity('200M')", 3, 3),
        ("quantity('200M') == quantity('0.2G') && quantity('0.2G') == quantity('200M')", 3, 6),
        ("semver('1.0.0').major()", 2, 2),
        ("authorizer.path('/healthz')", 2, 2),
        ("authorizer.group('apps').resource('deployments').subresource('status').namespace('n').name('x')", 6, 6),
        (
            "authorizer.group('').resource('pods').fieldSelector('spec.nodeName=example-node-name.fully.qualified.domain.name.example.com')",
            1821,
            1821,
        ),
        ("authorizer.path('/healthz').check('get').allowed()", 350_003, 350_003),
    ] {
        let program = environment().compile(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
        let cost = program.estimated_cost();
        assert_eq!((cost.min, cost.max), (min, max), "{expression}");
    }
}

/// Allows what is asked for service accounts, and remembers all questions.
#[derive(Debug, Default)]
struct Remembers(Mutex<Vec<Question>>);

impl Authorizer for Remembers {
    fn decide(&self, question: &Question) -> Decision {
        self.0.lock().unwrap().push(question.clone());
        match &question.subject {
            Subject::Requester => {
                Decision { reason: "no rule".into(), error: Some("cannot tell".into()), ..Decision::default() }
            }
            Subject::ServiceAccount { .. } => Decision { allowed: true, ..Decision::default() },
        }
    }
}

#[test]
fn the_authorizer_is_asked_what_the_expression_says() {
    let remembers = Arc::new(Remembers::default());
    let evaluate = |expression: &str| {
        let variables = [("authorizer", authorization::authorizer(remembers.clone()))];
        let program = environment().compile(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
        let evaluated = program.evaluate(&variables, LIMIT);
        let text = match evaluated.value {
            Ok(Value::Bool(flag)) => flag.to_string(),
            Ok(Value::String(text)) => text.to_string(),
            other => format!("{other:?}"),
        };
        (text, evaluated.cost)
    };
    let resource = "group('apps').resource('deployments').subresource('status').namespace('test').name('backend')";
    let check = format!("authorizer.{resource}.labelSelector('a=b').check('create')");
    // A selector of three characters costs 10 for its list, 1 for reading and 100 for two requirements.
    assert_eq!(evaluate(&format!("{check}.allowed()")), ("false".to_owned(), 350_118));
    assert_eq!(evaluate(&format!("{check}.reason()")).0, "no rule");
    assert_eq!(evaluate(&format!("{check}.errored()")).0, "true");
    assert_eq!(evaluate(&format!("{check}.error()")).0, "cannot tell");
    let account = "authorizer.serviceAccount('ns', 'sa').path('/healthz').check('get').allowed()";
    assert_eq!(evaluate(account), ("true".to_owned(), 350_004));
    let questions = remembers.0.lock().unwrap();
    let Some(Question { verb, target: Target::Resource(resource), .. }) = questions.first() else {
        panic!("{questions:?}")
    };
    assert_eq!(verb, "create");
    assert_eq!(
        (resource.subresource.as_str(), resource.name.as_str(), resource.label_selector.as_str()),
        ("status", "backend", "a=b")
    );
    let Some(Question { subject, target: Target::Path(path), .. }) = questions.last() else { panic!("{questions:?}") };
    assert_eq!(subject, &Subject::ServiceAccount { namespace: "ns".into(), name: "sa".into() });
    assert_eq!(path, "/healthz");
}
