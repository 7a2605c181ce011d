/**
 * A line of a container's log as runtimes write it: `2026-11-20T10:00:00.123456789Z stdout F text`. Source: cri-client
 * pkg/logs/logs.go.
 */
export interface LogLine {
  /** RFC 3339 with nanoseconds. */
  readonly time: string
  readonly stream: "stdout" | "stderr"
  /** Whether the line continues in the next line of this stream. */
  readonly partial: boolean
  readonly content: string
}

/** Parses a line without its line break. Undefined for an invalid line, such as the rest of one that was cut. */
export function parseLogLine(line: string): LogLine | undefined {
  const first = line.indexOf(" ")
  const second = line.indexOf(" ", first + 1)
  const third = line.indexOf(" ", second + 1)
  if (first < 0 || second < 0) return undefined
  const stream = line.slice(first + 1, second)
  if (stream !== "stdout" && stream !== "stderr") return undefined
  const tags = third < 0 ? line.slice(second + 1) : line.slice(second + 1, third)
  return {
    time: line.slice(0, first),
    stream,
    partial: tags.split(":")[0] === "P",
    content: third < 0 ? "" : line.slice(third + 1),
  }
}
