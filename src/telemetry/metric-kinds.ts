import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** The labels of a metric with all their values; null if the values are not known in advance. */
type Labels<Label extends string> = Readonly<Record<Label, readonly string[] | null>>;

/** The values of a metric that is read with each scrape: one, or one for each set of labels. */
type Reading<Label extends string> =
  | number
  | Iterable<readonly [Readonly<Partial<Record<Label, string>>>, number]>;
type Read<Label extends string> = () => Reading<Label> | Promise<Reading<Label>>;

/** The way in which the gauges of several workers are combined. */
type Aggregator = 'max' | 'min' | 'sum';

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];

/** All combinations of labels; none if the values of a label are not known. */
const combinationsOf = (labels: Labels<string>): Record<string, string>[] =>
  Object.entries(labels).reduce<Record<string, string>[]>(
    (all, [label, values]) =>
      all.flatMap((each) => (values ?? []).map((value) => ({ ...each, [label]: value }))),
    [{}],
  );

/** Reads the metric's values with each scrape. */
function readInto<Label extends string>(metric: Counter<Label> | Gauge<Label>, read: Read<Label>): void {
  const collect = async () => {
    const reading = await read();
    metric.reset();
    for (const [labels, value] of typeof reading === 'number' ? [[{}, reading] as const] : reading)
      metric.inc(labels, value);
  };
  Object.assign(metric, { collect });
}

export function metricsIn(registry: Registry) {
  const registers = [registry];
  const gauge = <Label extends string = never>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
    aggregator: Aggregator = 'sum',
  ): Gauge<Label> => new Gauge({ name, help, labelNames, registers, aggregator });

  return {
    /**
     * A counter starts at 0 for each known value of its labels, because Prometheus' `increase` does not count the event that
     * creates a series.
     */
    counter<Label extends string = never>(
      name: string,
      help: string,
      labels = {} as Labels<Label>,
    ): Counter<Label> {
      const counter = new Counter<string>({ name, help, labelNames: Object.keys(labels), registers });
      for (const combination of combinationsOf(labels)) counter.inc(combination, 0);
      return counter;
    },
    gauge,
    histogram: <Label extends string>(
      name: string,
      help: string,
      labelNames: readonly Label[],
      bounds: number[] = buckets,
    ): Histogram<Label> => new Histogram({ name, help, labelNames, buckets: bounds, registers }),
    readGauge: <Label extends string = never>(
      name: string,
      help: string,
      read: Read<Label>,
      labelNames: readonly Label[] = [],
      aggregator: Aggregator = 'sum',
    ): void => readInto(gauge(name, help, labelNames, aggregator), read),
    readCounter: <Label extends string = never>(
      name: string,
      help: string,
      read: Read<Label>,
      labelNames: readonly Label[] = [],
    ): void => readInto(new Counter({ name, help, labelNames, registers }), read),
  };
}
