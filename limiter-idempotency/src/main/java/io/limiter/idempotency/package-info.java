// SPDX-License-Identifier: Apache-2.0
/**
 * Submissions that run once, however often a client sends them.
 *
 * <p>A submission is a key of a subject. In the store, under that key, it is in one of these
 * states; each has a time to live, and {@link io.limiter.idempotency.Entry} has the transitions:
 *
 * <table>
 * <caption>States of a submission</caption>
 * <tr><th>state</th><th>a repetition</th><th>lives for</th><th>next</th></tr>
 * <tr><td>absent</td><td>claims it</td><td></td><td>claimed</td></tr>
 * <tr><td>claimed (token)</td><td>waits, then 409</td><td>claim, from each renewal on</td>
 * <td>answered, done, absent</td></tr>
 * <tr><td>answered</td><td>gets the answer</td><td>retain</td><td>absent, by time</td></tr>
 * <tr><td>done</td><td>409</td><td>retain</td><td>absent, by time; answered, by a late end</td></tr>
 * </table>
 *
 * The process that has claimed it sees these states ({@link io.limiter.idempotency.Holding}):
 *
 * <table>
 * <caption>States of a claim</caption>
 * <tr><th>state</th><th>renewed</th><th>ends with</th></tr>
 * <tr><td>claiming</td><td>no</td><td>the reply. Without one the claim may have been made: the key
 * is released, and the call does not run</td></tr>
 * <tr><td>held, the method has not begun</td><td>each third of claim</td><td>a denial or the end of
 * the call, which release; the method, if the claim is not older than claim since its newest
 * renewal</td></tr>
 * <tr><td>held, the method runs</td><td>each third of claim</td><td>the end of the method; no end of
 * a response, of a filter or of a connection. After the longest run: done</td></tr>
 * <tr><td>ending with an answer, or done</td><td>each third of claim</td><td>the store's reply; the
 * loss of the claim; retain since the end. Until then the end is written again and again, with
 * pauses from 100 ms to 30 s</td></tr>
 * <tr><td>ending with a release</td><td>no</td><td>the store's reply, or the time of the claim</td></tr>
 * </table>
 *
 * What is promised, and checked for two processes over everything that may happen to their commands
 * (lost, refused, run without a reply, slow, late by any time), with crashes:
 *
 * <ol>
 *   <li>From the begin of a method until {@code retain} after its end, no other method of the
 *       submission begins. This needs that its process lives, that the store keeps its data and its
 *       clock makes no step, and that within the time of each claim a renewal reaches the store:
 *       one is sent after a third of it, and again after each thirtieth while that fails. It holds
 *       for the longest run and {@code retain}, from the claim on, if the method runs for longer. A
 *       method that ends for repetition, such as by an error, frees the key.
 *   <li>Once the store has an end, no method of the submission begins for {@code retain}, whatever
 *       happens to processes and connections.
 *   <li>No command changes what another claim has made, however late it is.
 *   <li>Every value in the store has a time to live, of at most claim or {@code retain}; and every
 *       claim leaves its process, after the longest run or {@code retain} after its end.
 *   <li>Nothing waits for the write of an end: neither the method, nor the response.
 * </ol>
 *
 * Where the first promise needs what is not there, a repetition runs after the time of a claim:
 * after a crash, the method may have run in part or to its end.
 *
 * <p>An answer that has no room, in the bytes of its subject or in the store, is done.
 */
@Configuration
@Requires(
    property = "limiter.enabled",
    pattern = "(?i)(?!\\s*(?:false|off|no)\\s*$).*",
    defaultValue = "true")
@NullMarked
package io.limiter.idempotency;

import io.micronaut.context.annotation.Configuration;
import io.micronaut.context.annotation.Requires;
import org.jspecify.annotations.NullMarked;
