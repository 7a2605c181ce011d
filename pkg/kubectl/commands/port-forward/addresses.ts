import { isIP } from "node:net"

/** An address to listen on. */
export interface ListenAddress {
  readonly address: string
  /** Whether it is enough if the other address of `localhost` can be used. */
  readonly isLocalhost: boolean
}

/** Reads `--address`. Source: client-go tools/portforward/portforward.go (parseAddresses). */
export function parseAddresses(texts: readonly string[]): readonly ListenAddress[] {
  if (texts.length === 0) throw new Error("you must specify at least 1 address")
  const found = new Map<string, ListenAddress>()
  for (const text of texts) {
    if (text === "localhost") {
      for (const address of ["127.0.0.1", "::1"])
        if (!found.has(address)) found.set(address, { address, isLocalhost: true })
    } else if (isIP(text) !== 0) found.set(text, { address: text, isLocalhost: false })
    else throw new Error(`${text} is not a valid IP`)
  }
  return [...found.values()].sort((a, b) => (a.address < b.address ? -1 : 1))
}
