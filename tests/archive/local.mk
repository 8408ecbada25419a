# tests of archive
