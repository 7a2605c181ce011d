/** One figure of a family. Those with a time were measured then, and not when they are read. */
export interface Series {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  /** Milliseconds since 1970. */
  readonly at?: number
}

export interface MetricFamily {
  readonly name: string
  readonly kind: "counter" | "gauge"
  readonly help: string
  readonly series: readonly Series[]
}

/**
 * Figures of things that come and go, in Prometheus' text format: made anew whenever somebody asks, where a registry's
 * stay. Families without figures are left out.
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

/** By name, as Prometheus' own library has them. */
function labelsText(labels: Readonly<Record<string, string>>): string {
  const names = Object.keys(labels).sort()
  return names.length === 0 ? "" : `{${names.map((name) => `${name}="${escaped(labels[name]!)}"`).join(",")}}`
}

/** A label's value as it stands between quotes. */
export const escaped = (value: string): string =>
  value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")
