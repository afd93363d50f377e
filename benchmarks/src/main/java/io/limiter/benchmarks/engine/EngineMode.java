// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.engine;

import io.limiter.benchmarks.BenchRedis;
import io.limiter.benchmarks.Mode;
import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.Report;
import java.util.ArrayList;
import java.util.List;

/** Decisions over Redis: how many a second, and what each costs Redis. */
public final class EngineMode implements Mode {

  private static final int SUBJECTS = 10_000;
  private static final int QUICK_SUBJECTS = 100;

  @Override
  public String name() {
    return "engine";
  }

  @Override
  public String help() {
    return "decisions a second over Redis, what Redis spends on each, and peers beside them";
  }

  @Override
  public List<Option> options() {
    return List.of(
        new Option("max-subjects", "N", "up to how many subjects growth is measured; 1000000"));
  }

  @Override
  public void run(Options options, Report report) throws Exception {
    report.library("io.lettuce", "lettuce-core");
    report.library("com.bucket4j", "bucket4j_jdk17-lettuce");
    report.library("es.moki.ratelimitj", "ratelimitj-redis");
    report.library("org.redisson", "redisson");
    int subjects = options.quick() ? QUICK_SUBJECTS : SUBJECTS;
    try (BenchRedis redis = BenchRedis.open(options, report);
        OurEngine ours = OurEngine.open(redis, subjects)) {
      Comparison comparison = new Comparison(redis, options, report, subjects);
      try (Peer bucket4j = new Bucket4jPeer(redis, subjects);
          Peer rateLimitJ = new RateLimitJPeer(redis);
          Peer redisson = new RedissonPeer(redis, subjects)) {
        List<Contender> contenders = new ArrayList<>(ours.contenders());
        for (Peer peer : List.of(bucket4j, rateLimitJ, redisson)) {
          contenders.addAll(peer.contenders());
        }
        comparison.run(contenders);
      }
      new Growth(redis, ours.limiter(), options, report).run();
      new Bytes(redis, ours.limiter(), report).run();
    }
  }
}
