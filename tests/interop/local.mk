# tests of interop
