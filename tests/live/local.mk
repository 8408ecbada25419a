# tests of live
