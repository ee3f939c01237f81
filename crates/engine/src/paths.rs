//! Every directory and file zdx touches outside the workspace.
