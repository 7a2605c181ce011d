import { readFileSync } from "node:fs"

/** One measured figure, beside the raw limit of the machine for the same work in the same run, and the goal. */
export interface Figure {
  readonly name: string
  readonly unit: "s" | "ms" | "µs" | "MB" | "MB/s" | "/s" | "% of a core" | "descriptors" | "threads"
  readonly value: number
  /** What the machine can do without k3ts: the same work straight on containerd, SQLite or a bare TLS server. */
  readonly limit?: { readonly what: string; readonly value: number }
  readonly goal?: number | undefined
  readonly better: "less" | "more"
}

/** A group of figures that share a set-up. Gives its figures as they come; throws when it cannot measure. */
export interface Benchmark {
  readonly name: string
  /** Why it cannot run here, or nothing. */
  needs?(): string | undefined
  run(): AsyncIterable<Figure>
}

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!

export const reached = ({ value, goal, better }: Figure): boolean | undefined =>
  goal === undefined ? undefined : better === "less" ? value <= goal : value >= goal

export function table(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => [
    figure.name,
    shown(figure.value, figure.unit),
    figure.goal === undefined ? "" : shown(figure.goal, figure.unit),
    reached(figure) === undefined ? "" : reached(figure) ? "yes" : "no",
    figure.limit === undefined ? "" : shown(figure.limit.value, figure.unit),
    figure.limit === undefined ? "" : ratio(figure),
    figure.limit?.what ?? "",
  ])
  const all = [["figure", "measured", "goal", "reached", "limit", "ratio", "the limit is"], ...rows]
  const widths = all[0]!.map((_, column) => Math.max(...all.map((row) => row[column]!.length)))
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n")
}

/** How many times the limit's cost: 1.0 is as good as the machine allows. */
const ratio = ({ value, limit, better }: Figure): string =>
  limit === undefined ? "" : (better === "less" ? value / limit.value : limit.value / value).toFixed(2)

function shown(value: number, unit: Figure["unit"]): string {
  const digits = value >= 1000 ? 0 : value >= 10 ? 1 : 2
  return `${value >= 1000 ? Math.round(value).toLocaleString("en") : value.toFixed(digits)} ${unit}`
}

/** Milliseconds of processor time that this process and those that it started and that have ended have used. */
export function cpuMs(): number {
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1]!.split(" ")
  const ofChildren = (Number(fields[13]) + Number(fields[14])) * 10 // a tick is 10 ms
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000 + ofChildren
}
