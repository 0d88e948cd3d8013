//! Ranges of sizes and costs, and what an estimator knows of an argument.
//!
//! All arithmetic saturates: an unknown bound is `u64::MAX` and stays so. Costs are contract, so rounding follows
//! kube-apiserver.

use crate::ast::Literal;
use crate::types::Type;
use pintle_schema::Str;

/// The cost of a character or byte that is looked at.
pub const STRING_TRAVERSAL_FACTOR: f64 = 0.1;
/// The cost of a character of a regular expression, for each character it is matched against.
pub const REGEX_LENGTH_FACTOR: f64 = 0.25;
/// The cost of a list literal.
pub const LIST_CREATE: u64 = 10;
/// The cost of a map literal.
pub const MAP_CREATE: u64 = 30;
/// The cost of an object literal.
pub const STRUCT_CREATE: u64 = 40;

/// The least and most elements, characters or bytes a value may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeEstimate {
    pub min: u64,
    pub max: u64,
}

/// The least and most an expression may cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CostEstimate {
    pub min: u64,
    pub max: u64,
}

/// What a call is estimated to cost, and how large its result may be if that is a string, bytes, a list or a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallEstimate {
    pub cost: CostEstimate,
    pub result_size: Option<SizeEstimate>,
}

/// `x * factor`, rounded up, saturating.
pub fn times_factor(x: u64, factor: f64) -> u64 {
    let product = (x as f64 * factor).ceil();
    if product >= 18_446_744_073_709_551_616.0 { u64::MAX } else { product as u64 }
}

impl SizeEstimate {
    /// Nothing is known.
    pub const UNKNOWN: SizeEstimate = SizeEstimate { min: 0, max: u64::MAX };

    pub const fn new(min: u64, max: u64) -> Self {
        SizeEstimate { min, max }
    }

    /// Exactly this size.
    pub const fn fixed(size: u64) -> Self {
        SizeEstimate { min: size, max: size }
    }

    #[expect(clippy::should_implement_trait, reason = "an operator would not say that it saturates")]
    pub fn add(self, other: Self) -> Self {
        SizeEstimate { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub fn multiply(self, other: Self) -> Self {
        SizeEstimate { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    /// The cost of so many units at `factor` each.
    pub fn times_factor(self, factor: f64) -> CostEstimate {
        CostEstimate { min: times_factor(self.min, factor), max: times_factor(self.max, factor) }
    }

    /// The cost of so many times `cost`.
    pub fn times_cost(self, cost: CostEstimate) -> CostEstimate {
        CostEstimate { min: self.min.saturating_mul(cost.min), max: self.max.saturating_mul(cost.max) }
    }

    /// The range that holds both.
    pub fn union(self, other: Self) -> Self {
        SizeEstimate { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

impl CostEstimate {
    pub const fn new(min: u64, max: u64) -> Self {
        CostEstimate { min, max }
    }

    /// Exactly this cost.
    pub const fn fixed(cost: u64) -> Self {
        CostEstimate { min: cost, max: cost }
    }

    #[expect(clippy::should_implement_trait, reason = "an operator would not say that it saturates")]
    pub fn add(self, other: Self) -> Self {
        CostEstimate { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub fn multiply(self, other: Self) -> Self {
        CostEstimate { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    pub fn times_factor(self, factor: f64) -> Self {
        CostEstimate { min: times_factor(self.min, factor), max: times_factor(self.max, factor) }
    }

    /// The range that holds both.
    pub fn union(self, other: Self) -> Self {
        CostEstimate { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

impl CallEstimate {
    /// A cost, and a result whose size is not worth knowing.
    pub const fn cost(cost: CostEstimate) -> Self {
        CallEstimate { cost, result_size: None }
    }

    /// Exactly this cost.
    pub const fn fixed(cost: u64) -> Self {
        CallEstimate::cost(CostEstimate::fixed(cost))
    }

    /// A cost and the size of the result.
    pub const fn sized(cost: CostEstimate, result: SizeEstimate) -> Self {
        CallEstimate { cost, result_size: Some(result) }
    }
}

/// Finds sizes by where a value comes from.
pub trait Sizes {
    /// The size of what stands at a path: a variable, then names of fields, `@items`, `@keys` or `@values`.
    fn size_at(&self, path: &[Str]) -> Option<SizeEstimate>;
}

/// A call's target or argument, as an estimator sees it.
#[derive(Clone)]
pub struct Node<'e> {
    pub ty: Type,
    /// Where the value comes from, if it is read from a variable.
    pub path: Option<Vec<Str>>,
    pub literal: Option<&'e Literal>,
    pub(crate) computed: Option<SizeEstimate>,
    pub(crate) sizes: &'e dyn Sizes,
}

impl<'e> Node<'e> {
    /// Its size, or the widest range.
    pub fn size(&self) -> SizeEstimate {
        self.known_size().unwrap_or(SizeEstimate::UNKNOWN)
    }

    /// Its size, if anything is known of it.
    pub fn known_size(&self) -> Option<SizeEstimate> {
        self.computed.or_else(|| self.sizes.size_at(self.path.as_deref()?))
    }

    /// Its elements, if its type has a parameter: `list(T)`'s T with the size of its items.
    pub fn items(&self) -> Option<Node<'e>> {
        let ty = (*self.ty.parameters().first()?).clone();
        let path = self.path.as_ref().map(|path| {
            let mut path = path.clone();
            path.push(Str::new_static("@items"));
            path
        });
        Some(Node { ty, path, literal: None, computed: None, sizes: self.sizes })
    }
}
