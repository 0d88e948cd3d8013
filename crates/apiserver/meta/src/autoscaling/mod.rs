//! The part of the `autoscaling` group that any resource can have.
//! One module per version. The group's own kinds are not here.

pub mod v1;
