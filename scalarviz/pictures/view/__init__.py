"""Drawing: frame data (arrays) and a camera are rendered to pixels."""
