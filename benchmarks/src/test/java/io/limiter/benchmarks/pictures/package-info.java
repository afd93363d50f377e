// SPDX-License-Identifier: Apache-2.0
/**
 * The pictures of the documentation: each algorithm is called at the same times, in Redis, and the
 * results are drawn. {@link io.limiter.benchmarks.pictures.PicturesTest} compares the files with
 * the present drawings, and writes them with {@code -Ppictures}.
 */
package io.limiter.benchmarks.pictures;
