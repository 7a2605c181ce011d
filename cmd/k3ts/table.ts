/** Formats rows below a header, in columns as wide as their widest cell. */
import { largest } from "../../pkg/lists/extremes.ts"

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) => Math.max(title.length, largest(rows.map((row) => row[i]?.length ?? 0))))
  return [head, ...rows]
    .map((row) => `${row.map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i]!))).join("   ")}\n`)
    .join("")
}
