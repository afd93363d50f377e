// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.incident;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/**
 * The series of a service, read each second, and what queries give over them. A series that is not
 * there yet counts as 0, while Prometheus has no rate for it.
 */
final class Recording {

  /** The seconds over which rates are taken. */
  static final int WINDOW = 15;

  private static final Pattern LABEL = Pattern.compile("(\\w+)=\"([^\"]*)\"");
  private static final Pattern SAMPLE = Pattern.compile("(limiter_\\w+(?:\\{.*})?) (\\S+)");

  /** A separator of columns; labels contain commas. */
  private static final String TAB = "\t";

  private final List<Map<String, Double>> seconds = new ArrayList<>();

  /** Adds the next second: an answer of {@code /prometheus}. */
  void add(String scrape) {
    Map<String, Double> values = new LinkedHashMap<>();
    scrape
        .lines()
        .map(SAMPLE::matcher)
        .filter(Matcher::matches)
        .filter(sample -> !sample.group(1).contains("_max"))
        .forEach(sample -> values.put(sample.group(1), Double.parseDouble(sample.group(2))));
    seconds.add(values);
  }

  int length() {
    return seconds.size();
  }

  /** One column for each series, one line for each second. */
  void write(Path file) throws IOException {
    Set<String> series = new TreeSet<>();
    seconds.forEach(second -> series.addAll(second.keySet()));
    List<String> lines = new ArrayList<>();
    lines.add(String.join(TAB, series));
    for (Map<String, Double> second : seconds) {
      lines.add(
          series.stream()
              .map(name -> second.containsKey(name) ? text(second.get(name)) : "")
              .collect(Collectors.joining(TAB)));
    }
    Files.createDirectories(file.toAbsolutePath().getParent());
    Files.write(file, lines);
  }

  private static String text(double value) {
    return value == Math.rint(value) ? Long.toString((long) value) : Double.toString(value);
  }

  static Recording read(Path file) throws IOException {
    List<String> lines = Files.readAllLines(file);
    String[] series = lines.get(0).split(TAB, -1);
    Recording read = new Recording();
    for (String line : lines.subList(1, lines.size())) {
      String[] values = line.split(TAB, -1);
      Map<String, Double> second = new LinkedHashMap<>();
      for (int s = 0; s < series.length; s++) {
        if (!values[s].isEmpty()) {
          second.put(series[s], Double.parseDouble(values[s]));
        }
      }
      read.seconds.add(second);
    }
    return read;
  }

  /** The sum of a gauge or a counter, by a label: {@code sum by (label) (metric)}. */
  Map<String, double[]> sum(String metric, String label, Predicate<Map<String, String>> where) {
    Map<String, double[]> sums = new TreeMap<>();
    for (int at = 0; at < seconds.size(); at++) {
      for (Map.Entry<String, Double> sample : seconds.get(at).entrySet()) {
        String name = sample.getKey();
        Map<String, String> labels = labels(name);
        if (name.split("\\{", 2)[0].equals(metric) && where.test(labels)) {
          sums.computeIfAbsent(labels.getOrDefault(label, ""), l -> new double[seconds.size()])[
                  at] +=
              sample.getValue();
        }
      }
    }
    return sums;
  }

  /** As {@code sum by (label) (rate(metric[15s]))}. */
  Map<String, double[]> rate(String metric, String label, Predicate<Map<String, String>> where) {
    Map<String, double[]> rates = sum(metric, label, where);
    rates.replaceAll((value, counts) -> rate(counts));
    return rates;
  }

  private static double[] rate(double[] counts) {
    return IntStream.range(0, counts.length)
        .mapToDouble(at -> at < 1 ? 0 : (counts[at] - counts[from(at)]) / (at - from(at)))
        .toArray();
  }

  private static int from(int at) {
    return Math.max(0, at - WINDOW);
  }

  /** As {@code histogram_quantile(quantile, sum by (le) (rate(metric_bucket[15s])))}. */
  double[] quantile(double quantile, String metric, Predicate<Map<String, String>> where) {
    Map<Double, double[]> buckets = new TreeMap<>();
    rate(metric + "_bucket", "le", where)
        .forEach(
            (bound, rates) ->
                buckets.put(
                    bound.equals("+Inf") ? Double.POSITIVE_INFINITY : Double.parseDouble(bound),
                    rates));
    return IntStream.range(0, seconds.size())
        .mapToDouble(at -> quantile(quantile, buckets, at))
        .toArray();
  }

  private static double quantile(double quantile, Map<Double, double[]> buckets, int at) {
    double all = buckets.values().stream().mapToDouble(rates -> rates[at]).max().orElse(0);
    double rank = quantile * all;
    double bound = 0;
    double below = 0;
    for (Map.Entry<Double, double[]> bucket : buckets.entrySet()) {
      double upTo = bucket.getValue()[at];
      if (all > 0 && upTo >= rank) {
        return bucket.getKey().isInfinite()
            ? bound
            : bound + (bucket.getKey() - bound) * (rank - below) / (upTo - below);
      }
      bound = bucket.getKey();
      below = upTo;
    }
    return Double.NaN; // no call
  }

  private static Map<String, String> labels(String series) {
    return LABEL
        .matcher(series)
        .results()
        .collect(Collectors.toMap(label -> label.group(1), label -> label.group(2)));
  }

  static double[] share(double[] part, double[] whole) {
    return IntStream.range(0, whole.length)
        .mapToDouble(at -> whole[at] == 0 ? Double.NaN : part[at] / whole[at])
        .toArray();
  }

  static double[] total(Map<String, double[]> lines, int length) {
    return IntStream.range(0, length)
        .mapToDouble(at -> lines.values().stream().mapToDouble(line -> line[at]).sum())
        .toArray();
  }

  static double[] times(double[] values, double factor) {
    return DoubleStream.of(values).map(value -> value * factor).toArray();
  }

  static boolean isZero(double[] values) {
    return Arrays.stream(values).allMatch(value -> value == 0);
  }
}
