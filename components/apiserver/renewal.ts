import type { Clock, Timer } from "../../pkg/clock/clock.ts"
import type { Logger } from "../../pkg/log/log.ts"
import { renewalTime } from "../../pkg/pki/verify.ts"
import type { ServingFiles } from "./serving.ts"

export interface RenewalOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly files: ServingFiles
  /** Gives the files anew: certificates that have less than a third of their life left have been made again. */
  readonly reopen: () => ServingFiles
  /** Puts them to use. */
  readonly renewed: (files: ServingFiles) => void
}

/** After a failure, as of a full disk: there are months left. */
const RETRY_MS = 3_600_000
/**
 * Timers count time that passes, and a clock may be set: one that was years behind at the start leaves certificates
 * that have ended. So it is looked at again.
 */
const LOOK_MS = 3_600_000

/** Renews certificates while the server runs, a third of their life before they end. Returns what ends that. */
export function keepCertificates({ clock, log, files, reopen, renewed }: RenewalOptions): () => void {
  let timer: Timer
  const wait = (ms: number): void => {
    const due = clock.now() + Math.max(1000, ms)
    const look = (): void => {
      const left = due - clock.now()
      if (left <= 0) renew()
      else timer = clock.setTimeout(look, Math.min(left, LOOK_MS))
    }
    look()
  }
  const waitFor = ({ serving, admin, pki }: ServingFiles): void => {
    const times = [serving, admin, ...Object.values(pki.authorities)].map(({ certPem }) => renewalTime(certPem))
    wait(Math.min(...times) - clock.now())
  }
  const renew = (): void => {
    try {
      const fresh = reopen()
      renewed(fresh)
      log.info("Renewed certificates")
      waitFor(fresh)
    } catch (err) {
      log.error("Cannot renew certificates; will try again", { err, waitMs: RETRY_MS })
      wait(RETRY_MS)
    }
  }
  waitFor(files)
  return () => timer.cancel()
}
