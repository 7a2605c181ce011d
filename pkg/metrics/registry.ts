import { exactKey } from "../cache/exact-key.ts"
import { escaped } from "./exposition.ts"

/**
 * Metrics in Prometheus' text format (version 0.0.4), which /metrics answers with.
 *
 * Why not prom-client: it hashes the labels at every observation (2 µs for the two series of a request, on the thread
 * that answers it; this takes 0.5 µs), and costs 80 ms to load from source, a third of what a start may take.
 */

/** One time series of a counter or a gauge. */
export class Value {
  value = 0
  inc(by = 1): void {
    this.value += by
  }
  dec(by = 1): void {
    this.value -= by
  }
  set(value: number): void {
    this.value = value
  }
}

/** One time series of a histogram. */
export class Distribution {
  sum = 0
  count = 0
  readonly buckets: readonly number[]
  /** The number of observations in each bucket alone; the text adds up those of smaller buckets. */
  readonly counts: number[]
  constructor(buckets: readonly number[]) {
    this.buckets = buckets
    this.counts = new Array<number>(buckets.length).fill(0)
  }
  observe(value: number, times = 1): void {
    this.sum += value * times
    this.count += times
    const { buckets } = this
    for (let i = 0; i < buckets.length; i++) {
      if (value > buckets[i]!) continue
      this.counts[i]! += times
      return
    }
  }
}

/** All series of one name. They differ in the values of their labels. */
export class Family<Child> {
  readonly labels: readonly string[]
  readonly children = new Map<string, { readonly values: readonly string[]; readonly child: Child }>()
  private readonly make: () => Child
  constructor(labels: readonly string[], make: () => Child) {
    this.labels = labels
    this.make = make
  }
  /** Returns the series with these label values, in the order of the labels. Keep it where it is used often. */
  with(...values: readonly string[]): Child {
    const key = keyOf(values)
    const known = this.children.get(key)
    if (known !== undefined) return known.child
    const child = this.make()
    this.children.set(key, { values, child })
    return child
  }
  /** Yields every series with its labels as text. */
  *series(): Iterable<{ readonly text: string; readonly child: Child }> {
    for (const { values, child } of this.children.values())
      yield { text: this.labels.map((label, i) => `${label}="${escaped(values[i] ?? "")}"`).join(","), child }
  }
  /** Removes a series, for instance of an object that was deleted. */
  remove(...values: readonly string[]): void {
    this.children.delete(keyOf(values))
  }
}

/** Most families have one label, so that nothing has to be joined. */
const keyOf = (values: readonly string[]): string => (values.length === 1 ? values[0]! : exactKey(values))

type Kind = "counter" | "gauge" | "histogram"

export class Registry {
  /** What has yet to be registered. */
  private readonly later: (() => void)[] = []
  private readonly metrics = new Map<
    string,
    { readonly kind: Kind; readonly help: string; write(lines: string[], name: string): void; readonly family: unknown }
  >()

  /** Returns the counter of this name; the same name always returns the same family. */
  counter(name: string, help: string, ...labels: readonly string[]): Family<Value> {
    return this.values("counter", name, help, labels)
  }
  gauge(name: string, help: string, ...labels: readonly string[]): Family<Value> {
    return this.values("gauge", name, help, labels)
  }
  histogram(
    name: string,
    help: string,
    buckets: readonly number[],
    ...labels: readonly string[]
  ): Family<Distribution> {
    const known = this.metrics.get(name)
    if (known !== undefined) return known.family as Family<Distribution>
    const family = new Family(labels, () => new Distribution(buckets))
    this.metrics.set(name, { kind: "histogram", help, family, write: (lines) => writeHistogram(lines, name, family) })
    return family
  }
  /**
   * Calls `register` when the metrics are asked for. A test cluster has thousands of kubelets whose metrics nobody ever
   * reads, and most of which count nothing.
   */
  whenAsked(register: () => void): void {
    this.later.push(register)
  }
  /** Registers a value that is read at each request for the metrics. */
  read(kind: "counter" | "gauge", name: string, help: string, value: () => number): void {
    this.metrics.set(name, { kind, help, family: undefined, write: (lines) => void lines.push(`${name} ${value()}`) })
  }
  /**
   * Registers several values of one metric, by the value of one label, that are read at each request for the metrics.
   */
  readEach(
    kind: "counter" | "gauge",
    name: string,
    help: string,
    label: string,
    values: () => Readonly<Record<string, number>>,
  ): void {
    const write = (lines: string[]) => {
      for (const [of, value] of Object.entries(values())) lines.push(`${name}{${label}="${escaped(of)}"} ${value}`)
    }
    this.metrics.set(name, { kind, help, family: undefined, write })
  }

  private values(kind: "counter" | "gauge", name: string, help: string, labels: readonly string[]): Family<Value> {
    const known = this.metrics.get(name)
    if (known !== undefined) return known.family as Family<Value>
    const family = new Family(labels, () => new Value())
    this.metrics.set(name, {
      kind,
      help,
      family,
      write: (lines) => {
        for (const { text, child } of family.series())
          lines.push(text === "" ? `${name} ${child.value}` : `${name}{${text}} ${child.value}`)
      },
    })
    return family
  }

  /** Returns all metrics, or those whose names begin with `prefix`, as text, in the order of their names. */
  text(prefix = ""): string {
    for (const register of this.later.splice(0)) register()
    const lines: string[] = []
    const wanted = [...this.metrics].filter(([name]) => name.startsWith(prefix))
    for (const [name, { kind, help, write }] of wanted.sort(([a], [b]) => (a < b ? -1 : 1))) {
      lines.push(`# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`, `# TYPE ${name} ${kind}`)
      write(lines, name)
    }
    return lines.join("\n") + "\n"
  }
}

function writeHistogram(lines: string[], name: string, family: Family<Distribution>): void {
  for (const { text, child } of family.series()) {
    const head = text === "" ? "" : `${text},`
    let sofar = 0
    child.buckets.forEach((bound, i) => {
      sofar += child.counts[i]!
      lines.push(`${name}_bucket{${head}le="${bound}"} ${sofar}`)
    })
    lines.push(`${name}_bucket{${head}le="+Inf"} ${child.count}`)
    const labels = text === "" ? "" : `{${text}}`
    lines.push(`${name}_sum${labels} ${child.sum}`, `${name}_count${labels} ${child.count}`)
  }
}
