//! The group `fun.example.com`: frobbers, after the example in Kubernetes' guide to changing an API.

pub mod admission;
pub mod gates;
pub mod hub;
pub mod resource;
pub mod v6;
pub mod v7beta1;
