import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import type { DatagramSender } from "../../../pkg/runtime/notify.ts"

/** Variables by which systemd tells a service where it listens. Programs that k3ts starts must not get them. */
const VARIABLES = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] as const

export interface ServiceManagerOptions {
  readonly env: Record<string, string | undefined>
  readonly clock: Clock
  readonly log: Logger
  readonly pid?: number
  /** Opens a socket for datagrams to a path. */
  readonly connect?: (path: string) => Promise<DatagramSender>
}

/**
 * The service manager that started the program, if it asked to be notified (systemd's Type=notify and WatchdogSec=).
 * A notification that cannot be sent is logged, and is no failure. Sources: sd_notify(3), sd_watchdog_enabled(3).
 */
export class ServiceManager {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #sender: Promise<DatagramSender> | undefined
  /** Milliseconds between two pings; undefined when no watchdog waits for them. */
  readonly #interval: number | undefined

  /** Takes the service manager's variables out of `env`. */
  constructor({ env, clock, log, pid = process.pid, connect = connectTo }: ServiceManagerOptions) {
    this.#clock = clock
    this.#log = log
    const [socket = "", timeout = "", watched = String(pid)] = VARIABLES.map((name) => env[name])
    for (const name of VARIABLES) delete env[name]
    if (socket === "") return
    this.#sender = connect(socket)
    this.#sender.catch((err: unknown) => log.warn("Failed to reach the service manager", { socket, err }))
    // Twice within the time allowed, as sd_watchdog_enabled(3) advises.
    if (/^[1-9]\d*$/.test(timeout) && watched === String(pid)) this.#interval = Number(timeout) / 1000 / 2
  }

  async ready(): Promise<void> {
    await this.#notify("READY=1\nSTATUS=Running")
  }

  async stopping(): Promise<void> {
    await this.#notify("STOPPING=1\nSTATUS=Stopping; pods go on")
  }

  /**
   * Pings the watchdog until `signal` aborts, but not while `problem` returns why the program needs a restart. So the
   * service manager restarts a program that has such a problem, or whose event loop stands still.
   */
  async keepAlive(problem: () => string | undefined, signal: AbortSignal): Promise<void> {
    if (this.#interval === undefined) return
    while (!signal.aborted) {
      const why = problem()
      if (why === undefined) await this.#notify("WATCHDOG=1")
      else this.#log.error("Withheld the watchdog's ping: the service manager will restart k3ts", { problem: why })
      await this.#wait(this.#interval, signal)
    }
  }

  async #notify(state: string): Promise<void> {
    const sender = await this.#sender?.catch(() => undefined)
    try {
      sender?.send(state)
    } catch (err) {
      this.#log.warn("Failed to notify the service manager", { state, err })
    }
  }

  /** Resolves after `ms` milliseconds, or when `signal` aborts. */
  #wait(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        timer.cancel()
        signal.removeEventListener("abort", end)
        resolve()
      }
      const timer = this.#clock.setTimeout(end, ms, "upkeep")
      signal.addEventListener("abort", end, { once: true })
    })
  }
}

async function connectTo(path: string): Promise<DatagramSender> {
  const { unixDatagrams } = await import("../../../pkg/runtime/notify.ts")
  return unixDatagrams(path)
}
