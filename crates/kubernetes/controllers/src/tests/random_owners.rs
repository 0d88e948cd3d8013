//! Random graphs of true and false owner references, deleted object by object, against a model. Guarantees that nothing
//! whose owner lives is ever deleted, and that everything whose owners are all gone is. Must never need a socket.

use super::Fixture;
use pintle_registry::options::Propagation;
use pintle_registry::{DeleteOptions, Target};
use pintle_schema::{Value, value};

const SEEDS: u64 = 12;
const OBJECTS: usize = 24;
const DELETIONS: usize = 8;

/// Numbers that follow from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % end
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }
}

/// The group, version, plural and kind of the objects, and whether they are namespaced.
const KINDS: [(&str, &str, &str, bool); 3] = [
    ("", "configmaps", "ConfigMap", true),
    ("", "secrets", "Secret", true),
    ("rbac.authorization.k8s.io", "clusterroles", "ClusterRole", false),
];

#[derive(Clone, Debug, PartialEq)]
struct Reference {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    name: String,
    uid: String,
    blocks: bool,
}

#[derive(Debug)]
struct Node {
    kind: usize,
    namespace: &'static str,
    name: String,
    uid: String,
    owners: Vec<Reference>,
    lives: bool,
}

#[derive(PartialEq)]
enum State {
    Solid,
    Lost,
    Undecided,
}

/// The objects, as they should be.
#[derive(Debug, Default)]
struct Model(Vec<Node>);

impl Model {
    fn state(&self, namespace: &str, reference: &Reference) -> State {
        let kind = KINDS.iter().position(|(group, _, kind, _)| (*group, *kind) == (reference.group, reference.kind));
        let Some(kind) = kind.filter(|_| reference.version == "v1") else { return State::Undecided };
        let home = if KINDS[kind].3 { namespace } else { "" };
        if KINDS[kind].3 && namespace.is_empty() {
            return State::Undecided;
        }
        let is_it = |node: &Node| {
            node.lives
                && (node.kind, node.namespace) == (kind, home)
                && (&node.name, &node.uid) == (&reference.name, &reference.uid)
        };
        if self.0.iter().any(is_it) { State::Solid } else { State::Lost }
    }

    /// Deletes what has no owner any more, and removes references to lost owners, until nothing changes.
    fn settle(&mut self) {
        loop {
            let mut has_changed = false;
            for at in 0..self.0.len() {
                let node = &self.0[at];
                let states: Vec<State> = node.owners.iter().map(|owner| self.state(node.namespace, owner)).collect();
                let lost = states.iter().filter(|state| **state == State::Lost).count();
                if !node.lives || lost == 0 || states.contains(&State::Undecided) {
                    continue;
                }
                has_changed = true;
                let node = &mut self.0[at];
                if lost == states.len() {
                    node.lives = false;
                } else {
                    let mut states = states.iter();
                    node.owners.retain(|_| states.next() != Some(&State::Lost));
                }
            }
            if !has_changed {
                return;
            }
        }
    }

    fn delete(&mut self, at: usize, propagation: Propagation) {
        if propagation == Propagation::Orphan {
            let Node { kind, namespace, name, uid, .. } = &self.0[at];
            let (group, _, kind, _) = KINDS[*kind];
            let (namespace, name, uid) = (*namespace, name.clone(), uid.clone());
            for node in self.0.iter_mut().filter(|node| namespace.is_empty() || node.namespace == namespace) {
                let is_it = |of: &Reference| (of.group, of.kind, &of.name, &of.uid) == (group, kind, &name, &uid);
                node.owners.retain(|reference| !is_it(reference));
            }
        }
        self.0[at].lives = false;
        self.settle();
    }

    /// A reference to one of the objects, true or false.
    fn reference(&self, random: &mut Random) -> Reference {
        let node = &self.0[random.below(self.0.len())];
        let (group, _, kind, _) = KINDS[node.kind];
        let (name, uid, blocks) = (node.name.clone(), node.uid.clone(), random.below(2) == 0);
        let mut reference = Reference { group, version: "v1", kind, name, uid, blocks };
        match random.below(12) {
            0 => reference.name = "nope".to_owned(),
            1 => reference.uid = "nobody's".to_owned(),
            2 => (reference.group, _, reference.kind, _) = random.one_of(&KINDS),
            3 => reference.kind = "Foo",
            4 => reference.version = "v9",
            5 => reference.name.clone_from(&self.0[random.below(self.0.len())].name),
            _ => {}
        }
        reference
    }
}

struct Run {
    fixture: Fixture,
    model: Model,
}

impl Run {
    fn target(&self, node: &Node) -> Target {
        self.fixture.target(KINDS[node.kind].0, KINDS[node.kind].1, node.namespace, &node.name)
    }

    async fn create(&mut self, random: &mut Random) {
        let kind = random.below(KINDS.len());
        let namespace = if KINDS[kind].3 { random.one_of(&["default", "other"]) } else { "" };
        let mut named: Vec<Reference> = match self.model.0.is_empty() {
            true => Vec::new(),
            false => (0..random.below(4)).map(|_| self.model.reference(random)).collect(),
        };
        let state = |reference: &Reference| self.model.state(namespace, reference);
        // An object that stays for ever would keep its owners waiting.
        if named.iter().any(|owner| state(owner) == State::Undecided) {
            named.iter_mut().filter(|owner| state(owner) == State::Solid).for_each(|owner| owner.blocks = false);
        }
        let mut owners: Vec<Reference> = Vec::new();
        for reference in named {
            owners.extend((!owners.contains(&reference)).then_some(reference));
        }
        let shown = |owner: &Reference| {
            let Reference { group, version, kind, name, uid, blocks } = owner;
            let api_version = if group.is_empty() { (*version).to_owned() } else { format!("{group}/{version}") };
            value!({"apiVersion": api_version, "kind": (*kind), "name": (name.as_str()), "uid": (uid.as_str()), "blockOwnerDeletion": (*blocks)})
        };
        let references = Value::List(owners.iter().map(shown).collect());
        let name = format!("o{}", self.model.0.len());
        let object = value!({"metadata": {"name": (name.as_str()), "ownerReferences": references}});
        let uid = self.fixture.create(KINDS[kind].0, KINDS[kind].1, namespace, object).await;
        self.model.0.push(Node { kind, namespace, name, uid, owners, lives: true });
    }

    /// The first difference between the objects and the model.
    fn difference(&self) -> Option<String> {
        self.model.0.iter().find_map(|node| {
            let found = self.fixture.get(&self.target(node)).map(|object| object.encoded.owners().count());
            let wanted = node.lives.then_some(node.owners.len());
            (found != wanted).then(|| format!("{node:?} has {found:?} owners"))
        })
    }

    /// Waits until the objects are those of the model, and checks that they stay so.
    async fn converges(&self) {
        let wait = async {
            while self.difference().is_some() {
                assert!(self.model.0.iter().all(|node| !node.lives || self.fixture.get(&self.target(node)).is_some()));
                tokio::time::sleep(std::time::Duration::from_millis(2)).await;
            }
        };
        let outcome = tokio::time::timeout(std::time::Duration::from_secs(60), wait).await;
        outcome.unwrap_or_else(|_| panic!("{:?} in {:#?}", self.difference(), self.model));
        self.fixture.quiet().await;
        assert_eq!(self.difference(), None);
    }
}

#[tokio::test]
async fn what_has_an_owner_stays_and_what_has_none_goes() {
    for seed in 0..SEEDS {
        let mut random = Random(seed);
        let mut run = Run { fixture: Fixture::new().await, model: Model::default() };
        // Some graphs are there before the controllers start.
        let mut controllers = (seed % 2 == 0).then(|| run.fixture.start());
        for _ in 0..OBJECTS {
            run.create(&mut random).await;
            if controllers.is_some() {
                run.model.settle();
                run.converges().await;
            }
        }
        controllers.get_or_insert_with(|| run.fixture.start());
        run.model.settle();
        run.converges().await;
        for _ in 0..DELETIONS {
            let alive: Vec<usize> = (0..OBJECTS).filter(|at| run.model.0[*at].lives).collect();
            if alive.is_empty() {
                break;
            }
            let at = random.one_of(&alive);
            let propagation = random.one_of(&[Propagation::Background, Propagation::Foreground, Propagation::Orphan]);
            let options = DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() };
            let target = run.target(&run.model.0[at]);
            run.fixture.registry.delete(&target, &options).await.map(drop).expect("deleted");
            run.model.delete(at, propagation);
            run.converges().await;
        }
    }
}
