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
  /** Where the container's own bytes begin. They need not be UTF-8. */
  readonly start: number
}

const SPACE = 0x20

/**
 * Parses the head of a line without its line break. Undefined for an invalid line, such as the rest of one that was
 * cut.
 */
export function parseLogLine(line: Buffer): LogLine | undefined {
  const first = line.indexOf(SPACE)
  const second = first < 0 ? -1 : line.indexOf(SPACE, first + 1)
  if (second < 0) return undefined
  const stream = line.toString("latin1", first + 1, second)
  if (stream !== "stdout" && stream !== "stderr") return undefined
  const third = line.indexOf(SPACE, second + 1)
  const tags = line.toString("latin1", second + 1, third < 0 ? line.length : third)
  return {
    time: line.toString("latin1", 0, first),
    stream,
    partial: tags === "P" || tags.startsWith("P:"),
    start: third < 0 ? line.length : third + 1,
  }
}
