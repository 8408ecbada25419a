/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests were built with: gcc defines a macro, clang has a feature. */
#ifndef TEST_LIB_SANITIZERS_H
#define TEST_LIB_SANITIZERS_H

#if defined(__has_feature)
#define TEST_HAS_FEATURE(name) __has_feature(name)
#else
#define TEST_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || TEST_HAS_FEATURE(address_sanitizer)
#define UNDER_ASAN 1
#else
#define UNDER_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__) || TEST_HAS_FEATURE(thread_sanitizer)
#define UNDER_TSAN 1
#else
#define UNDER_TSAN 0
#endif

#endif
