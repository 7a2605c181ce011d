import { createLogger, type Logger } from "./log.ts"
import { realClock } from "../clock/real.ts"

/** A logger that keeps its lines. */
export interface AwaitedLog {
  readonly log: Logger
  readonly lines: readonly string[]
  /** Resolves with the first line that matches, as soon as there is one. */
  line(pattern: RegExp): Promise<string>
}

export function awaitedLog(): AwaitedLog {
  const lines: string[] = []
  let waiting: ((line: string) => void)[] = []
  const write = (line: string) => {
    lines.push(line)
    for (const tell of [...waiting]) tell(line)
  }
  return {
    log: createLogger({ clock: realClock, format: "text", level: "debug", write }),
    lines,
    line(pattern) {
      const found = lines.find((line) => pattern.test(line))
      if (found !== undefined) return Promise.resolve(found)
      return new Promise((resolve) => {
        const tell = (line: string) => {
          if (!pattern.test(line)) return
          waiting = waiting.filter((one) => one !== tell)
          resolve(line)
        }
        waiting.push(tell)
      })
    },
  }
}
