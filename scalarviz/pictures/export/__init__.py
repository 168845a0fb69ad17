"""Sessions as files: pictures, videos, storyboards, pages."""
