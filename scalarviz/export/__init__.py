"""A session becomes a file to look at: pictures, videos, storyboards, pages."""
