/** One sample of a family. A sample with a time was measured then, and not when it is read. */
export interface Series {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  /** The time in milliseconds since 1970. */
  readonly at?: number
}

export interface MetricFamily {
  readonly name: string
  readonly kind: "counter" | "gauge"
  readonly help: string
  readonly series: readonly Series[]
}

/**
 * Returns samples in Prometheus' text format. For objects that come and go: the text is made from what exists at each
 * request, while the families of a Registry stay. Families without samples are left out.
 */
export function exposition(families: readonly MetricFamily[]): string {
  const lines: string[] = []
  for (const { name, kind, help, series } of families.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (series.length === 0) continue
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`)
    for (const { labels, value, at } of series)
      lines.push(`${name}${labelsText(labels)} ${value}${at === undefined ? "" : ` ${at}`}`)
  }
  return lines.map((line) => `${line}\n`).join("")
}

/** Labels are in the order of their names, as in Prometheus' own library. */
function labelsText(labels: Readonly<Record<string, string>>): string {
  const names = Object.keys(labels).sort()
  return names.length === 0 ? "" : `{${names.map((name) => `${name}="${escaped(labels[name]!)}"`).join(",")}}`
}

/** Returns a label's value as it is written between quotes. */
export const escaped = (value: string): string =>
  value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")
