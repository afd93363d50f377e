// SPDX-License-Identifier: Apache-2.0
/**
 * The pictures of the documentation: each algorithm is called at the same times, in Redis, and what
 * came of it is drawn. {@link io.limiter.core.pictures.PicturesTest} compares the files with what
 * is drawn today, and writes them with {@code -Dlimiter.pictures=write}.
 */
package io.limiter.core.pictures;
