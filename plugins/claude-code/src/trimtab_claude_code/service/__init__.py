"""The resident process behind ``type: "http"`` hooks, on 127.0.0.1 alone."""
