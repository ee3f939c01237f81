//! The one decision about every action: may it run?
