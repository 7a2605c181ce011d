/** The error of Node's TLS for a certificate of another name: ERR_TLS_CERT_ALTNAME_INVALID. */
interface WrongName extends Error {
  /** The name that was asked for. */
  readonly host?: string
  readonly cert?: { readonly subjectaltname?: string }
}

/** How many names are listed; of more only their number is told. */
const MOST_NAMES = 100

/**
 * Says for which names a certificate is, and which was asked for: `certificate is valid for a.svc, b.svc, not c.svc`.
 * `host` is the name that was asked for where the error has none. Source: Go crypto/x509 (HostnameError).
 */
export function wrongNameWords(err: WrongName, host: string): string {
  const wanted = (err.host ?? host).replace(/\.$/, "")
  const isAddress = /^[\d.]+$|:/.test(wanted)
  const kind = isAddress ? "IP Address:" : "DNS:"
  const listed = (err.cert?.subjectaltname ?? "")
    .split(", ")
    .filter((each) => each.startsWith(kind))
    .map((each) => each.slice(kind.length))
  if (listed.length === 0)
    return isAddress
      ? `cannot validate certificate for ${wanted} because it doesn't contain any IP SANs`
      : `certificate is not valid for any names, but wanted to match ${wanted}`
  if (listed.length >= MOST_NAMES)
    return `certificate is valid for ${listed.length} ${isAddress ? "IP SANs" : "names"}, but none matched ${wanted}`
  return `certificate is valid for ${listed.join(", ")}, not ${wanted}`
}
