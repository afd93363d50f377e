// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

/** The guarantees of every store (see {@link LimitStore}), as one suite for all of them. */
public interface LimitStoreContract
    extends SlidingWindowContract,
        SlidingCounterContract,
        FixedWindowContract,
        AlignedWindowContract,
        TokenBucketContract,
        LeaverContract,
        OwnAlgorithmContract,
        MixedStackContract,
        BanContract,
        ModesContract,
        RetryAfterContract,
        RemainingContract,
        UsageContract,
        ReservationContract,
        InFlightContract,
        OutcomeContract,
        SettledCostContract,
        ObservedContract,
        SharedLimitContract,
        DifferentRulesContract,
        ChangedLogsContract,
        ChangedRulesContract {}
