import type { Clock, Timer } from "../../../pkg/clock/clock.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { renewalTime } from "../../../pkg/pki/verify.ts"
import type { ServingFiles } from "./serving.ts"
import { smallest } from "../../../pkg/lists/extremes.ts"

export interface RenewalOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly files: ServingFiles
  /** Reads the files again, after making those certificates anew that have less than a third of their life left. */
  readonly reopen: () => ServingFiles
  /** Puts new files to use. */
  readonly renewed: (files: ServingFiles) => void
}

/** Delay after a failure, such as a full disk: the certificates are valid for months yet. */
const RETRY_MS = 3_600_000
/**
 * Longest time between two checks. Timers measure elapsed time, but the system's clock may be set: if it was years
 * behind at the start, certificates may have expired since.
 */
const LOOK_MS = 3_600_000

/**
 * Renews certificates while the server runs, a third of their life before they expire. Returns the function that ends
 * this.
 */
export function keepCertificates({ clock, log, files, reopen, renewed }: RenewalOptions): () => void {
  let timer: Timer
  const wait = (ms: number): void => {
    const due = clock.now() + Math.max(1000, ms)
    const check = (): void => {
      const left = due - clock.now()
      if (left <= 0) renew()
      else timer = clock.setTimeout(check, Math.min(left, LOOK_MS))
    }
    check()
  }
  const waitFor = ({ serving, admin, pki }: ServingFiles): void => {
    const times = [serving, admin, ...Object.values(pki.authorities)].map(({ certPem }) => renewalTime(certPem))
    wait(smallest(times) - clock.now())
  }
  const renew = (): void => {
    try {
      const fresh = reopen()
      renewed(fresh)
      log.info("Renewed certificates")
      waitFor(fresh)
    } catch (err) {
      log.error("Failed to renew certificates; will retry", { err, waitMs: RETRY_MS })
      wait(RETRY_MS)
    }
  }
  waitFor(files)
  return () => timer.cancel()
}
