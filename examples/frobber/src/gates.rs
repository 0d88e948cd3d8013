//! The feature gates of the group. The builder of a server is given all of them, so that flags can set them.

pintle_schema::gates! {
    /// All gates of the group.
    pub ALL {
        /// Frobbers have a width.
        FROBBER_2D = "Frobber2D": alpha(36);
        /// Frobbers are started again on Tuesdays.
        FROBBER_RESTART_POLICY_ON_TUESDAY = "FrobberRestartPolicyOnTuesday": alpha(36);
    }
}
