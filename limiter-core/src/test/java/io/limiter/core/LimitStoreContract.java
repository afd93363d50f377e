// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.store.LimitStore;

/** What every store promises (see {@link LimitStore}), as one suite that each of them runs. */
public interface LimitStoreContract
    extends SlidingWindowContract,
        SlidingCounterContract,
        FixedWindowContract,
        AlignedWindowContract,
        TokenBucketContract,
        LeakyBucketContract,
        LeaverContract,
        OwnAlgorithmContract,
        MixedStackContract,
        BanContract,
        ModesContract,
        RetryAfterContract,
        ReservationContract,
        InFlightContract,
        OutcomeContract,
        SettledCostContract,
        ObservedContract,
        SharedLimitContract,
        DifferentRulesContract,
        ChangedLogsContract,
        ChangedRulesContract {}
