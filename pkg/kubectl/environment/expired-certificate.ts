import { connect } from "node:tls"
import { realClock } from "../../clock/real.ts"
import { dialError } from "./dial-error.ts"
import { errorCode } from "./files.ts"
import { hostOf, portOf } from "./host-address.ts"

const CODES = ["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID"]

export const isExpired = (err: Error): boolean => CODES.includes(errorCode(err) ?? "")

/** Returns the error of a certificate whose time is over, with its time in Go's words, for which it is read once more. */
export async function expiredError(err: Error, url: URL): Promise<Error> {
  const times = await validity(url)
  if (times === undefined) return dialError(err, url)
  const now = realClock.now()
  const text = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z")
  const why = now > times.until ? `is after ${text(times.until)}` : `is before ${text(times.from)}`
  return new Error(
    `tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time ${text(now)} ${why}`,
    { cause: err },
  )
}

function validity(url: URL): Promise<{ readonly from: number; readonly until: number } | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: hostOf(url), port: portOf(url), rejectUnauthorized: false })
    socket.once("secureConnect", () => {
      const { valid_from: from, valid_to: until } = socket.getPeerCertificate()
      resolve({ from: Date.parse(from), until: Date.parse(until) })
      socket.destroy()
    })
    socket.once("error", () => resolve(undefined))
  })
}
