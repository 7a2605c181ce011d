import type { Clock } from "../../clock/clock.ts"
import type { Output } from "../printers/output.ts"
import { httpLog } from "./http-log.ts"
import { noRequestLog, type RequestLog } from "./request-log.ts"

/** Lines of the log on the stream of errors, in klog's form. */
export class Log {
  readonly #out: Output
  readonly #clock: Clock
  /** What `-v` says. */
  readonly level: number
  readonly #processId: number
  #printed: Promise<void> = Promise.resolve()

  constructor(parts: {
    readonly out: Output
    readonly clock: Clock
    readonly level: number
    readonly processId: number
  }) {
    this.#out = parts.out
    this.#clock = parts.clock
    this.level = parts.level
    this.#processId = parts.processId
  }

  info(level: number, message: string, place = "kubectl.go:1"): void {
    if (level <= this.level) this.#print("I", place, message)
  }

  warning(message: string, place = "helpers.go:1"): void {
    this.#print("W", place, message)
  }

  /** Logs what goes wrong beside the work of the command. */
  error(place: string, message: string): void {
    this.#print("E", place, `"Unhandled Error" err=${JSON.stringify(message)}`)
  }

  /** Logs what goes wrong, in its own words. */
  plainError(place: string, message: string): void {
    this.#print("E", place, message)
  }

  /** Logs why the run ends. Resolves when that is written. */
  fatal(message: string, place: string): Promise<void> {
    this.#print("F", place, message)
    return this.flushed()
  }

  /** What logs requests; little below level 6. */
  requests(): RequestLog {
    const print = (place: string, line: string) => this.#print("I", place, line)
    return {
      ...(this.level < 6 ? noRequestLog : httpLog(this.level, this.#clock, print)),
      bodyFailed: ({ message }) =>
        this.plainError(
          "request.go:1196",
          `"Unexpected error when reading response body" err=${JSON.stringify(message)}`,
        ),
      watchFailed: ({ message }) =>
        this.info(5, `Unable to decode an event from the watch stream: ${message}`, "streamwatcher.go:129"),
    }
  }

  #print(severity: string, place: string, message: string): void {
    const at = new Date(this.#clock.now())
    const two = (value: number) => String(value).padStart(2, "0")
    const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":")
    const micros = String((at.getTime() % 1000) * 1000).padStart(6, "0")
    const head = `${severity}${two(at.getMonth() + 1)}${two(at.getDate())} ${time}.${micros} ${String(this.#processId).padStart(7)} ${place}]`
    this.#printed = this.#printed.then(() => this.#out.write(`${head} ${message}\n`))
  }

  /** Resolves when all lines are written. */
  flushed(): Promise<void> {
    return this.#printed
  }
}
