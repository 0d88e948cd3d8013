//! Which parts of granted rules no held rule includes. A part is one verb on one resource of one group, for one name or all
//! of them, or one verb on one path.
//! Guarantees memory linear in the rules, and a bound of steps: parts are never multiplied out, except into the text that
//! lists them, which has a bound. Must never report a part as included that no single held rule includes.

use super::PolicyRule;
use pintle_auth::Str;
use pintle_schema::names::quoted;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Steps of one comparison: about a tenth of a second. Rules that take more differ from each other in every field, hundreds of times.
const MAX_STEPS: usize = 4_000_000;

/// Bytes of missing parts that are listed: more than anybody reads.
const MAX_LISTED_BYTES: usize = 256 * 1024;

/// Bytes of a line besides its texts, and of a verb besides its text.
const LINE_BYTES: usize = 64;
const VERB_BYTES: usize = 3;

/// Follows the parts that are listed if there are more.
const AND_MORE: &str = "(and more)";

/// The comparison would take too many steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the rules are too many to be compared")]
pub struct TooManyRules;

/// The parts of granted rules that no held rule includes, as lines in kube-apiserver's form; without any, all is held.
///
/// # Errors
/// The comparison takes too many steps.
pub fn missing(held: &[&PolicyRule], granted: &[PolicyRule]) -> Result<Vec<String>, TooManyRules> {
    let mut comparison = Comparison { steps: 0, listed: Listed::default() };
    let fields = comparison.index(held, granted)?;
    for (at, rule) in (0..).zip(granted) {
        comparison.compare(&fields, &[Of::Resources, Of::Names, Of::Groups, Of::Verbs], at, rule)?;
        comparison.compare(&fields, &[Of::Paths, Of::NoName, Of::Verbs], at, rule)?;
        if comparison.listed.is_full {
            break;
        }
    }
    Ok(comparison.listed.lines())
}

/// The fields of a rule in which its parts differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Verbs,
    Groups,
    Resources,
    Names,
    Paths,
    /// No name: paths are held only by rules without names.
    NoName,
}

/// Positions of held rules, ascending.
type Rules = Vec<u32>;

/// The texts of one field of the granted rules, and which held rules include each.
struct Field<'a> {
    /// Texts that the same held rules include have the same class.
    class_of: HashMap<&'a str, usize>,
    /// The positions in `lists` that together are the held rules that include a class.
    classes: Vec<Vec<usize>>,
    lists: Vec<Rules>,
}

/// All fields; the one of paths without names is that of names.
struct Fields<'a> {
    verbs: Field<'a>,
    groups: Field<'a>,
    resources: Field<'a>,
    names: Field<'a>,
    paths: Field<'a>,
}

/// How a held rule writes what it includes.
enum Written<'a> {
    Everything,
    Text,
    /// The texts that belong to this one, as all paths under a prefix.
    Group(&'a str),
}

/// No name, which the held rules without names include alone.
const NO_NAME: usize = 0;

impl<'a> Field<'a> {
    fn lists_of(&self, class: usize) -> impl Iterator<Item = &Rules> {
        self.classes.get(class).into_iter().flatten().filter_map(|at| self.lists.get(*at))
    }

    /// How many held rules include a class, counted once for each reason.
    fn count(&self, class: usize) -> usize {
        self.lists_of(class).map(Vec::len).sum()
    }

    fn includes(&self, class: usize, rule: u32) -> bool {
        self.lists_of(class).any(|list| list.binary_search(&rule).is_ok())
    }
}

impl<'a> Fields<'a> {
    fn field(&self, of: Of) -> &Field<'a> {
        match of {
            Of::Verbs => &self.verbs,
            Of::Groups => &self.groups,
            Of::Resources => &self.resources,
            Of::Names | Of::NoName => &self.names,
            Of::Paths => &self.paths,
        }
    }
}

fn texts(of: Of, rule: &PolicyRule) -> &[Str] {
    match of {
        Of::Verbs => &rule.verbs,
        Of::Groups => &rule.api_groups,
        Of::Resources => &rule.resources,
        Of::Names => &rule.resource_names,
        Of::Paths => &rule.non_resource_urls,
        Of::NoName => &[],
    }
}

fn written(of: Of, text: &str) -> Written<'_> {
    match of {
        Of::Verbs | Of::Groups | Of::Resources if text == "*" => Written::Everything,
        Of::Resources => text.strip_prefix("*/").map_or(Written::Text, Written::Group),
        Of::Paths if text.ends_with('*') => match text.trim_end_matches('*') {
            "" => Written::Everything,
            prefix => Written::Group(prefix),
        },
        _ => Written::Text,
    }
}

/// The values of one field in one granted rule that the same held rules include.
struct Values {
    class: usize,
    /// Positions in the rule's list; one for no name.
    at: Vec<u32>,
}

/// One field of a granted rule.
struct Side<'a> {
    of: Of,
    field: &'a Field<'a>,
    values: Vec<Values>,
}

impl<'a> Side<'a> {
    fn of(of: Of, fields: &'a Fields<'a>, rule: &PolicyRule) -> Side<'a> {
        let field = fields.field(of);
        let texts = texts(of, rule);
        let class = |text: &Str| field.class_of.get(text.as_str()).copied().unwrap_or(NO_NAME);
        let mut classes: Vec<(usize, u32)> = texts.iter().map(class).zip(0..).collect();
        if matches!(of, Of::Names | Of::NoName) && texts.is_empty() {
            classes.push((NO_NAME, 0));
        }
        classes.sort_unstable();
        let values = classes.chunk_by(|a, b| a.0 == b.0).map(|same| Values {
            class: same.first().map_or(NO_NAME, |(class, _)| *class),
            at: same.iter().map(|(_, at)| *at).collect(),
        });
        Side { of, field, values: values.collect() }
    }

    /// How many held rules include any of the values.
    fn count(&self) -> usize {
        self.values.iter().map(|values| self.field.count(values.class)).sum()
    }
}

struct Comparison {
    steps: usize,
    listed: Listed,
}

impl Comparison {
    fn spend(&mut self, steps: usize) -> Result<(), TooManyRules> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > MAX_STEPS { Err(TooManyRules) } else { Ok(()) }
    }

    fn index<'a>(&mut self, held: &[&'a PolicyRule], granted: &'a [PolicyRule]) -> Result<Fields<'a>, TooManyRules> {
        let mut field = |of| self.index_field(of, held, granted);
        Ok(Fields {
            verbs: field(Of::Verbs)?,
            groups: field(Of::Groups)?,
            resources: field(Of::Resources)?,
            names: field(Of::Names)?,
            paths: field(Of::Paths)?,
        })
    }

    /// Finds the held rules that include each text of the granted rules.
    fn index_field<'a>(
        &mut self,
        of: Of,
        held: &[&'a PolicyRule],
        granted: &'a [PolicyRule],
    ) -> Result<Field<'a>, TooManyRules> {
        let wanted = granted.iter().flat_map(|rule| texts(of, rule)).map(|text| (text.as_str(), Rules::new()));
        let mut by_text: HashMap<&str, Rules> = wanted.collect();
        let mut by_group: HashMap<&str, Rules> = HashMap::new();
        let mut everything = Rules::new();
        let add = |rules: &mut Rules, rule: u32| {
            if rules.last() != Some(&rule) {
                rules.push(rule);
            }
        };
        for (at, rule) in (0..).zip(held) {
            let texts = texts(of, rule);
            self.spend(texts.len())?;
            if of == Of::Names && texts.is_empty() {
                add(&mut everything, at);
            }
            for text in texts {
                match written(of, text) {
                    Written::Everything => add(&mut everything, at),
                    Written::Text => {}
                    Written::Group(group) => add(by_group.entry(group).or_default(), at),
                }
                if let Some(rules) = by_text.get_mut(text.as_str()) {
                    add(rules, at);
                }
            }
        }
        self.classify(of, by_text, by_group, everything)
    }

    fn classify<'a>(
        &mut self,
        of: Of,
        by_text: HashMap<&'a str, Rules>,
        by_group: HashMap<&'a str, Rules>,
        everything: Rules,
    ) -> Result<Field<'a>, TooManyRules> {
        let mut lists = vec![everything];
        let group_at: HashMap<&str, usize> =
            by_group.into_iter().map(|(group, rules)| (group, push(&mut lists, rules))).collect();
        let lengths: BTreeSet<usize> = group_at.keys().map(|group| group.len()).collect();
        let mut list_at: HashMap<Rules, usize> = HashMap::new();
        let mut class_at = HashMap::from([(vec![0], NO_NAME)]);
        let mut class_of = HashMap::with_capacity(by_text.len());
        for (text, rules) in by_text {
            let mut class = vec![0];
            match of {
                Of::Resources => {
                    let subresource = text.split_once('/').and_then(|(_, subresource)| group_at.get(subresource));
                    class.extend(subresource);
                }
                Of::Paths => {
                    for length in lengths.range(..=text.len()) {
                        self.spend(1 + length / 8)?;
                        class.extend(text.get(..*length).and_then(|prefix| group_at.get(prefix)));
                    }
                }
                _ => {}
            }
            if !rules.is_empty() {
                class.push(*list_at.entry(rules).or_insert_with_key(|rules| push(&mut lists, rules.clone())));
            }
            let next = class_at.len();
            class_of.insert(text, *class_at.entry(class).or_insert(next));
        }
        let mut classes = vec![Vec::new(); class_at.len()];
        for (class, at) in class_at {
            if let Some(place) = classes.get_mut(at) {
                *place = class;
            }
        }
        Ok(Field { class_of, classes, lists })
    }

    /// Lists the missing parts of a rule that differ in these fields.
    fn compare(&mut self, fields: &Fields<'_>, ofs: &[Of], at: u32, rule: &PolicyRule) -> Result<(), TooManyRules> {
        let mut sides: Vec<Side<'_>> = ofs.iter().map(|of| Side::of(*of, fields, rule)).collect();
        if sides.iter().any(|side| side.values.is_empty()) {
            return Ok(());
        }
        // The field that the fewest held rules include leaves the least to do for the others.
        sides.sort_by_key(Side::count);
        let [first, rest @ ..] = &sides[..] else { return Ok(()) };
        if let [values, _, ..] = &first.values[..] {
            let some = self.including(first, values)?;
            if self.is_included(&sides, &some)? {
                return Ok(());
            }
        }
        let mut chosen = Vec::with_capacity(ofs.len());
        for values in &first.values {
            let including = self.including(first, values)?;
            chosen.push((first.of, values));
            self.walk(rest, &mut chosen, &including, (at, rule))?;
            chosen.pop();
        }
        Ok(())
    }

    /// The held rules that include some values.
    fn including(&mut self, side: &Side<'_>, values: &Values) -> Result<Rules, TooManyRules> {
        self.spend(side.field.count(values.class))?;
        let mut rules: Rules = side.field.lists_of(values.class).flatten().copied().collect();
        rules.sort_unstable();
        rules.dedup();
        Ok(rules)
    }

    /// Those of some held rules that include some values, too.
    fn narrowed(&mut self, rules: &[u32], side: &Side<'_>, values: &Values) -> Result<Rules, TooManyRules> {
        if rules.len() <= side.field.count(values.class) {
            self.spend(rules.len())?;
            let includes = |rule: &u32| side.field.includes(values.class, *rule);
            return Ok(rules.iter().copied().filter(includes).collect());
        }
        let mut narrowed = self.including(side, values)?;
        narrowed.retain(|rule| rules.binary_search(rule).is_ok());
        Ok(narrowed)
    }

    /// Whether one of some held rules includes all values of these fields.
    fn is_included(&mut self, sides: &[Side<'_>], rules: &[u32]) -> Result<bool, TooManyRules> {
        for rule in rules {
            let mut includes_all = true;
            for (side, values) in sides.iter().flat_map(|side| side.values.iter().map(move |values| (side, values))) {
                self.spend(1)?;
                if !side.field.includes(values.class, *rule) {
                    includes_all = false;
                    break;
                }
            }
            if includes_all {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Lists the missing parts among those with the chosen values, which these held rules include.
    fn walk<'s>(
        &mut self,
        sides: &'s [Side<'_>],
        chosen: &mut Vec<(Of, &'s Values)>,
        rules: &[u32],
        granted: (u32, &PolicyRule),
    ) -> Result<(), TooManyRules> {
        if self.listed.is_full || self.is_included(sides, rules)? {
            return Ok(());
        }
        if rules.is_empty() {
            self.listed.add(sides, chosen, granted);
            return Ok(());
        }
        let [first, rest @ ..] = sides else { return Ok(()) };
        for values in &first.values {
            let narrowed = self.narrowed(rules, first, values)?;
            chosen.push((first.of, values));
            self.walk(rest, chosen, &narrowed, granted)?;
            chosen.pop();
        }
        Ok(())
    }
}

fn push(lists: &mut Vec<Rules>, rules: Rules) -> usize {
    lists.push(rules);
    lists.len() - 1
}

/// Group, resource and name of parts that are listed in one line.
type Line = (Str, Str, Option<Str>);

/// The missing parts.
#[derive(Default)]
struct Listed {
    /// The verbs of each line, with the positions of their rules and in these.
    of_resources: BTreeMap<Line, Vec<(u32, u32, Str)>>,
    /// Paths and verbs.
    of_paths: HashSet<(Str, Str)>,
    bytes: usize,
    is_full: bool,
}

impl Listed {
    /// Adds the parts with the chosen values, and any of the values of the remaining fields.
    fn add(&mut self, sides: &[Side<'_>], chosen: &[(Of, &Values)], (at, rule): (u32, &PolicyRule)) {
        let values = |of: Of| {
            let chosen = chosen.iter().filter(move |(own, _)| *own == of).map(|(_, values)| *values);
            let open = sides.iter().filter(move |side| side.of == of).flat_map(|side| &side.values);
            chosen.chain(open).flat_map(|values| &values.at).copied()
        };
        let text = |of: Of, at: u32| texts(of, rule).get(usize::try_from(at).ok()?).cloned();
        for path in values(Of::Paths).filter_map(|path| text(Of::Paths, path)) {
            for verb in values(Of::Verbs).filter_map(|verb| text(Of::Verbs, verb)) {
                if !self.has_place_for(LINE_BYTES + path.len() + verb.len()) {
                    return;
                }
                self.of_paths.insert((path.clone(), verb));
            }
        }
        for group in values(Of::Groups).filter_map(|group| text(Of::Groups, group)) {
            for resource in values(Of::Resources).filter_map(|resource| text(Of::Resources, resource)) {
                for name in values(Of::Names).map(|name| text(Of::Names, name)) {
                    let bytes = group.len() + resource.len() + name.as_ref().map_or(0, |name| name.len());
                    if !self.has_place_for(LINE_BYTES + bytes) {
                        return;
                    }
                    let line = self.of_resources.entry((group.clone(), resource.clone(), name)).or_default();
                    for verb in values(Of::Verbs) {
                        let Some(text) = text(Of::Verbs, verb) else { continue };
                        self.bytes += VERB_BYTES + text.len();
                        line.push((at, verb, text));
                        if self.bytes >= MAX_LISTED_BYTES {
                            self.is_full = true;
                            return;
                        }
                    }
                }
            }
        }
    }

    fn has_place_for(&mut self, bytes: usize) -> bool {
        self.is_full |= self.bytes >= MAX_LISTED_BYTES;
        self.bytes += bytes;
        !self.is_full
    }

    /// Parts that differ in their verbs alone, and paths, each as a line; sorted.
    fn lines(self) -> Vec<String> {
        let paths = self.of_paths.iter().map(|(path, verb)| {
            shown(&[("NonResourceURLs", std::slice::from_ref(path)), ("Verbs", std::slice::from_ref(verb))])
        });
        let mut lines: BTreeSet<String> = paths.collect();
        for ((group, resource, name), mut verbs) in self.of_resources {
            // In the order of the rules and their lists, as if each part had been compared by itself.
            verbs.sort_by_key(|(rule, verb, _)| (*rule, *verb));
            let verbs: Vec<Str> = verbs.into_iter().map(|(_, _, verb)| verb).collect();
            let names: Vec<Str> = name.into_iter().collect();
            lines.insert(shown(&[
                ("APIGroups", &[group]),
                ("Resources", &[resource]),
                ("ResourceNames", &names),
                ("Verbs", &verbs),
            ]));
        }
        let mut lines: Vec<String> = lines.into_iter().collect();
        if self.is_full {
            lines.push(AND_MORE.to_owned());
        }
        lines
    }
}

fn shown(fields: &[(&str, &[Str])]) -> String {
    let fields = fields.iter().filter(|(_, texts)| !texts.is_empty());
    let fields: Vec<String> = fields.map(|(name, texts)| format!("{name}:{}", list(texts))).collect();
    format!("{{{}}}", fields.join(", "))
}

/// Texts as Go prints them.
pub fn list(texts: &[Str]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(" "))
}

#[cfg(test)]
#[path = "missing_tests.rs"]
mod tests;
