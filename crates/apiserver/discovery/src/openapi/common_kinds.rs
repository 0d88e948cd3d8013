//! The group versions that the kinds of every group, `DeleteOptions` and `WatchEvent`, are listed for.
//! Guarantees that a server which names no known versions lists those that it has. Must never name a group itself.

use crate::catalog::Catalog;

/// Which group versions a document lists.
#[derive(Clone, Copy)]
pub(crate) enum CommonKinds<'a> {
    /// The document is about every group.
    All(&'a Catalog),
    /// It is about this version of a group.
    Of(&'a str, &'a str),
    /// It is about custom resources.
    OfCustom(&'a Catalog),
}

impl<'a> CommonKinds<'a> {
    /// Groups and versions in their order.
    pub fn group_versions(self) -> Vec<(&'a str, &'a str)> {
        match self {
            CommonKinds::All(catalog) => known(catalog),
            CommonKinds::OfCustom(catalog) => {
                let left_out = catalog.server().known_versions.not_of_custom;
                known(catalog).into_iter().filter(|(group, _)| !left_out.contains(group)).collect()
            }
            CommonKinds::Of("", "v1") => vec![CORE],
            CommonKinds::Of(group, version) => vec![CORE, (group, version)],
        }
    }
}

const CORE: (&str, &str) = ("", "v1");

fn known(catalog: &Catalog) -> Vec<(&str, &str)> {
    let known = catalog.server().known_versions.all;
    if !known.is_empty() {
        return known.to_vec();
    }
    let groups = catalog.groups().iter();
    let mut all: Vec<_> =
        groups.flat_map(|group| group.versions.iter().map(|version| (&*group.name, &*version.name))).collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{KnownVersions, ServerDescription};

    #[test]
    fn a_document_lists_the_versions_that_it_is_about() {
        let known_versions = KnownVersions { all: &[CORE, ("apps", "v1"), ("own", "v1")], not_of_custom: &["own"] };
        let catalog = Catalog::default().of_server(ServerDescription { known_versions, ..Default::default() });
        assert_eq!(CommonKinds::Of("", "v1").group_versions(), [CORE]);
        assert_eq!(CommonKinds::Of("apps", "v1").group_versions(), [CORE, ("apps", "v1")]);
        assert_eq!(CommonKinds::All(&catalog).group_versions(), known_versions.all);
        assert_eq!(CommonKinds::OfCustom(&catalog).group_versions(), [CORE, ("apps", "v1")]);
        assert_eq!(CommonKinds::All(&Catalog::default()).group_versions(), []);
    }
}
