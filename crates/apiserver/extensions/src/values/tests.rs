//! What values are told, on cases as the reference answers them.
