# tests of format
