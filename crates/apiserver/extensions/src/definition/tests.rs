//! Definitions judged, on cases as the reference answers them.
